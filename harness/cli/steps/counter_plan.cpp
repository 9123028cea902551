#include "steps/counter_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/escape.h"
#include "core/json.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "parsers/adapter_report.h"
#include "runs/run_settings.h"
#include "steps/step.h"

namespace profgate::cli {
namespace {

/// The kernel refuses a longer argument (MAX_ARG_STRLEN is 128 KiB).
constexpr std::size_t max_regex_bytes = 100'000;

/// The configured filters of each stage, or its own range where none are configured.
std::vector<std::string> filters_of(const std::string& stage, const config::resolved& config) {
  const std::string own = profilers::ncu_range_filter({stage, config.text("workload.nvtx_domain")});
  const std::vector<std::string> configured = config.list("ncu.nvtx_include");
  if (configured.empty()) return {own};
  std::vector<std::string> filters;
  for (const std::string& expression : configured) {
    if (expression.starts_with(own)) filters.push_back(expression);
  }
  return filters;
}

void require_filters_of_stages(const config::resolved& config) {
  const std::vector<std::string> stages = config.list("workload.stages");
  for (const std::string& expression : config.list("ncu.nvtx_include")) {
    const bool is_of_a_stage = std::any_of(stages.begin(), stages.end(), [&](const std::string& stage) {
      return expression.starts_with(
          profilers::ncu_range_filter({stage, config.text("workload.nvtx_domain")}));
    });
    if (is_of_a_stage) continue;
    throw core::bad_input(
        fmt::format(
            "ncu.nvtx_include '{}' begins with the range of no stage, so nothing could be said of a stage",
            expression),
        fmt::format("begin it with the filter of one of workload.stages, as {}",
                    profilers::ncu_range_filter({stages.front(), config.text("workload.nvtx_domain")})));
  }
}

/// Leaves in the selection what has none of these names.
void leave_out(const std::set<std::string>& names, analysis::kernel_selection& selection) {
  analysis::kernel_selection left = selection;
  left.groups.clear();
  left.stage_of_group.clear();
  left.selected_ns = 0;
  for (std::size_t i = 0; i < selection.groups.size(); ++i) {
    if (names.contains(selection.groups[i].kernel_name)) continue;
    left.groups.push_back(selection.groups[i]);
    if (!selection.stage_of_group.empty()) left.stage_of_group.push_back(selection.stage_of_group[i]);
    left.selected_ns += selection.groups[i].cost_ns();
  }
  selection = std::move(left);
}

/// The selected kernels by the names that ncu is to look for. Kernels whose names find no room leave the
/// selection: ncu skips and counts only launches that its filter lets through, and so must the windows.
void name_kernels(analysis::kernel_selection& selection, const analysis::launch_order& order,
                  profilers::ncu_filter& filter, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const core::kernel_group& group : selection.groups) {
    if (std::find(names.begin(), names.end(), group.kernel_name) == names.end())
      names.push_back(group.kernel_name);
  }
  const analysis::kernel_spellings spelled = analysis::spellings_of(names, order);
  filter.base =
      spelled.are_mangled ? profilers::kernel_name_base::mangled : profilers::kernel_name_base::demangled;
  std::size_t bytes = 0;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::vector<std::string>& spellings =
        spelled.by_kernel[static_cast<std::size_t>(name - names.begin())];
    for (const std::string& spelling : spellings) bytes += core::escape_regex(spelling).size() + 1;
    if (bytes > max_regex_bytes) {
      notes.push_back(
          fmt::format("{}: kernel names too long for one command: {} and smaller ones were left out",
                      selection.stage, core::shorten_middle(*name, 80)));
      leave_out(std::set<std::string>(name, names.end()), selection);
      return;
    }
    filter.kernel_names.insert(filter.kernel_names.end(), spellings.begin(), spellings.end());
  }
}

