#pragma once

#include <string>
#include <string_view>

/// Kernel and range names are hostile text. Whoever puts one into a format escapes it for that format.
namespace profgate::core {

/// For a cell of a Markdown table: pipes, backticks, angle brackets, emphasis and newlines lose their
/// meaning.
std::string escape_markdown(std::string_view text);

/// For HTML and XML text and attribute values. Control characters that XML 1.0 forbids become U+FFFD.
std::string escape_html(std::string_view text);

/// For a regular expression that must match `text` literally (ECMAScript and Python syntax, as ncu's -k
/// regex:).
std::string escape_regex(std::string_view text);

/// Replaces bytes that are not valid UTF-8 by U+FFFD, so that the text may go into JSON.
std::string to_valid_utf8(std::string_view bytes);

/// For a terminal: what moves its cursor, changes its colours or turns the direction of writing becomes
/// U+FFFD. Line ends and tabs stay.
std::string for_terminal(std::string_view text);

/// Shortens in the middle to at most `max_bytes`, on UTF-8 boundaries, with "…" between the two ends.
std::string shorten_middle(std::string_view text, std::size_t max_bytes);

}  // namespace profgate::core
