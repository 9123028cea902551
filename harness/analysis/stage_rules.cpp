#include "analysis/stage_rules.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/timeline_analysis.h"
#include "core/expression.h"
#include "core/interrupt.h"
#include "core/stage_names.h"

namespace profgate::analysis {
namespace {

constexpr std::string_view is_no_stage_mark = " (range)";

using group_counts = std::map<std::string, std::int64_t>;

class compiled_rule {
 public:
  explicit compiled_rule(const stage_rule& rule) : m_rule(rule) {
    if (!fits_all() && core::has_expression_characters(rule.range))
      m_expression.emplace(rule.range, rule.where);
  }

  const std::string& name() const { return m_rule.name; }
  bool admits(std::string_view domain) const { return !m_rule.domain || *m_rule.domain == domain; }

  /// What the expression's named groups count, where the range's name fits.
  std::optional<group_counts> match(std::string_view range) const {
    if (range == m_rule.range || fits_all()) return group_counts{};
    if (!m_expression) return std::nullopt;
    const auto groups = m_expression->match_whole(range);
    if (!groups) return std::nullopt;
    group_counts numbers;
    for (const auto& [group, digits] : *groups) {
      std::int64_t number = 0;
      const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (problem == std::errc() && end == digits.data() + digits.size()) numbers[group] = number;
    }
    return numbers;
  }

 private:
  bool fits_all() const { return m_rule.range == core::every_text; }

  const stage_rule& m_rule;
  std::optional<core::expression> m_expression;
};

/// What a profiler's own range carries besides its name, different each time: 18,000 operators of a few dozen
/// names. torch.autograd.profiler.emit_nvtx writes "aten::mm, seq = 4, op_id = 7, sizes = [[1, 8], [8, 8]],
/// input_op_ids = [(3,0)]" (sizes tell one work from another and stay), torch.profiler "ProfilerStep#7".
std::string without_counters(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  std::string text(name);
  const std::size_t inputs = text.find(", input_op_ids = [");
  if (inputs != std::string::npos && text.back() == ']') text.resize(inputs);
  for (const std::string_view counter : {", seq = ", ", op_id = "}) {
    const std::size_t found = text.find(counter);
    if (found == std::string::npos || found == 0) continue;
    const std::size_t number = found + counter.size();
    const std::size_t end = std::min(text.find_first_not_of(digits, number), text.size());
    if (end > number && (end == text.size() || text[end] == ',')) text.erase(found, end - found);
  }
  constexpr std::string_view step = "ProfilerStep#";
  if (text.starts_with(step) && text.find_first_not_of(digits, step.size()) == std::string::npos)
    text.resize(step.size() - 1);
  return text;
}

/// Names a model's modules by their paths, its layers as one: "model.layers.*.mlp" of "model.layers.7.mlp". A
/// number is a layer's where modules lie below it; the last one of "layers.7.mlp.2" is that of a single
/// module in a row of different ones, and stays. A layer that has other modules than most of its list is
/// called by its own number.
class layer_names {
 public:
  void see(std::string_view path) {
    for_each_part(path, [&](std::string_view part, std::string_view until) {
      if (until.size() == path.size() || !is_number(part) || until.size() == part.size()) return;
      m_lists[all_joined(until)][std::string(part)].insert(all_joined(path.substr(until.size() + 1)));
    });
  }

  /// Once all paths were seen that there are.
  void find_odd_ones() {
    for (auto& [list, layers] : m_lists) {
      std::map<std::set<std::string>, std::size_t> alike;
      for (const auto& [number, modules] : layers) alike[modules] += 1;
      const auto usual = std::max_element(alike.begin(), alike.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
      if (2 * usual->second <= layers.size()) continue;  // no two are alike
      for (const auto& [number, modules] : layers)
        if (modules != usual->first) m_odd[list].insert(number);
    }
  }

  struct name {
    std::string text{};
    std::int32_t layer = core::no_layer;  ///< the first number that is not in the text any more
  };

  name name_of(std::string_view path) const {
    name result;
    bool is_layer_found = false;
    for_each_part(path, [&](std::string_view part, std::string_view until) {
      std::string& text = result.text;
      const bool is_layer = is_number(part) && !text.empty() && is_like_others(all_joined(until), part);
      if (!text.empty()) text += '.';
      text += is_layer ? "*" : part;
      if (!is_layer || std::exchange(is_layer_found, true)) return;
      std::from_chars(part.data(), part.data() + part.size(), result.layer);  // too large: stays unknown
    });
    return result;
  }

 private:
  bool is_like_others(const std::string& list, std::string_view number) const {
    if (!m_lists.contains(list)) return false;
    const auto odd = m_odd.find(list);
    return odd == m_odd.end() || !odd->second.contains(std::string(number));
  }

  static bool is_number(std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  }

  /// Every number as "*": all layers of one list have the same.
  static std::string all_joined(std::string_view path) {
    std::string joined;
    for_each_part(path, [&](std::string_view part, std::string_view) {
      const bool is_first = joined.empty();
      if (!is_first) joined += '.';
      joined += is_number(part) && !is_first ? "*" : part;
    });
    return joined;
  }

  /// act(part, the path up to its end)
  template <typename action>
  static void for_each_part(std::string_view path, const action& act) {
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t end = std::min(path.find('.', start), path.size());
      act(path.substr(start, end - start), path.substr(0, end));
      start = end + 1;
    }
  }

