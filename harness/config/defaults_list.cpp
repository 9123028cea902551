#include "defaults_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace profgate::config {
namespace {

[[noreturn]] void refuse(const text_source& source, int line, const std::string& what,
                         std::string remedy =
                             "write '- group: choice', or '- name' for another file of the same "
                             "folder") {
  throw core::bad_input(source.name, source.line(line), what, std::move(remedy));
}

const group& target_of(const yaml_member& item, const group& of, const text_source& source) {
  const group* target = find_group(item.key);
  if (target == nullptr) {
    refuse(source, item.line, fmt::format("there is no group '{}'", item.key),
           "the groups are: model, workload, profiling/nsys, profiling/ncu, hardware, categories");
  }
  if (target <= find_group(of.name)) {
    refuse(source, item.line, fmt::format("a file of group '{}' cannot choose '{}'", of.name, target->name),
           "choose it in the runner's defaults list or by an override");
  }
  return *target;
}

void add_choice(defaults_list& list, const yaml_member& item, const group& of, const text_source& source) {
  const group& target = target_of(item, of, source);
  if (item.content.kind != node_kind::scalar && item.content.kind != node_kind::null) {
    refuse(source, item.line, fmt::format("the choice for '{}' is not one name", item.key));
  }
  for (const auto& earlier : list.others) {
    if (earlier.target != &target) continue;
    refuse(source, item.line,
           fmt::format("'{}' is chosen a second time (first at {})", item.key, earlier.chosen.origin),
           "remove one of the two");
  }
  list.others.push_back({&target, {item.content.text, source.at(item.line)}});
}

}  // namespace

defaults_list take_defaults(yaml_node& tree, const group& of, const text_source& source) {
  defaults_list list;
  const auto found = std::find_if(tree.members.begin(), tree.members.end(),
                                  [](const yaml_member& member) { return member.key == "defaults"; });
  if (found == tree.members.end()) return list;
  const yaml_node items = std::move(found->content);
  tree.members.erase(found);
  if (items.kind != node_kind::sequence) refuse(source, items.line, "'defaults' is not a list");
  for (const yaml_node& item : items.items) {
    if (item.kind == node_kind::scalar) {
      list.bases.push_back({item.text, source.at(item.line)});
    } else if (item.kind == node_kind::map && item.members.size() == 1) {
      add_choice(list, item.members.front(), of, source);
    } else {
      refuse(source, item.line, "this entry of 'defaults' is neither a name nor one 'group: choice'");
    }
  }
  return list;
}

}  // namespace profgate::config
