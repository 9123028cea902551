#include "runs/process_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "analysis/stage_windows.h"
#include "artifacts/files.h"
#include "core/json.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "parsers/adapter_report.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

std::vector<std::int64_t> durations_of(const core::json_cursor& list) {
  std::vector<std::int64_t> durations_ns;
  for (const core::json_cursor& value : list.items())
    durations_ns.push_back(value.integer(0, core::longest_plausible_ns));
  return durations_ns;
}

constexpr std::int64_t most_processes = 1 << 22;  ///< Linux has no more

/// How many decode steps begin in each window, on its thread.
std::vector<std::int64_t> steps_in(const std::vector<analysis::stage_window>& windows,
                                   const core::timeline& timeline, std::string_view domain) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> starts_ns;  // by thread
  for (const core::range_record& range : timeline.ranges)
    if (range.name == core::decode_step_range && range.domain == domain)
      starts_ns[{range.process_id, range.thread_id}].push_back(range.start_ns);
  for (auto& [thread, of_thread_ns] : starts_ns) std::sort(of_thread_ns.begin(), of_thread_ns.end());
  std::vector<std::int64_t> steps;
  for (const analysis::stage_window& window : windows) {
    const std::vector<std::int64_t>& of_thread_ns = starts_ns[{window.process_id, window.thread_id}];
    steps.push_back(std::lower_bound(of_thread_ns.begin(), of_thread_ns.end(), window.end_ns) -
                    std::lower_bound(of_thread_ns.begin(), of_thread_ns.end(), window.start_ns));
  }
  return steps;
}

bool is_of_tokens(std::string_view group) {
  return group == "tokens" || group.ends_with("_tokens");
}

}  // namespace

process_samples read_process_samples(const std::filesystem::path& file) {
  if (!artifacts::file_exists(file)) return {};
  const core::json_document document(artifacts::read_file(file), file.string(), "run the pair again");
  process_samples samples{durations_of(document.root().require("wall_ns"))};
  if (const auto stages = document.root().find("stages_ns")) {
    for (const auto& [stage, list] : stages->members()) samples.stages_ns[stage] = durations_of(list);
  }
  if (const auto stages = document.root().find("stage_processes")) {
    for (const auto& [stage, list] : stages->members()) {
      for (const core::json_cursor& process : list.items())
        samples.stage_processes[stage].push_back(
            static_cast<std::uint32_t>(process.integer(0, most_processes)));
    }
  }
  if (const auto sources = document.root().find("stage_sources")) {
    for (const auto& [stage, source] : sources->members()) samples.stage_sources[stage] = source.text();
  }
  if (const auto times = document.root().find("first_token_ns"))
    samples.first_token_ns = durations_of(*times);
  if (const auto times = document.root().find("before_prefill_ns"))
    samples.before_prefill_ns = durations_of(*times);
  if (const auto reason = document.root().find("first_token_absent_reason"))
    samples.first_token_absent_reason = reason->text();
  if (const auto times = document.root().find("further_token_ns"))
    samples.further_token_ns = durations_of(*times);
  if (const auto counts = document.root().find("further_tokens")) {
    for (const core::json_cursor& count : counts->items())
      samples.further_tokens.push_back(count.integer(1, core::longest_plausible_ns));
  }
  if (const auto counts = document.root().find("decode_steps")) {
    for (const core::json_cursor& count : counts->items())
      samples.decode_steps.push_back(count.integer(0, core::longest_plausible_ns));
  }
  if (const auto cost = document.root().find("range_cost_ns")) samples.range_cost_ns = cost->number();
  if (const auto figures = document.root().find("figures")) {
    for (const core::json_cursor& figure : figures->items()) {
      analysis::program_figure& told = samples.figures.emplace_back();
      told.name = figure.require("name").text();
      told.unit = figure.require("unit").text();
      told.source = figure.require("source").text();
      for (const core::json_cursor& value : figure.require("values").items())
        told.values.push_back(value.number());
    }
  }
  return samples;
}