  /// By list ("model.layers.*"): by number, what lies below.
  std::map<std::string, std::map<std::string, std::set<std::string>>> m_lists;
  std::map<std::string, std::set<std::string>> m_odd;  ///< by list: numbers
};

layer_names::name operator_name(std::string_view name, const layer_names* joined) {
  std::string text = without_counters(name);
  return joined == nullptr ? layer_names::name{std::move(text)} : joined->name_of(text);
}

/// What becomes of all ranges of one name in one domain.
struct renaming {
  const compiled_rule* stage = nullptr;  ///< null: it is none
  std::string_view name{};
  std::int32_t layer = core::no_layer;
  bool is_admitted = false;
  group_counts numbers{};
};

/// Texts of a pool are the same where they lie at the same place: a million ranges have a few names.
using text_places = std::pair<const char*, const char*>;
struct place_hash {
  std::size_t operator()(const text_places& places) const {
    return std::hash<const void*>()(places.first) * 31 + std::hash<const void*>()(places.second);
  }
};

std::vector<compiled_rule> compile(const std::vector<stage_rule>& rules) {
  return {rules.begin(), rules.end()};
}

renaming rename(std::string_view domain, std::string_view name, const std::vector<compiled_rule>& rules) {
  renaming result;
  for (const compiled_rule& rule : rules) {
    if (!rule.admits(domain)) continue;
    result.is_admitted = true;
    std::optional<group_counts> numbers = rule.match(name);
    if (!numbers) continue;
    result.stage = &rule;
    result.numbers = std::move(*numbers);
    break;
  }
  return result;
}

struct span {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread_id = 0;  ///< that launched first
};

void widen(std::map<std::uint32_t, span>& spans, std::uint32_t process, std::uint32_t thread,
           std::int64_t start_ns, std::int64_t end_ns) {
  const auto [found, is_new] = spans.try_emplace(process, span{start_ns, end_ns, thread});
  if (is_new) return;
  span& known = found->second;
  if (start_ns < known.start_ns) known = {start_ns, known.end_ns, thread};
  known.end_ns = std::max(known.end_ns, end_ns);
}

/// Made-up stages go before what they are made of: of two ranges that start and end together the first is the
/// outer one.
void put_around(core::timeline& timeline, const std::vector<core::range_record>& stages) {
  timeline.ranges.insert(timeline.ranges.begin(), stages.begin(), stages.end());
}

/// From the first thing that a process asked of a device, or the first range around it, to the last one's
/// end.
void add_whole_processes(core::timeline& timeline, const std::string& domain) {
  std::map<std::uint32_t, span> spans;
  for (const core::kernel_execution& kernel : timeline.kernels)
    widen(spans, kernel.process_id, kernel.thread_id, std::min(kernel.launched_ns, kernel.start_ns),
          kernel.end_ns);
  for (const core::copy_execution& copy : timeline.copies)
    widen(spans, copy.process_id, copy.thread_id, std::min(copy.launched_ns, copy.start_ns), copy.end_ns);
  for (const core::opaque_graph& graph : timeline.opaque_graphs)
    widen(spans, graph.process_id, graph.thread_id, std::min(graph.launched_ns, graph.start_ns),
          graph.end_ns);
  const bool uses_device = !spans.empty();
  for (const core::range_record& range : timeline.ranges) {
    if (!range.end_ns || (uses_device && !spans.contains(range.process_id))) continue;
    widen(spans, range.process_id, range.thread_id, range.start_ns, *range.end_ns);
  }
  std::vector<core::range_record> processes;
  for (const auto& [process, whole] : spans) {
    core::range_record range;
    range.domain = timeline.texts.keep(domain);
    range.name = timeline.texts.keep(core::whole_process_stage);
    range.process_id = process;
    range.thread_id = whole.thread_id;
    range.start_ns = whole.start_ns;
    range.end_ns = whole.end_ns;
    processes.push_back(range);
  }
  put_around(timeline, processes);
}

bool is_inside(const std::vector<std::string>& ranges, std::string_view name) {
  return std::find(ranges.begin(), ranges.end(), name) != ranges.end();
}

bool has_stage(const std::vector<stage_rule>& rules, std::string_view name) {
  return std::any_of(rules.begin(), rules.end(), [&](const stage_rule& rule) { return rule.name == name; });
}

/// A range that is merely called like a stage, and fits no rule of it, is not that stage: an operator at
/// most, by a name that no stage has.
std::string name_of_no_stage(std::string name, const std::vector<stage_rule>& rules) {
  while (has_stage(rules, name)) name += is_no_stage_mark;
  return name;
}

/// Only a stage that is looked for by its own name may be made up where no range has it.
bool can_be_made_up(const std::vector<stage_rule>& rules, std::string_view name) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const stage_rule& rule) { return rule.name == name && rule.range == name; });
}

