#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/config.h"
#include "config/yaml_tree.h"
#include "core/error.h"
#include "groups.h"
#include "layer.h"
#include "overrides.h"
#include "rules.h"

namespace profgate::config {
namespace fs = std::filesystem;
namespace {

/// What a file's "defaults:" list says.
struct defaults_list {
  struct choice_of_group {
    const group* target = nullptr;
    group_choice chosen;  ///< may be "${key}"
  };
  std::vector<group_choice> bases;      ///< files of the same group, to lie below this one
  std::vector<choice_of_group> others;  ///< choices for groups after this one
};

[[noreturn]] void refuse_default(const text_source& source, int line, const std::string& what,
                                 std::string remedy =
                                     "write '- group: choice', or '- name' for another file of the same "
                                     "folder") {
  throw core::bad_input(source.name, source.line(line), what, std::move(remedy));
}

const group& target_of(const yaml_member& item, const group& of, const text_source& source) {
  const group* target = find_group(item.key);
  if (target == nullptr) {
    refuse_default(source, item.line, fmt::format("there is no group '{}'", item.key),
                   "the groups are: model, workload, profiling/nsys, profiling/ncu, hardware, categories");
  }
  if (target <= find_group(of.name)) {
    refuse_default(source, item.line,
                   fmt::format("a file of group '{}' cannot choose '{}'", of.name, target->name),
                   "choose it in the runner's defaults list or by an override");
  }
  return *target;
}

void add_choice(defaults_list& list, const yaml_member& item, const group& of, const text_source& source) {
  const group& target = target_of(item, of, source);
  if (item.content.kind != node_kind::scalar && item.content.kind != node_kind::null) {
    refuse_default(source, item.line, fmt::format("the choice for '{}' is not one name", item.key));
  }
  for (const auto& earlier : list.others) {
    if (earlier.target != &target) continue;
    refuse_default(source, item.line,
                   fmt::format("'{}' is chosen a second time (first at {})", item.key, earlier.chosen.origin),
                   "remove one of the two");
  }
  list.others.push_back({&target, {item.content.text, source.at(item.line)}});
}

/// Takes the list out of `tree`, so that only keys of the schema remain in it.
defaults_list take_defaults(yaml_node& tree, const group& of, const text_source& source) {
  defaults_list list;
  const auto found = std::find_if(tree.members.begin(), tree.members.end(),
                                  [](const yaml_member& member) { return member.key == "defaults"; });
  if (found == tree.members.end()) return list;
  const yaml_node items = std::move(found->content);
  tree.members.erase(found);
  if (items.kind != node_kind::sequence) refuse_default(source, items.line, "'defaults' is not a list");
  for (const yaml_node& item : items.items) {
    if (item.kind == node_kind::scalar) {
      list.bases.push_back({item.text, source.at(item.line)});
    } else if (item.kind == node_kind::map && item.members.size() == 1) {
      add_choice(list, item.members.front(), of, source);
    } else {
      refuse_default(source, item.line, "this entry of 'defaults' is neither a name nor one 'group: choice'");
    }
  }
  return list;
}

/// Bases of bases of bases: more than anyone reads, and few enough for the stack.
constexpr std::size_t max_base_files = 16;

/// In rising order.
constexpr std::array<const char*, 3> override_origins{"profgate_add_workload", "PROFGATE_OVERRIDES",
                                                      "command line"};

/// Builds the layers of one request, from the lowest to the highest.
class composer {
 public:
  explicit composer(const request& wanted) : m_wanted(wanted) {
    const fs::path project_dir =
        fs::absolute(wanted.project_dir.empty() ? fs::path(".") : wanted.project_dir);
    m_overrides = {parse_overrides(wanted.pair_overrides, override_origins[0], project_dir),
                   parse_overrides(wanted.environment_overrides, override_origins[1], project_dir),
                   parse_overrides(wanted.command_line_overrides, override_origins[2], project_dir)};
  }

