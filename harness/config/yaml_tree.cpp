#include "config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/escape.h"
#include "core/slips.h"

namespace profgate::config {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

void check_line(std::string_view line, int number, const text_source& source) {
  if (core::is_merge_marker(line)) {
    throw core::bad_input(source.name, source.line(number), "this line is the marker of an unfinished merge",
                          "resolve the merge conflict in this file");
  }
  const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
  if (indentation.find('\t') != std::string_view::npos) {
    throw core::bad_input(source.name, source.line(number), "this line is indented with a tab",
                          "indent with spaces: YAML does not allow tabs there");
  }
  const auto control =
      std::find_if(line.begin(), line.end(), [](char c) { return is_control(c) && c != '\t'; });
  if (control != line.end()) {
    throw core::bad_input(
        source.name, source.line(number),
        fmt::format("this line has the control character 0x{:02x}", static_cast<unsigned char>(*control)),
        "save the file as UTF-8 text");
  }
  if (core::to_valid_utf8(line) != line) {
    throw core::bad_input(source.name, source.line(number), "this line is not valid UTF-8",
                          "save the file as UTF-8 text");
  }
}

}  // namespace

void check_text(std::string_view text, const text_source& source) {
  if (text.size() > source.limit.bytes()) {
    throw core::bad_input(source.name, 0,
                          fmt::format("is longer than {} KiB, the most that {} may have",
                                      source.limit.kibibytes, source.limit.kind),
                          source.limit.remedy);
  }
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_line(line, number, source);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    ++number;
  }
}

bool is_printable_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control) && core::to_valid_utf8(text) == text;
}

namespace {

/// The deepest key of the schema needs 4. yaml-cpp's parser recurses once a level and tells its handler
/// before it goes down, so refusing here also bounds its stack.
constexpr std::size_t max_depth = 16;

int line_of(const YAML::Mark& mark) {
  return std::max(mark.line, 0) + 1;
}

/// Builds our own tree from yaml-cpp's events: they carry the line of every key, show duplicate keys (which
/// YAML::Node hides), and never expand an alias.
class tree_builder : public YAML::EventHandler {
 public:
  explicit tree_builder(const text_source& source) : m_source(source) {}

  yaml_node take_root() { return std::move(m_root); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    yaml_node node;
    node.line = line_of(mark);
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_reference(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    yaml_node node;
    node.kind = node_kind::scalar;
    node.line = line_of(mark);
    node.quoted = tag == "!";
    node.text = text;
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(node_kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node_kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct pending_key {
    std::string text;
    int line = 1;
  };
  struct open_collection {
    yaml_node node;
    std::optional<pending_key> key;  ///< of a map, between a key and its value
  };

  [[noreturn]] void fail(int line, const std::string& what, std::string remedy) const {
    throw core::bad_input(m_source.name, m_source.line(line), what, std::move(remedy));
  }

  [[noreturn]] void refuse_reference(const YAML::Mark& mark) const {
    fail(line_of(mark), "anchors (&) and aliases (*) are not supported",
         "write the value out, or put a text that starts with & or * in quotes");
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) refuse_reference(mark);
  }

  /// yaml-cpp reports "?" for plain values and "!" for quoted ones.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(line_of(mark), "tags (!) are not supported",
         "leave the tag out, or put a text that starts with ! in quotes");
  }

  bool expects_key() const {
    return !m_open.empty() && m_open.back().node.kind == node_kind::map && !m_open.back().key;
  }

  void open(node_kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (expects_key()) {
      fail(line_of(mark), "a list or a map stands where a key belongs",
           "use a plain word as the key; close every bracket that is opened");
    }
    if (m_open.size() >= max_depth) {
      fail(line_of(mark), fmt::format("nested more than {} levels deep", max_depth),
           "no key needs that; check the brackets and the indentation");
    }
    open_collection opened;
    opened.node.kind = kind;
    opened.node.line = line_of(mark);
    m_open.push_back(std::move(opened));
  }

  void close() {
    yaml_node closed = std::move(m_open.back().node);
    m_open.pop_back();
    add(std::move(closed));
  }

  void add(yaml_node node) {
    if (m_open.empty()) {
      m_root = std::move(node);
    } else if (m_open.back().node.kind == node_kind::sequence) {
      m_open.back().node.items.push_back(std::move(node));
    } else if (expects_key()) {
      add_key(node);
    } else {
      open_collection& parent = m_open.back();
      parent.node.members.push_back({parent.key->text, parent.key->line, std::move(node)});
      parent.key.reset();
    }
  }

  void add_key(const yaml_node& node) {
    if (node.kind != node_kind::scalar || node.text.empty() || !is_printable_line(node.text)) {
      fail(node.line, "a key is missing before ':'", "write the key's name");
    }
    open_collection& parent = m_open.back();
    for (const yaml_member& earlier : parent.node.members) {
      if (earlier.key != node.text) continue;
      fail(node.line,
           fmt::format("the key '{}' stands here a second time (first at {})", node.text,
                       m_source.at(earlier.line)),
           "remove one of the two");
    }
    parent.key = pending_key{node.text, node.line};
  }

  const text_source& m_source;
  std::vector<open_collection> m_open;
  yaml_node m_root;
};

}  // namespace

yaml_node parse_yaml(std::string_view text, const text_source& source) {
  check_text(text, source);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    tree_builder builder(source);
    if (!parser.HandleNextDocument(builder)) return {};
    tree_builder second(source);
    if (parser.HandleNextDocument(second)) {
      throw core::bad_input(source.name, source.line(second.take_root().line),
                            "a second YAML document starts here", "keep one document: remove the '---'");
    }
    return builder.take_root();
  } catch (const YAML::Exception& broken) {
    const int line = broken.mark.is_null() ? 0 : source.line(line_of(broken.mark));
    const bool is_escape = broken.msg.starts_with(YAML::ErrorMsg::INVALID_ESCAPE);
    throw core::bad_input(
        source.name, line, fmt::format("not valid YAML: {}", broken.msg),
        is_escape          ? "between double quotes write a backslash twice, or take single quotes: 'a\\|b'"
        : source.has_lines ? "correct the syntax on this line or the one before it"
                           : "correct the value; put a text with special characters in quotes");
  }
}

}  // namespace profgate::config