/// From the first step's start to the last one's end, of steps between which their thread enters no other
/// stage.
void add_decoding(core::timeline& timeline, const std::vector<stage_rule>& rules, std::string_view domain) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const core::range_record*>> by_thread;
  for (const core::range_record& range : timeline.ranges) {
    if (!range.end_ns || range.domain != domain) continue;
    if (range.name == core::decode_step_range || has_stage(rules, range.name))
      by_thread[{range.process_id, range.thread_id}].push_back(&range);
  }
  const std::string_view name = timeline.texts.keep(core::decode_all_stage);
  std::vector<core::range_record> decodings;
  for (auto& [thread, ranges] : by_thread) {
    std::sort(ranges.begin(), ranges.end(),
              [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    bool goes_on = false;
    for (const core::range_record* range : ranges) {
      const bool is_step = range->name == core::decode_step_range;
      if (is_step && !goes_on) {
        decodings.push_back(*range);
        decodings.back().name = name;
      } else if (is_step) {
        decodings.back().end_ns = std::max(*decodings.back().end_ns, *range->end_ns);
      }
      goes_on = is_step;
    }
  }
  put_around(timeline, decodings);
}

}  // namespace

std::string_view name_in_program(std::string_view name, const std::vector<stage_rule>& rules) {
  while (name.ends_with(is_no_stage_mark)) {
    const std::string_view before = name.substr(0, name.size() - is_no_stage_mark.size());
    if (!has_stage(rules, before)) break;
    name = before;
  }
  return name;
}

stage_counts name_stages(core::timeline& timeline, const std::vector<stage_rule>& rules,
                         const std::string& domain, layers are) {
  const std::vector<compiled_rule> compiled = compile(rules);
  layer_names joined;
  if (are == layers::together) {
    std::set<std::string_view> seen;  // few, of a million ranges
    for (const core::range_record& range : timeline.ranges)
      if (seen.insert(range.name).second) joined.see(range.name);
    joined.find_odd_ones();
  }
  const layer_names* const names = are == layers::together ? &joined : nullptr;
  std::unordered_map<text_places, renaming, place_hash> known;
  std::set<std::string> found;
  stage_counts counted;
  const std::string_view own_domain = timeline.texts.keep(domain);
  for (core::range_record& range : timeline.ranges) {
    core::stop_if_interrupted();
    const auto [entry, is_new] = known.try_emplace({range.domain.data(), range.name.data()});
    if (is_new) {
      entry->second = rename(range.domain, range.name, compiled);
      const compiled_rule* const stage = entry->second.stage;
      layer_names::name name =
          stage != nullptr ? layer_names::name{stage->name()} : operator_name(range.name, names);
      const bool is_where_stages_are = entry->second.is_admitted || range.domain == own_domain;
      if (stage == nullptr && is_where_stages_are) name.text = name_of_no_stage(std::move(name.text), rules);
      entry->second.name = timeline.texts.keep(name.text);
      entry->second.layer = name.layer;
    }
    const renaming& change = entry->second;
    if (change.is_admitted) range.domain = own_domain;
    range.name = change.name;
    range.layer = change.layer;
    if (change.stage == nullptr) continue;
    if (!range.end_ns) continue;
    found.insert(change.stage->name());
    for (const auto& [group, number] : change.numbers) counted[change.stage->name()][group] += number;
  }
  const auto lacks = [&](const char* stage) {
    return can_be_made_up(rules, stage) && !found.contains(stage);
  };
  if (lacks(core::decode_all_stage)) add_decoding(timeline, rules, own_domain);
  if (lacks(core::whole_process_stage)) add_whole_processes(timeline, domain);
  return counted;
}

void name_stages(std::vector<core::kernel_counters>& launches, const std::vector<stage_rule>& rules,
                 layers are) {
  const std::vector<compiled_rule> compiled = compile(rules);
  layer_names joined;
  for (const core::kernel_counters& launch : launches)
    for (const auto& [domain, name] : launch.open_ranges) joined.see(name);
  const layer_names* const names = are == layers::together ? &joined : nullptr;
  for (core::kernel_counters& launch : launches) {
    launch.ranges.clear();
    for (const auto& [domain, name] : launch.open_ranges) {
      const renaming change = rename(domain, name, compiled);
      if (!change.is_admitted) continue;
      const bool is_step = name == core::decode_step_range && change.stage == nullptr;
      if (is_step && can_be_made_up(rules, core::decode_all_stage) &&
          !is_inside(launch.ranges, core::decode_all_stage))
        launch.ranges.emplace_back(core::decode_all_stage);
      launch.ranges.push_back(change.stage == nullptr
                                  ? name_of_no_stage(operator_name(name, names).text, rules)
                                  : change.stage->name());
    }
  }
}

}  // namespace profgate::analysis