void write_process_samples(const std::filesystem::path& file, const process_samples& samples) {
  nlohmann::ordered_json json = {{"schema_version", 1}, {"wall_ns", samples.wall_ns}};
  if (!samples.stages_ns.empty()) json["stages_ns"] = samples.stages_ns;
  for (const auto& [stage, processes] : samples.stage_processes) {
    if (std::any_of(processes.begin(), processes.end(), [](std::uint32_t process) { return process > 0; }))
      json["stage_processes"][stage] = processes;
  }
  if (!samples.stage_sources.empty()) json["stage_sources"] = samples.stage_sources;
  if (!samples.first_token_ns.empty()) json["first_token_ns"] = samples.first_token_ns;
  if (std::any_of(samples.before_prefill_ns.begin(), samples.before_prefill_ns.end(),
                  [](std::int64_t time_ns) { return time_ns > 0; }))
    json["before_prefill_ns"] = samples.before_prefill_ns;
  if (!samples.first_token_absent_reason.empty())
    json["first_token_absent_reason"] = samples.first_token_absent_reason;
  if (!samples.further_token_ns.empty()) json["further_token_ns"] = samples.further_token_ns;
  if (!samples.further_tokens.empty()) json["further_tokens"] = samples.further_tokens;
  if (!samples.decode_steps.empty()) json["decode_steps"] = samples.decode_steps;
  if (samples.range_cost_ns > 0) json["range_cost_ns"] = samples.range_cost_ns;
  for (const analysis::program_figure& figure : samples.figures) {
    json["figures"].push_back(
        {{"name", figure.name}, {"unit", figure.unit}, {"source", figure.source}, {"values", figure.values}});
  }
  artifacts::write_file_atomically(file, core::json_text(json));
}

range_samples sample_ranges(core::timeline timeline, const config::resolved& config) {
  const std::string domain = config.text("workload.nvtx_domain");
  const std::vector<std::string> stages = config.list("workload.stages");
  range_samples samples;
  samples.counts = analysis::name_stages(timeline, stage_rules_of(config), domain);
  std::map<std::uint32_t, std::uint32_t> numbers;  // of processes
  const std::vector<analysis::stage_window> windows = analysis::find_windows(timeline, stages, domain);
  for (const analysis::stage_window& window : windows) numbers[window.process_id] = 0;
  std::uint32_t next = 0;
  for (auto& [process, number] : numbers) number = next++;
  std::vector<analysis::stage_window> decoded;
  for (const analysis::stage_window& window : windows) {
    // The whole process is timed from outside, its start and its end included.
    if (stages[window.stage] == core::whole_process_stage) continue;
    samples.stages_ns[stages[window.stage]].push_back(window.end_ns - window.start_ns);
    samples.stage_processes[stages[window.stage]].push_back(numbers[window.process_id]);
    if (stages[window.stage] == core::decode_all_stage) decoded.push_back(window);
  }
  samples.decode_steps = steps_in(decoded, timeline, domain);
  std::set<std::string> timed;
  for (const auto& [stage, durations_ns] : samples.stages_ns) timed.insert(stage);
  if (lacks_stage(config, timed)) add_ranges(timeline, config, samples.seen_if_unfitted);
  return samples;
}

void add_stages(const range_samples& ranges, process_samples& samples) {
  std::uint32_t earlier_processes = 0;
  for (const auto& [stage, processes] : samples.stage_processes)
    for (const std::uint32_t process : processes)
      earlier_processes = std::max(earlier_processes, process + 1);
  for (const auto& [stage, durations_ns] : ranges.stages_ns) {
    if (samples.stage_sources.contains(stage)) continue;
    std::vector<std::int64_t>& all_ns = samples.stages_ns[stage];
    all_ns.insert(all_ns.end(), durations_ns.begin(), durations_ns.end());
    for (const std::uint32_t process : ranges.stage_processes.at(stage))
      samples.stage_processes[stage].push_back(earlier_processes + process);
  }
}