/// ncu finds a launch by counting those before it, which works with kernels that are launched as often at
/// every start. Those that are not stay uncounted, unless they are all that there is.
void leave_out_tuned(const analysis::launch_order& order, analysis::kernel_selection& selection,
                     std::vector<std::string>& notes) {
  std::set<std::string> tuned;
  std::set<std::string> others;
  for (const core::kernel_group& group : selection.groups)
    (order.tuned_kernels.contains(group.kernel_name) ? tuned : others).insert(group.kernel_name);
  if (tuned.empty() || others.empty()) return;
  std::vector<std::string> shown;
  for (const std::string& name : tuned) shown.push_back(core::shorten_middle(name, 80));
  notes.push_back(fmt::format(
      "not counted: {}: the program launches {} in its first step far more often than later, as a compiler "
      "does that tunes, and another number of times at each start",
      fmt::join(shown, ", "), tuned.size() == 1 ? "it" : "them"));
  leave_out(tuned, selection);
}

std::string session_name(const std::string& stage, std::size_t window) {
  std::string name = stage;
  // A dot might pass for a file's ending.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '.'; }, '_');
  return window == 0 ? name : fmt::format("{}-{}", name, window + 1);
}

const analysis::stage_figures* figures_of(const std::string& stage, const analysis::run_figures& figures) {
  for (const analysis::stage_figures& candidate : figures.stages) {
    if (candidate.bare.name == stage) return &candidate;
  }
  return nullptr;
}

/// Why the timeline gives no kernels to choose from; empty: it does.
std::string why_unseeded(const analysis::stage_figures* figures) {
  if (figures == nullptr) return "the timeline does not have it";
  if (!figures->traced) return figures->traced.reason();
  if (figures->traced->kernel_groups.empty()) {
    return figures->traced->kernel_ns ? "the timeline has no kernels in it"
                                      : figures->traced->kernel_ns.reason();
  }
  return "";
}

/// The stage's kernels to count, its windows still to be found; or why there is nothing to choose from.
analysis::planned_stage select_of(const std::string& stage, const analysis::run_figures& figures,
                                  const analysis::selection_limits& limits) {
  analysis::planned_stage planned;
  planned.selection.stage = stage;
  const analysis::stage_figures* const traced = figures_of(stage, figures);
  planned.seeding_reason = why_unseeded(traced);
  if (planned.seeding_reason.empty())
    planned.selection = analysis::select_kernels(stage, traced->traced->kernel_groups, limits);
  return planned;
}

/// ncu.* for windows that share ncu.max_launches among `parts`.
analysis::plan_limits limits_of(const config::resolved& config, std::size_t parts) {
  analysis::plan_limits limits;
  limits.launches_per_kernel = config.integer("ncu.launches_per_kernel");
  limits.windows = config.integer("ncu.windows");
  limits.launches =
      std::max<std::int64_t>(1, config.integer("ncu.max_launches") / static_cast<std::int64_t>(parts));
  return limits;
}

/// A stage that comes a hundred times shall not push another's kernels out: each counts by its share of its
/// own stage.
std::int64_t per_billion(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns <= 0 ? 0 : std::llround(1e9 * static_cast<double>(part_ns) / static_cast<double>(whole_ns));
}

/// Where ncu counts in a program that it starts once: between which ranges, by their names in the trace, and
/// the filters that say so.
struct counted_ranges {
  std::vector<std::string> names{};
  std::vector<std::string> filters{};
};

/// An adapter's ranges are known by name and domain, and a program that it looks into may launch the same
/// kernels between its steps, not always as often: they would shift the window.
std::optional<counted_ranges> ranges_of(const std::vector<std::string>& stages,
                                        const config::resolved& config) {
  if (!config::has_adapter(config)) return std::nullopt;
  counted_ranges ranges;
  for (const analysis::stage_rule& rule : runs::stage_rules_of(config)) {
    if (std::find(stages.begin(), stages.end(), rule.name) == stages.end()) continue;
    if (!parsers::is_adapter_stage(rule.range) || !rule.domain) return std::nullopt;
    // What steps make up is found in the trace.
    const bool is_made_of_steps = rule.range == core::decode_all_stage;
    const std::string range = is_made_of_steps ? core::decode_step_range : rule.range;
    ranges.names.push_back(is_made_of_steps ? range : rule.name);
    ranges.filters.push_back(profilers::ncu_range_filter({range, *rule.domain}));
  }
  return ranges.names.empty() ? std::nullopt : std::optional(ranges);
}