  resolved build() {
    for (const group& each : groups) {
      const std::optional<group_choice> chosen = choice_of(each);
      if (chosen && !chosen->choice.empty()) load(each, *chosen, {});
    }
    layer all = default_layer();
    lay_over(all, m_files);
    for (const parsed_overrides& overrides : m_overrides) lay_over(all, overrides.values);
    return resolved(std::move(all));
  }

 private:
  struct default_choice {
    std::string_view chosen_by;  ///< the group whose file it was
    group_choice chosen;
  };

  std::optional<std::string> requested(std::string_view group_name) const {
    if (group_name == "runner") return m_wanted.runner;
    if (group_name == "model") return m_wanted.model_choice;
    if (group_name == "workload") return m_wanted.workload_choice;
    if (group_name == "hardware") return m_wanted.hardware_choice;
    return std::nullopt;
  }

  /// What was chosen from outside the files: an override before the request, a later override first.
  std::optional<group_choice> choice_by_caller(std::string_view group_name) const {
    for (auto overrides = m_overrides.rbegin(); overrides != m_overrides.rend(); ++overrides) {
      const auto found = overrides->choices.find(group_name);
      if (found != overrides->choices.end()) return found->second;
    }
    const std::optional<std::string> choice = requested(group_name);
    if (!choice) return std::nullopt;
    return group_choice{*choice, fmt::format("the requested {}", group_name)};
  }

  std::optional<group_choice> choice_of(const group& wanted) const {
    if (std::optional<group_choice> chosen = choice_by_caller(wanted.name)) return chosen;
    const auto found = m_default_choices.find(wanted.name);
    if (found == m_default_choices.end()) return std::nullopt;
    group_choice chosen = found->second.chosen;
    chosen.choice = substituted(chosen);
    return chosen;
  }

  /// A choice "${run.mode}" follows the value of that key. Only keys of the runner are known this early.
  std::string substituted(const group_choice& chosen) const {
    const std::string& choice = chosen.choice;
    if (!choice.starts_with("${") || !choice.ends_with("}")) return choice;
    const std::string key = choice.substr(2, choice.size() - 3);
    const bool is_of_a_group = std::any_of(groups.begin() + 1, groups.end(), [&](const group& each) {
      return key.starts_with(std::string(each.mount) + ".");
    });
    const entry* held = is_of_a_group ? nullptr : early_value(key);
    const std::string* text = held == nullptr ? nullptr : std::get_if<std::string>(&held->content);
    if (text == nullptr) {
      throw core::bad_input(chosen.origin, 0, fmt::format("'{}' is no text key of the runner", choice),
                            "use a key such as ${run.mode}, or write the choice out");
    }
    return *text;
  }

  const entry* early_value(const std::string& key) const {
    for (auto overrides = m_overrides.rbegin(); overrides != m_overrides.rend(); ++overrides) {
      const auto found = overrides->values.find(key);
      if (found != overrides->values.end()) return &found->second;
    }
    for (const layer* lower : {&m_files, &m_defaults}) {
      const auto found = lower->find(key);
      if (found != lower->end()) return &found->second;
    }
    return nullptr;
  }

  /// Adds a file on top of those of its own group that its defaults list names. `users` led here.
  void load(const group& of, const group_choice& chosen, std::vector<std::string> users) {
    const fs::path file = find_choice(m_wanted.conf_dirs, of, chosen.choice, chosen.origin);
    const tree_source source = source_with_lines(shown_path(file), fs::absolute(file).parent_path());
    const bool is_circle = std::find(users.begin(), users.end(), source.text.name) != users.end();
    if (is_circle || users.size() >= max_base_files) {
      throw core::bad_input(
          chosen.origin, 0,
          is_circle ? fmt::format("the defaults lists go in a circle back to {}", source.text.name)
                    : fmt::format("more than {} files build on each other", max_base_files),
          "remove this entry");
    }
    users.push_back(source.text.name);
    yaml_node tree = parse_yaml(read_conf_file(file), source.text);
    const defaults_list defaults = take_defaults(tree, of, source.text);
    for (const auto& other : defaults.others) note_default(of, *other.target, other.chosen);
    for (const group_choice& base : defaults.bases) load(of, base, users);
    add_tree(m_files, std::string(of.mount), tree, source);
  }

