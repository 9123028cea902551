#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace profgate::core {

/// A regular expression by PCRE2. A match that would take too long is refused in words: an expression can
/// need exponential time, and names are hostile text.
class expression {
 public:
  enum class fits {
    whole_text,
    part_of_text,
  };

  /// bad_input, with `where` it stands, where it does not compile.
  expression(const std::string& pattern, const std::string& where, fits extent = fits::whole_text);
  ~expression();
  expression(expression&&) noexcept;
  expression& operator=(expression&&) noexcept;

  std::size_t group_count() const;

  // Of a text that it fits; nothing: it does not. bad_input where that cannot be found out within PCRE2's
  // limits.

  bool matches(std::string_view text) const;
  /// What the first group matched, a part of `text`; empty where it took no part.
  std::optional<std::string_view> first_group(std::string_view text) const;
  /// What the named groups matched; a group that took no part is absent.
  std::optional<std::map<std::string, std::string>> match_whole(std::string_view text) const;

 private:
  struct compiled;
  std::unique_ptr<compiled> m_compiled;
};

/// In the place of an expression: every text. As one it would not compile, having nothing to repeat.
inline constexpr std::string_view every_text = "*";

/// Whether it stands for more than itself.
bool has_expression_characters(std::string_view text);

}  // namespace profgate::core
