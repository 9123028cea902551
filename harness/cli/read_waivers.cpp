#include "read_waivers.h"

#include <fmt/format.h>

#include <charconv>

#include "artifacts/files.h"
#include "config/yaml_tree.h"
#include "core/error.h"
#include "core/utc_time.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* shape =
    "a waiver has the fields pair, stage, owner, reason, expires (YYYY-MM-DD) and max_ratio (0.05 for 5 %), "
    "all of them";
constexpr double most_ratio = 10;

[[noreturn]] void fail(const std::string& name, int line, const std::string& what) {
  throw core::bad_input(name, line, what, shape);
}

double ratio_of(const config::yaml_node& node, const std::string& name) {
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stop, problem] = std::from_chars(node.text.data(), end, value);
  if (problem != std::errc() || stop != end || !(value > 0 && value <= most_ratio)) {
    fail(
        name, node.line,
        fmt::format("max_ratio is '{}', but must be a number above 0 and at most {}", node.text, most_ratio));
  }
  return value;
}

void set_field(const config::yaml_member& member, const std::string& name, gate::waiver& waived) {
  const config::yaml_node& value = member.content;
  if (value.kind != config::node_kind::scalar || value.text.find_first_not_of(" \t") == std::string::npos) {
    fail(name, member.line, fmt::format("the waiver's {} is empty", member.key));
  }
  if (member.key == "pair") {
    waived.pair = value.text;
  } else if (member.key == "stage") {
    waived.stage = value.text;
  } else if (member.key == "owner") {
    waived.owner = value.text;
  } else if (member.key == "reason") {
    waived.reason = value.text;
  } else if (member.key == "expires") {
    if (!gate::is_date(value.text)) {
      fail(name, value.line, fmt::format("expires is '{}', which is no date", value.text));
    }
    waived.expires = value.text;
  } else if (member.key == "max_ratio") {
    waived.max_ratio = ratio_of(value, name);
  } else {
    fail(name, member.line, fmt::format("a waiver has no field '{}'", member.key));
  }
}

gate::waiver waiver_of(const config::yaml_node& node, const std::string& name) {
  if (node.kind != config::node_kind::map) fail(name, node.line, "a waiver stands here without its fields");
  gate::waiver waived;
  waived.defined_at = fmt::format("{}:{}", name, node.line);
  for (const config::yaml_member& member : node.members) set_field(member, name, waived);
  for (const std::string required : {"pair", "stage", "owner", "reason", "expires", "max_ratio"}) {
    bool is_there = false;
    for (const config::yaml_member& member : node.members) is_there = is_there || member.key == required;
    if (!is_there) fail(name, node.line, fmt::format("the waiver lacks its {}", required));
  }
  return waived;
}

}  // namespace

std::vector<gate::waiver> parse_waivers(std::string_view yaml, const std::string& name) {
  const config::yaml_node root = config::parse_yaml(yaml, {name});
  std::vector<gate::waiver> waivers;
  if (root.kind == config::node_kind::null) return waivers;
  if (root.kind != config::node_kind::sequence) fail(name, root.line, "is not a list of waivers");
  for (const config::yaml_node& item : root.items) waivers.push_back(waiver_of(item, name));
  return waivers;
}

std::vector<gate::waiver> read_waivers(const fs::path& baselines_dir) {
  const fs::path file = baselines_dir / waivers_name;
  if (!fs::exists(file)) return {};
  return parse_waivers(artifacts::read_file(file), file.string());
}

std::string today_utc() {
  return core::utc_timestamp().substr(0, 10);
}

}  // namespace profgate::cli