/// A session for each window of the whole program: ncu writes the ranges around each launch down all the
/// same, by which launches find their stage. A program that starts slowly is started as rarely as possible.
void plan_whole_program(const config::resolved& config, const analysis::run_facts& facts,
                        const analysis::run_figures& figures, counter_plan& plan) {
  analysis::kernel_selection all;
  all.stage = "the whole program";
  std::string unseeded;
  for (const std::string& stage : runs::stages_gate_first(config)) {
    const std::vector<std::string>& seen = facts.bare.stages;  // an adapter has stages that a program lacks
    if (std::find(seen.begin(), seen.end(), stage) == seen.end()) continue;
    analysis::planned_stage planned = select_of(stage, figures, plan.selection);
    if (planned.seeding_reason.empty()) {
      for (core::kernel_group group : planned.selection.groups) {
        group.exclusive_ns = per_billion(group.cost_ns(), planned.selection.stage_ns);
        all.groups.push_back(std::move(group));
        all.stage_of_group.push_back(plan.stages.size());
      }
    } else {
      unseeded = fmt::format("{}: {}", stage, planned.seeding_reason);
    }
    plan.stages.push_back(std::move(planned));
  }
  profilers::ncu_filter filter;
  std::vector<analysis::launch_window> windows;
  if (!all.groups.empty()) {
    const std::optional<counted_ranges> ranges = ranges_of(facts.bare.stages, config);
    const analysis::launch_order order = analysis::order_of_program(
        facts.captures, ranges ? ranges->names : facts.bare.stages, facts.nvtx_domain,
        ranges ? analysis::counted_launches::inside_ranges : analysis::counted_launches::all);
    if (ranges) filter.nvtx_include = ranges->filters;
    leave_out_tuned(order, all, plan.notes);
    name_kernels(all, order, filter, plan.notes);
    windows = analysis::plan_windows(all, order, limits_of(config, 1));
  }
  if (windows.empty()) {
    filter = {};
    windows = {{0, config.integer("ncu.max_launches")}};
    plan.notes.push_back(fmt::format("the first {} launches of the program were counted{}{}",
                                     windows.front().count, unseeded.empty() ? "" : ", since ", unseeded));
  }
  for (analysis::planned_stage& planned : plan.stages) planned.windows = windows;
  for (std::size_t window = 0; window < windows.size(); ++window) {
    filter.skip = windows[window].skip;
    filter.count = windows[window].count;
    plan.sessions.push_back({window == 0 ? "" : session_name("program", window), all.stage, filter});
  }
}

}  // namespace

counter_plan plan_counters(const config::resolved& config, const analysis::run_facts& facts,
                           const analysis::run_figures& figures) {
  require_filters_of_stages(config);
  counter_plan plan;
  plan.selection = {facts.top_n_kernels, config.number("run.top_kernels_share_ratio")};
  if (!config.boolean("ncu.gating_nvtx")) {
    plan_whole_program(config, facts, figures, plan);
    return plan;
  }
  const std::vector<std::string> stages = runs::stages_gate_first(config);
  const analysis::plan_limits limits = limits_of(config, stages.size());
  for (const std::string& stage : stages) {
    profilers::ncu_filter filter;
    filter.nvtx_include = filters_of(stage, config);
    if (filter.nvtx_include.empty()) {
      plan.notes.push_back(
          fmt::format("{}: no counters, since ncu.nvtx_include names other stages only", stage));
      continue;
    }
    analysis::planned_stage planned = select_of(stage, figures, plan.selection);
    if (planned.seeding_reason.empty()) {
      const analysis::launch_order order =
          analysis::order_of_launches(facts.captures, stage, facts.nvtx_domain);
      name_kernels(planned.selection, order, filter, plan.notes);
      planned.windows = analysis::plan_windows(planned.selection, order, limits);
      if (planned.windows.empty()) {
        planned.seeding_reason = planned.selection.groups.empty()
                                     ? "the names of its kernels are too long for one command"
                                     : "the timeline's launches of it are in no order";
      }
    }
    if (planned.windows.empty()) {
      filter.kernel_names.clear();
      planned.windows = {{0, std::max<std::int64_t>(1, limits.launches / limits.windows)}};
      plan.notes.push_back(
          fmt::format("{}: its kernels were not chosen by their time, so its first {} launches were "
                      "counted: {}",
                      stage, planned.windows.front().count, planned.seeding_reason));
    }
    for (std::size_t window = 0; window < planned.windows.size(); ++window) {
      filter.skip = planned.windows[window].skip;
      filter.count = planned.windows[window].count;
      plan.sessions.push_back({plan.sessions.empty() ? "" : session_name(stage, window), stage, filter});
    }
    plan.stages.push_back(std::move(planned));
  }
  return plan;
}

