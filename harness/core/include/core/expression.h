#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace profgate::core {

/// A regular expression over whole texts, by PCRE2. A match that would take too long is refused in words: an
/// expression can need exponential time, and names are hostile text.
class expression {
 public:
  /// bad_input, with `where` it stands, where it does not compile.
  expression(const std::string& pattern, const std::string& where);
  ~expression();
  expression(expression&&) noexcept;
  expression& operator=(expression&&) noexcept;

  /// What the named groups matched, where the whole of `text` does; a group that took no part is absent.
  /// bad_input where that cannot be found out within PCRE2's limits.
  std::optional<std::map<std::string, std::string>> match_whole(std::string_view text) const;

 private:
  struct compiled;
  std::unique_ptr<compiled> m_compiled;
};

/// Whether it stands for more than itself.
bool has_expression_characters(std::string_view text);

}  // namespace profgate::core