  /// A group's file chooses before the runner's, and a file before its bases (whose lists are read later).
  void note_default(const group& of, const group& target, const group_choice& chosen) {
    const auto [earlier, is_first] =
        m_default_choices.try_emplace(target.name, default_choice{of.name, chosen});
    if (is_first || earlier->second.chosen_by == of.name) return;
    if (earlier->second.chosen_by == groups.front().name) {
      earlier->second = {of.name, chosen};
      return;
    }
    if (earlier->second.chosen.choice == chosen.choice || choice_by_caller(target.name)) return;
    throw core::bad_input(chosen.origin, 0,
                          fmt::format("chooses {}={}, but {} chooses {}", target.name, chosen.choice,
                                      earlier->second.chosen.origin, earlier->second.chosen.choice),
                          fmt::format("decide by an override: {}=<choice>", target.name));
  }

  const request& m_wanted;
  std::vector<parsed_overrides> m_overrides;  ///< in rising order
  std::map<std::string_view, default_choice> m_default_choices;
  layer m_files;
  const layer& m_defaults = default_layer();
};

/// Who overrides a peak of a hardware file says it instead of the vendor, whose source is none any more.
resolved without_source_of_others(const resolved& composed) {
  const auto is_overridden = [&](std::string_view key) {
    const std::string& origin = composed.origin(key);
    return std::find(override_origins.begin(), override_origins.end(), origin) != override_origins.end();
  };
  if (composed.is_null("hardware.source") || is_overridden("hardware.source")) return composed;
  for (const char* key : {"hardware.peak_tflops.float32", "hardware.peak_tflops.bfloat16",
                          "hardware.peak_tflops.float16", "hardware.memory_bandwidth_gbs"})
    if (is_overridden(key)) return composed.with("hardware.source", std::monostate{}, composed.origin(key));
  return composed;
}

}  // namespace

resolved compose(const request& wanted) {
  resolved composed = composer(wanted).build();
  // An adapter brings the stages that it opens: a runner of its name, below all that was said otherwise.
  if (wanted.runner == "program" && has_adapter(composed)) {
    request own = wanted;
    own.runner = composed.text("workload.adapter");
    composed = composer(own).build();
  }
  composed = without_source_of_others(composed);
  check_combinations(composed);
  if (wanted.engine == "llm") check_llm(composed);
  return composed;
}

bool has_adapter(const resolved& config) {
  return config.text("workload.adapter") != "none";
}

resolved parse_resolved(std::string_view yaml, const std::string& name) {
  const tree_source source = source_with_lines(name, fs::absolute(name).parent_path());
  layer read;
  add_tree(read, "", parse_yaml(yaml, source.text), source);
  layer all = default_layer();
  lay_over(all, read);
  return resolved(std::move(all));
}

resolved read_resolved(const fs::path& config_yaml) {
  return parse_resolved(read_conf_file(config_yaml), shown_path(config_yaml));
}

std::optional<std::string> hardware_for_device(const std::vector<fs::path>& conf_dirs,
                                               const std::string& device_name) {
  for (const std::string& choice : choices(conf_dirs, "hardware")) {
    request wanted;
    wanted.conf_dirs = conf_dirs;
    wanted.runner = "";
    wanted.hardware_choice = choice;
    const std::vector<std::string> names = composer(wanted).build().list("hardware.device_names");
    if (std::find(names.begin(), names.end(), device_name) != names.end()) return choice;
  }
  return std::nullopt;
}

}  // namespace profgate::config
