#include "json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/escape.h"
#include "core/merge_marker.h"

namespace profgate::baselines {
namespace {

/// A run set needs 5; a hostile file must not use up the stack.
constexpr int max_depth = 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::uint32_t code_point, std::string& target) {
  const auto byte = [&](std::uint32_t value) { target += static_cast<char>(value); };
  if (code_point < 0x80) {
    byte(code_point);
  } else if (code_point < 0x800) {
    byte(0xc0 | code_point >> 6U);
    byte(0x80 | (code_point & 0x3fU));
  } else if (code_point < 0x10000) {
    byte(0xe0 | code_point >> 12U);
    byte(0x80 | (code_point >> 6U & 0x3fU));
    byte(0x80 | (code_point & 0x3fU));
  } else {
    byte(0xf0 | code_point >> 18U);
    byte(0x80 | (code_point >> 12U & 0x3fU));
    byte(0x80 | (code_point >> 6U & 0x3fU));
    byte(0x80 | (code_point & 0x3fU));
  }
}

class parser {
 public:
  parser(std::string_view text, const std::string& file, const std::string& remedy)
      : m_text(text), m_file(file), m_remedy(remedy) {}

  json_node document() {
    json_node root = value(0);
    skip_space();
    if (m_at < m_text.size()) fail("something stands after the end of the document");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw core::bad_input(m_file, m_line, what, m_remedy);
  }

  char peek() const { return m_at < m_text.size() ? m_text[m_at] : '\0'; }

  void skip_space() {
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      if (c == '\n') ++m_line;
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      ++m_at;
    }
  }

  bool take(char wanted) {
    skip_space();
    if (peek() != wanted || m_at >= m_text.size()) return false;
    ++m_at;
    return true;
  }

  void expect(char wanted) {
    if (take(wanted)) return;
    if (m_at >= m_text.size()) fail("the file ends in the middle: it was truncated");
    fail(fmt::format("not valid JSON: '{}' is missing here", wanted));
  }

  json_node value(int depth) {
    skip_space();
    if (m_at >= m_text.size()) fail("the file ends in the middle: it was truncated");
    if (depth > max_depth) fail(fmt::format("nested more than {} levels deep", max_depth));
    json_node node;
    node.line = m_line;
    const char first = peek();
    if (first == '{') {
      object(node, depth);
    } else if (first == '[') {
      array(node, depth);
    } else if (first == '"') {
      node.kind = json_kind::text;
      node.text = text();
    } else if (first == '-' || is_digit(first)) {
      number(node);
    } else {
      word(node);
    }
    return node;
  }