memory_plan plan_memory(const config::resolved& config, const std::optional<core::workload_result>& bare,
                        const std::optional<std::int64_t>& gpu_bytes) {
  memory_plan plan;
  if (!bare || !gpu_bytes || *gpu_bytes <= 0) return plan;
  const double cache_bytes = static_cast<double>(bare->kv_cache_bytes.value_or(0));
  const double fixed_bytes = static_cast<double>(bare->weight_bytes.value_or(0)) +
                             static_cast<double>(bare->scratch_bytes.value_or(0));
  const double bytes = fixed_bytes + cache_bytes > 0
                           ? fixed_bytes + cache_bytes
                           : static_cast<double>(bare->memory_peak_bytes.value_or(0));
  const double ratio = bytes / static_cast<double>(*gpu_bytes);
  if (ratio <= most_memory_ratio) return plan;
  const std::string fill = fmt::format("the workload fills {:.0f} % of the GPU's {}", ratio * 100,
                                       core::format_bytes(static_cast<double>(*gpu_bytes)));
  if (!config.is_null("ncu.reduced_prompt_tokens") && !config.is_null("workload.prompt_tokens") &&
      !config.is_null("workload.decode_tokens")) {
    const std::int64_t decode = config.integer("workload.decode_tokens");
    const std::int64_t whole = config.integer("workload.prompt_tokens");
    const std::int64_t reduced = std::min(whole, config.integer("ncu.reduced_prompt_tokens"));
    const double reduced_bytes = fixed_bytes + cache_bytes * static_cast<double>(reduced + decode) /
                                                   static_cast<double>(whole + decode);
    plan.prompt_tokens = reduced;
    plan.note = fmt::format(
        "{}; counters were taken with a prompt of {} tokens instead of {}, about {:.0f} %: kernels whose "
        "grid depends "
        "on the prompt differ from the timeline's",
        fill, reduced, whole, reduced_bytes / static_cast<double>(*gpu_bytes) * 100);
    if (reduced_bytes / static_cast<double>(*gpu_bytes) <= most_memory_ratio) return plan;
    plan.note += "; that is still more than 45 %, so each launch takes seconds to save and restore";
    return plan;
  }
  plan.note = fmt::format(
      "{}, more than the 45 % up to which ncu can save and restore it there: expect some 12 s a launch (0.5 "
      "s below); "
      "ncu.reduced_prompt_tokens, a smaller workload.batch or ncu.max_launches bring it down",
      fill);
  return plan;
}

std::optional<std::int64_t> gpu_memory_bytes(const std::string& env_json) {
  const nlohmann::json environment = core::parse_json(env_json);
  const nlohmann::json::json_pointer choice("/gpu_at_start/chosen_index");
  const bool is_chosen =
      environment.is_object() && environment.contains(choice) && environment[choice].is_number_unsigned();
  const nlohmann::json::json_pointer place(
      fmt::format("/gpu_at_start/devices/{}/memory_total_bytes",
                  is_chosen ? environment[choice].get<std::uint64_t>() : 0));
  if (!environment.is_object() || !environment.contains(place)) return std::nullopt;
  const nlohmann::json& bytes = environment[place];
  return bytes.is_number_integer() ? std::optional(bytes.get<std::int64_t>()) : std::nullopt;
}

}  // namespace profgate::cli
