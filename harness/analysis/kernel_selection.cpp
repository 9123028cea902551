#include "analysis/kernel_selection.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "analysis/json_object.h"
#include "core/stage_names.h"
#include "range_sweep.h"

namespace profgate::analysis {
namespace {

bool is_larger(const core::kernel_group& a, const core::kernel_group& b) {
  if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
  return std::tie(a.kernel_name, a.op, a.grid, a.block, a.device) <
         std::tie(b.kernel_name, b.op, b.grid, b.block, b.device);
}

/// The capture that a stage is taken from, and its windows there.
const capture* capture_of(const std::vector<capture>& captures, const std::string& stage,
                          const std::string& nvtx_domain, std::vector<stage_window>& windows) {
  const capture* chosen = nullptr;
  for (const capture& candidate : captures) {
    if (chosen != nullptr && candidate.gate != stage) continue;
    std::vector<stage_window> found = find_windows(candidate.timeline, {stage}, nvtx_domain);
    if (found.empty()) continue;
    chosen = &candidate;
    windows = std::move(found);
    if (candidate.gate == stage) break;
  }
  return chosen;
}

/// When a thread is inside of a stage. ncu looks at the ranges of the thread that launches; the whole process
/// has no range, and is every thread's.
class stage_spans {
 public:
  stage_spans(const std::vector<stage_window>& windows, const std::vector<std::string>& stages) {
    for (const stage_window& window : windows) {  // by their start
      const bool is_process = stages[window.stage] == core::whole_process_stage;
      std::vector<span>& spans = m_spans[{window.process_id, is_process ? any_thread : window.thread_id}];
      if (!spans.empty() && window.start_ns <= spans.back().end_ns) {
        spans.back().end_ns = std::max(spans.back().end_ns, window.end_ns);
      } else {
        spans.push_back({window.start_ns, window.end_ns});
      }
    }
  }

  bool holds(const core::kernel_execution& kernel) const {
    return holds(kernel.process_id, kernel.thread_id, kernel.launched_ns) ||
           holds(kernel.process_id, any_thread, kernel.launched_ns);
  }

 private:
  struct span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  static constexpr std::uint32_t any_thread = static_cast<std::uint32_t>(-1);

  bool holds(std::uint32_t process, std::uint32_t thread, std::int64_t time_ns) const {
    const auto spans = m_spans.find({process, thread});
    if (spans == m_spans.end()) return false;
    const auto after =
        std::upper_bound(spans->second.begin(), spans->second.end(), time_ns,
                         [](std::int64_t time, const span& each) { return time < each.start_ns; });
    return after != spans->second.begin() && time_ns < std::prev(after)->end_ns;
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<span>> m_spans;
};

/// ncu counts as the host launches; streams run in another order. Kernels of one graph share the time of
/// their launch; on the device they keep their order.
launch_order order_as_launched(std::vector<const core::kernel_execution*> kernels,
                               const stage_spans& inside) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    return std::tie(a->launched_ns, a->start_ns) < std::tie(b->launched_ns, b->start_ns);
  });
  launch_order order;
  std::map<launch_configuration, std::uint32_t> index_of;
  for (const core::kernel_execution* kernel : kernels) {
    const launch_configuration launched{std::string(kernel->shape->name), kernel->shape->grid,
                                        kernel->shape->block, inside.holds(*kernel)};
    const auto [place, is_new] =
        index_of.try_emplace(launched, static_cast<std::uint32_t>(order.configurations.size()));
    if (is_new) order.configurations.push_back(launched);
    order.launches.push_back(place->second);
    if (!is_new || kernel->shape->mangled_name.empty()) continue;
    std::vector<std::string>& names = order.mangled_names[launched.kernel_name];
    const std::string mangled(kernel->shape->mangled_name);
    if (std::find(names.begin(), names.end(), mangled) == names.end()) names.push_back(mangled);
  }
  return order;
}

/// How often a kernel is launched in the windows of one stage, by the window's place among them.
using launches_by_window = std::map<std::size_t, std::int64_t>;

