#include "core/escape.h"

#include <cstdint>

namespace profgate::core {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";
constexpr std::string_view ellipsis = "\xE2\x80\xA6";

bool is_forbidden_control(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
}

/// Length of the valid UTF-8 sequence that starts at `i`, or 0 if there is none. Overlong forms, surrogates
/// and code points past U+10FFFF are invalid.
std::size_t sequence_length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead & 0xF0) == 0xE0        ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || i + length > s.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(i + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;
  if (lead == 0xED && second > 0x9F) return 0;
  if (lead == 0xF0 && second < 0x90) return 0;
  if (lead == 0xF4 && second > 0x8F) return 0;
  return length;
}

/// A character of C0 or C1 (U+0080 to U+009F), or one that turns the direction of writing (U+202A to U+202E,
/// U+2066 to U+2069).
bool commands_a_terminal(std::string_view character) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(character[k]); };
  if (character.size() == 1) return is_forbidden_control(byte(0)) || character == "\r";
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

/// One character without what HTML (and so Markdown) would take for markup or cannot hold at all.
void append_harmless(std::string& out, char c) {
  if (c == '<') {
    out += "&lt;";
  } else if (c == '>') {
    out += "&gt;";
  } else if (c == '&') {
    out += "&amp;";
  } else if (is_forbidden_control(static_cast<unsigned char>(c))) {
    out += replacement_character;
  } else {
    out += c;
  }
}

}  // namespace

std::string escape_markdown(std::string_view text) {
  static constexpr std::string_view marks_something = "\\`*_[]#~!$|";
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      out += ' ';
    } else {
      if (marks_something.find(c) != std::string_view::npos) out += '\\';
      append_harmless(out, c);
    }
  }
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (const char c : text) {
    if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      append_harmless(out, c);
    }
  }
  return out;
}

std::string escape_regex(std::string_view text) {
  static constexpr std::string_view special = R"(\^$.|?*+()[]{})";
  std::string out;
  out.reserve(text.size() * 2);
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = sequence_length(bytes, i);
    if (length == 0) {
      out += replacement_character;
      ++i;
    } else {
      out += bytes.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string for_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const std::string_view character = text.substr(i, length == 0 ? 1 : length);
    if (length == 0 || commands_a_terminal(character)) {
      out += replacement_character;
    } else {
      out += character;
    }
    i += character.size();
  }
  return out;
}

std::string shorten_middle(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  if (max_bytes <= ellipsis.size()) return std::string(ellipsis);
  const auto is_continuation = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  const std::size_t room = max_bytes - ellipsis.size();
  std::size_t head = room - room / 2;
  while (head > 0 && is_continuation(head)) --head;
  std::size_t tail = text.size() - room / 2;
  while (tail < text.size() && is_continuation(tail)) ++tail;
  return std::string(text.substr(0, head)) + std::string(ellipsis) + std::string(text.substr(tail));
}

}  // namespace profgate::core
