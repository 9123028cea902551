#include "core/expression.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::core {
namespace {

// One match of a sensible expression takes some hundred steps; these end within a tenth of a second.
constexpr std::uint32_t most_steps = 1'000'000;
constexpr std::uint32_t most_depth = 10'000;
constexpr std::uint32_t most_heap_kib = 64 << 10;
constexpr std::size_t longest_shown = 80;

std::string words_of(int code) {
  std::array<PCRE2_UCHAR8, 256> words{};
  pcre2_get_error_message_8(code, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());
}

}  // namespace

struct expression::compiled {
  std::string pattern;
  std::string where;
  pcre2_code_8* code = nullptr;
  pcre2_match_context_8* limits = nullptr;
  pcre2_match_data_8* found = nullptr;
  std::map<std::string, std::uint32_t> groups;  ///< number by name

  compiled() = default;
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;
  ~compiled() {
    pcre2_match_data_free_8(found);
    pcre2_match_context_free_8(limits);
    pcre2_code_free_8(code);
  }

  void read_groups() {
    std::uint32_t count = 0;
    std::uint32_t entry_bytes = 0;
    PCRE2_SPTR8 table = nullptr;
    pcre2_pattern_info_8(code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info_8(code, PCRE2_INFO_NAMEENTRYSIZE, &entry_bytes);
    pcre2_pattern_info_8(code, PCRE2_INFO_NAMETABLE, &table);
    for (std::uint32_t i = 0; i < count; ++i) {
      const PCRE2_UCHAR8* entry = table + i * entry_bytes;  // two bytes of number, then the name
      groups[reinterpret_cast<const char*>(entry + 2)] = static_cast<std::uint32_t>(entry[0] << 8 | entry[1]);
    }
  }
};

expression::expression(const std::string& pattern, const std::string& where, fits extent)
    : m_compiled(std::make_unique<compiled>()) {
  m_compiled->pattern = pattern;
  m_compiled->where = where;
  int problem = 0;
  PCRE2_SIZE place = 0;
  const std::uint32_t anchors = extent == fits::whole_text ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
  m_compiled->code = pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                                     anchors | PCRE2_NEVER_BACKSLASH_C, &problem, &place, nullptr);
  if (m_compiled->code == nullptr) {
    throw bad_input(fmt::format("{}: the expression '{}' does not compile: {} at its character {}", where,
                                for_terminal(pattern.substr(0, longest_shown)), words_of(problem), place + 1),
                    "write a Perl-like expression; a backslash before ( ) [ ] { } . * + ? | ^ $ takes them "
                    "as they are");
  }
  m_compiled->limits = pcre2_match_context_create_8(nullptr);
  m_compiled->found = pcre2_match_data_create_from_pattern_8(m_compiled->code, nullptr);
  if (m_compiled->limits == nullptr || m_compiled->found == nullptr) throw std::bad_alloc();
  pcre2_set_match_limit_8(m_compiled->limits, most_steps);
  pcre2_set_depth_limit_8(m_compiled->limits, most_depth);
  pcre2_set_heap_limit_8(m_compiled->limits, most_heap_kib);
  m_compiled->read_groups();
}

expression::~expression() = default;
expression::expression(expression&&) noexcept = default;
expression& expression::operator=(expression&&) noexcept = default;

std::size_t expression::group_count() const {
  std::uint32_t count = 0;
  pcre2_pattern_info_8(m_compiled->code, PCRE2_INFO_CAPTURECOUNT, &count);
  return count;
}

bool expression::matches(std::string_view text) const {
  const int result = pcre2_match_8(m_compiled->code, reinterpret_cast<PCRE2_SPTR8>(text.data()), text.size(),
                                   0, 0, m_compiled->found, m_compiled->limits);
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) {
    throw bad_input(fmt::format("{}: the expression '{}' cannot be tried on '{}': {}", m_compiled->where,
                                for_terminal(m_compiled->pattern.substr(0, longest_shown)),
                                for_terminal(text.substr(0, longest_shown)), words_of(result)),
                    "write it without repetitions inside of repetitions, such as (a+)+");
  }
  return true;
}

std::optional<std::string_view> expression::first_group(std::string_view text) const {
  if (!matches(text)) return std::nullopt;
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer_8(m_compiled->found);
  if (bounds[2] == PCRE2_UNSET) return std::string_view();
  return text.substr(bounds[2], bounds[3] - bounds[2]);
}

std::optional<std::map<std::string, std::string>> expression::match_whole(std::string_view text) const {
  if (!matches(text)) return std::nullopt;
  std::map<std::string, std::string> groups;
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer_8(m_compiled->found);
  for (const auto& [name, number] : m_compiled->groups) {
    const PCRE2_SIZE begin = bounds[2 * number];
    if (begin == PCRE2_UNSET) continue;
    groups[name] = text.substr(begin, bounds[2 * number + 1] - begin);
  }
  return groups;
}

bool has_expression_characters(std::string_view text) {
  return text.find_first_of("\\^$.|?*+()[]{}") != std::string_view::npos;
}

}  // namespace profgate::core