bool is_tuned(const launches_by_window& launches, std::size_t windows_count) {
  constexpr std::int64_t fewest = 32;  // what a first step does once more than others is no tuning
  constexpr std::int64_t times_as_often = 4;
  if (windows_count < 2 || launches.begin()->first != 0) return false;
  std::int64_t most_later = 0;
  for (auto later = std::next(launches.begin()); later != launches.end(); ++later)
    most_later = std::max(most_later, later->second);
  const std::int64_t first = launches.begin()->second;
  return first >= fewest + most_later && first > times_as_often * most_later;
}

/// `windows`: by their start.
std::set<std::string> find_tuned_kernels(const std::vector<const core::kernel_execution*>& kernels,
                                         const std::vector<stage_window>& windows, std::size_t stages_count) {
  std::set<std::string> tuned;
  for (std::size_t stage = 0; stage < stages_count; ++stage) {
    std::vector<const stage_window*> own;
    for (const stage_window& window : windows)
      if (window.stage == stage) own.push_back(&window);
    std::map<std::string_view, launches_by_window> launches_of;
    for (const core::kernel_execution* kernel : kernels) {
      const auto after =
          std::upper_bound(own.begin(), own.end(), kernel->launched_ns,
                           [](std::int64_t time, const stage_window* each) { return time < each->start_ns; });
      if (after == own.begin()) continue;
      const stage_window& window = **std::prev(after);
      if (window.process_id != kernel->process_id || kernel->launched_ns >= window.end_ns) continue;
      launches_of[kernel->shape->name][static_cast<std::size_t>(std::prev(after) - own.begin())] += 1;
    }
    for (const auto& [name, launches] : launches_of)
      if (is_tuned(launches, own.size())) tuned.emplace(name);
  }
  return tuned;
}

json size_json(const std::array<std::uint32_t, 3>& size) {
  return json(size);
}

json group_json(const core::kernel_group& group, std::int64_t stage_ns) {
  json_object object;
  object.put("kernel_name", group.kernel_name);
  object.put_text("op", group.op, "it was launched under no operator");
  object.put("device", "cuda:" + std::to_string(group.device));
  object.put("grid_blocks", size_json(group.grid));
  object.put("block_threads", size_json(group.block));
  object.put("total_ns", group.total_ns);
  object.put("own_ns", group.cost_ns());
  object.put("calls_count", group.calls);
  object.put("share_ratio", quotient(static_cast<double>(group.cost_ns()), static_cast<double>(stage_ns)));
  return object.take();
}

json planned_json(const planned_stage& stage) {
  const kernel_selection& selection = stage.selection;
  json_object object;
  object.put("name", selection.stage);
  if (selection.groups.empty()) {
    object.put_null("share_ratio", stage.seeding_reason);
  } else {
    object.put("share_ratio", selection.share_ratio());
  }
  object.put("groups_count", selection.groups_in_stage);
  object.put("own_ns", selection.stage_ns);
  json groups = json::array();
  for (const core::kernel_group& group : selection.groups) {
    groups.push_back(group_json(group, selection.stage_ns));
  }
  object.put("selected", std::move(groups));
  json windows = json::array();
  for (const launch_window& window : stage.windows) {
    windows.push_back({{"skip_count", window.skip}, {"launches_count", window.count}});
  }
  object.put("windows", std::move(windows));
  return object.take();
}

}  // namespace