void add_counts(const range_samples& ranges, process_samples& samples) {
  const auto add = [&](const std::string& name, const char* unit, const char* source, double value) {
    auto figure = std::find_if(samples.figures.begin(), samples.figures.end(),
                               [&](const analysis::program_figure& each) { return each.name == name; });
    if (figure == samples.figures.end()) figure = samples.figures.insert(figure, {name, unit, source, {}});
    figure->values.push_back(value);
  };
  constexpr const char* names_source = "the names of its ranges";
  constexpr const char* rate_source = "the names of its ranges, over the time that they were open";
  for (const auto& [stage, groups] : ranges.counts) {
    const auto timed = ranges.stages_ns.find(stage);
    const double open_ns = timed == ranges.stages_ns.end()
                               ? 0.0
                               : std::accumulate(timed->second.begin(), timed->second.end(), 0.0);
    const auto kinds_of_tokens = std::count_if(groups.begin(), groups.end(), [](const auto& each) {
      return is_of_tokens(each.first) && each.second > 0;
    });
    for (const auto& [group, count] : groups) {
      const auto number = static_cast<double>(count);
      add(fmt::format("{}: {}", stage, group), "in all", names_source, number);
      if (!is_of_tokens(group) || count <= 0 || open_ns <= 0) continue;
      add(fmt::format("{}: {} a second", stage, group), "tokens/s", rate_source,
          number * core::ns_per_s / open_ns);
      if (kinds_of_tokens == 1)
        add(fmt::format("{}: time a token", stage), "ms", rate_source, open_ns / number / core::ns_per_ms);
    }
  }
}

void add_token_times(const core::timeline& timeline, process_samples& samples) {
  constexpr std::string_view prefill = core::prefill_stage;
  constexpr std::string_view step = core::decode_step_range;
  constexpr std::string_view chunk = parsers::later_chunk_range;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<core::range_record>> by_thread;
  for (const core::range_record& range : timeline.ranges) {
    const bool is_told = range.name == prefill || range.name == step || range.name == chunk ||
                         range.name == core::forward_stage;
    if (range.domain == core::llm_domain && range.end_ns && is_told)
      by_thread[{range.process_id, range.thread_id}].push_back(range);
  }
  for (auto& [thread, ranges] : by_thread) {
    std::stable_sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) {
      return std::pair(a.start_ns, a.name == chunk) < std::pair(b.start_ns, b.name == chunk);
    });
    std::vector<core::range_record> stages;  // a prompt's chunks are one prefill
    std::vector<std::int64_t> before_ns;     // of each of them, the forwards since the one before
    std::int64_t forwards_ns = 0;
    for (const core::range_record& range : ranges) {
      if (range.name == core::forward_stage) {
        forwards_ns += *range.end_ns - range.start_ns;
        continue;
      }
      if (range.name != chunk) {
        stages.push_back(range);
        before_ns.push_back(std::exchange(forwards_ns, 0));
        continue;
      }
      if (stages.size() > 1 && stages.back().name == prefill && stages[stages.size() - 2].name == prefill) {
        stages.pop_back();
        before_ns.pop_back();
      }
    }
    std::int64_t tokens = 0;  // of the text so far, beyond its first
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool is_followed = i + 1 < stages.size() && stages[i + 1].name == step;
      if (is_followed)
        (stages[i].name == prefill ? samples.first_token_ns : samples.further_token_ns)
            .push_back(stages[i + 1].start_ns - stages[i].start_ns);
      if (is_followed && stages[i].name == prefill) samples.before_prefill_ns.push_back(before_ns[i]);
      if (is_followed && stages[i].name == step) tokens += 1;
      if (!is_followed && tokens > 0) samples.further_tokens.push_back(std::exchange(tokens, 0));
    }
  }
}

}  // namespace profgate::runs