  void object(json_node& node, int depth) {
    node.kind = json_kind::object;
    ++m_at;
    if (take('}')) return;
    do {
      skip_space();
      if (m_at < m_text.size() && peek() != '"') fail("not valid JSON: a key in quotes is missing here");
      expect_quote();
      json_member member;
      member.key = text();
      expect(':');
      member.content = value(depth + 1);
      node.members.push_back(std::move(member));
    } while (take(','));
    expect('}');
    std::vector<std::string_view> keys;
    for (const json_member& member : node.members) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) fail(fmt::format("the key {} stands here twice", json_quoted(*twice)));
  }

  void expect_quote() const {
    if (m_at >= m_text.size()) fail("the file ends in the middle: it was truncated");
  }

  void array(json_node& node, int depth) {
    node.kind = json_kind::array;
    ++m_at;
    if (take(']')) return;
    do {
      node.items.push_back(value(depth + 1));
    } while (take(','));
    expect(']');
  }

  void number(json_node& node) {
    node.kind = json_kind::number;
    const std::size_t start = m_at;
    const auto digits = [&] {
      if (!is_digit(peek())) fail("not valid JSON: a digit is missing in this number");
      while (is_digit(peek())) ++m_at;
    };
    if (peek() == '-') ++m_at;
    if (peek() == '0') {
      ++m_at;
    } else {
      digits();
    }
    if (peek() == '.') {
      ++m_at;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++m_at;
      if (peek() == '+' || peek() == '-') ++m_at;
      digits();
    }
    node.text = m_text.substr(start, m_at - start);
  }

  void word(json_node& node) {
    for (const std::string_view known : {"true", "false", "null"}) {
      if (!m_text.substr(m_at).starts_with(known)) continue;
      m_at += known.size();
      node.kind = known == "null" ? json_kind::null : json_kind::boolean;
      node.text = known;
      return;
    }
    fail("not valid JSON: no value stands here (a number is written without NaN or infinity)");
  }

  std::string text() {
    std::string decoded;
    ++m_at;
    for (;;) {
      if (m_at >= m_text.size()) fail("the file ends in the middle of a text: it was truncated");
      const char c = m_text[m_at++];
      if (c == '"') return decoded;
      if (static_cast<unsigned char>(c) < 0x20) fail("not valid JSON: a text goes on over the line's end");
      if (c == '\\') {
        escape(decoded);
      } else {
        decoded += c;
      }
    }
  }

  void escape(std::string& decoded) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const char letter = peek();
    ++m_at;
    if (const std::size_t which = letters.find(letter); which != std::string_view::npos) {
      decoded += meanings[which];
      return;
    }
    if (letter != 'u') fail("not valid JSON: an unknown escape in a text");
    std::uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00 && m_text.substr(m_at).starts_with("\\u")) {
      m_at += 2;
      const std::uint32_t low = hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("not valid JSON: half a character in a text");
      code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) fail("not valid JSON: half a character in a text");
    append_utf8(code, decoded);
  }

  std::uint32_t hex4() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++m_at) {
      const char c = peek();
      const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_digit(c) && !is_letter) fail("not valid JSON: four hexadecimal digits are missing in a text");
      const int digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
      value = value << 4U | static_cast<std::uint32_t>(digit);
    }
    return value;
  }

  std::string_view m_text;
  const std::string& m_file;
  const std::string& m_remedy;
  std::size_t m_at = 0;
  int m_line = 1;
};

void check_lines(std::string_view text, const std::string& file, const std::string& remedy) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (core::is_merge_marker(line)) {
      throw core::bad_input(
          file, number, "this line is the marker of an unfinished merge",
          "take one side as a whole (git checkout --ours or --theirs with the file's path): "
          "lines of two run sets do not mix; then accept the other one anew, if it is the "
          "later one");
    }
    if (core::to_valid_utf8(line) != line) {
      throw core::bad_input(file, number, "this line is not valid UTF-8", remedy);
    }
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

json_node parse_json(std::string_view text, const std::string& file, const std::string& remedy) {
  if (text.empty()) throw core::bad_input(file, 0, "the file is empty", remedy);
  check_lines(text, file, remedy);
  return parser(text, file, remedy).document();
}

std::string canonical_text(const json_node& node, std::string_view without) {
  switch (node.kind) {
    case json_kind::null:
    case json_kind::boolean:
    case json_kind::number:
      return node.text;
    case json_kind::text:
      return json_quoted(node.text);
    case json_kind::array:
      break;
    case json_kind::object: {
      std::vector<const json_member*> sorted;
      for (const json_member& member : node.members) {
        if (without.empty() || member.key != without) sorted.push_back(&member);
      }
      std::sort(sorted.begin(), sorted.end(),
                [](const json_member* a, const json_member* b) { return a->key < b->key; });
      std::string text = "{";
      for (const json_member* member : sorted) {
        if (text.size() > 1) text += ',';
        text += json_quoted(member->key) + ":" + canonical_text(member->content);
      }
      return text + "}";
    }
  }
  std::string text = "[";
  for (const json_node& item : node.items) {
    if (text.size() > 1) text += ',';
    text += canonical_text(item);
  }
  return text + "]";
}

std::string json_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : core::to_valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace profgate::baselines