kernel_selection select_kernels(const std::string& stage, const std::vector<core::kernel_group>& groups,
                                const selection_limits& limits) {
  kernel_selection selection;
  selection.stage = stage;
  selection.groups_in_stage = groups.size();
  std::map<std::string_view, core::kernel_group> by_name;
  for (const core::kernel_group& group : groups) {
    core::kernel_group& kernel = by_name[group.kernel_name];
    kernel.kernel_name = group.kernel_name;
    kernel.total_ns += group.total_ns;
    kernel.exclusive_ns = kernel.exclusive_ns.value_or(0) + group.cost_ns();
    selection.stage_ns += group.cost_ns();
  }
  std::vector<core::kernel_group> kernels;
  for (auto& [name, kernel] : by_name) kernels.push_back(std::move(kernel));
  std::sort(kernels.begin(), kernels.end(), is_larger);
  std::set<std::string> chosen;
  for (const core::kernel_group& kernel : kernels) {
    const bool is_enough = limits.share_ratio < 1 && selection.share_ratio() >= limits.share_ratio;
    if (chosen.size() == limits.top_n || is_enough) break;
    chosen.insert(kernel.kernel_name);
    selection.selected_ns += kernel.cost_ns();
  }
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(selection.groups),
               [&](const core::kernel_group& group) { return chosen.count(group.kernel_name) > 0; });
  std::sort(selection.groups.begin(), selection.groups.end(), is_larger);
  return selection;
}

kernel_spellings spellings_of(const std::vector<std::string>& kernels, const launch_order& order) {
  kernel_spellings spelled;
  spelled.are_mangled = std::all_of(kernels.begin(), kernels.end(), [&](const std::string& name) {
    return order.mangled_names.contains(name);
  });
  for (const std::string& name : kernels)
    spelled.by_kernel.push_back(spelled.are_mangled ? order.mangled_names.at(name)
                                                    : std::vector<std::string>{name});
  return spelled;
}

launch_order order_of_launches(const std::vector<capture>& captures, const std::string& stage,
                               const std::string& nvtx_domain) {
  std::vector<stage_window> windows;
  const capture* const source = capture_of(captures, stage, nvtx_domain, windows);
  if (source == nullptr) return {};
  const stage_spans inside(windows, {stage});
  std::vector<const core::kernel_execution*> kernels;
  for (const core::kernel_execution& kernel : source->timeline.kernels) {
    if (inside.holds(kernel)) kernels.push_back(&kernel);
  }
  return order_as_launched(std::move(kernels), inside);
}

launch_order order_of_program(const core::timeline& timeline, const std::vector<std::string>& ranges,
                              const std::string& nvtx_domain, counted_launches which) {
  const std::vector<stage_window> windows = find_windows(timeline, ranges, nvtx_domain);
  const stage_spans inside(windows, ranges);
  std::map<std::uint32_t, std::size_t> launches_of;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (inside.holds(kernel)) launches_of[kernel.process_id] += 1;
  }
  const auto most = std::max_element(launches_of.begin(), launches_of.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == launches_of.end()) return {};
  std::vector<const core::kernel_execution*> kernels;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    const bool is_counted = which == counted_launches::all || inside.holds(kernel);
    if (kernel.process_id == most->first && is_counted) kernels.push_back(&kernel);
  }
  std::set<std::string> tuned = find_tuned_kernels(kernels, windows, ranges.size());
  launch_order order = order_as_launched(std::move(kernels), inside);
  order.tuned_kernels = std::move(tuned);
  return order;
}

launch_order order_of_program(const std::vector<capture>& captures, const std::vector<std::string>& ranges,
                              const std::string& nvtx_domain, counted_launches which) {
  for (const capture& source : captures) {
    launch_order order = order_of_program(source.timeline, ranges, nvtx_domain, which);
    if (!order.launches.empty()) return order;
  }
  return {};
}

std::string selection_json(const std::vector<planned_stage>& stages, const selection_limits& limits,
                           const std::vector<std::string>& notes) {
  json list = json::array();
  for (const planned_stage& stage : stages) list.push_back(planned_json(stage));
  json words = json::array();
  for (const std::string& note : notes) words.push_back(core::to_valid_utf8(note));
  json_object document;
  document.put("top_n_kernels_count", limits.top_n);
  document.put("wanted_share_ratio", limits.share_ratio);
  document.put("stages", std::move(list));
  document.put("notes", std::move(words));
  return core::json_text(document.take());
}

}  // namespace profgate::analysis
