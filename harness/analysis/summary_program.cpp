#include "summary_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/range_names.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// The kinds of work and the kernel that matter most: "; of its kernels' time gemm 33 %, copy 20 %, …".
std::string largest_parts(const run_figures& figures, const traced_stage& stage) {
  constexpr std::size_t kinds_shown = 3;
  if (stage.kernels.empty()) return "";
  std::string words;
  for (std::size_t i = 0; i < std::min(kinds_shown, stage.categories.size()); ++i) {
    const category_figures& kind = stage.categories[i];
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", kind.category,
                         core::format_percent(kind.share_ratio));
  }
  const core::kernel_record largest = largest_kernels(stage, 1).front();
  const measured<double> share = kernel_share(stage, largest);
  return fmt::format("; of its kernels' time {}{}largest {} {}", words, words.empty() ? "" : ", ",
                     figures.kernel_names.of(largest.kernel_name), share ? core::format_percent(*share) : "");
}

std::string idle_words(const idle_figures& idle) {
  if (!idle.idle_absent_reason.empty())
    return fmt::format("the GPU idles during less than {} of it",
                       core::format_percent(idle.idle_at_most_ns / idle.stage_ns));
  const idle_part cause = idle_parts(idle).front();
  return fmt::format("the GPU idles during {} of it{}", core::format_percent(idle.idle_ratio),
                     idle.idle_ns > 0 ? fmt::format(", most of that {}", cause.clause) : "");
}

/// What the adapter takes for no part of a generation, or sees to be none.
bool is_forward(const run_facts& facts, const std::string& stage) {
  if (!facts.bare.has_adapter) return false;
  return stage == core::forward_stage ||
         (stage == core::prefill_stage && is_seen_without_decoding(facts.bare));
}

/// "a step", "a forward", or of a stage that is made of steps "for 32 decode steps".
std::string unit_of(const run_facts& facts, const stage_figures& stage) {
  if (is_forward(facts, stage.bare.name)) return "a forward";
  const measured<traced_stage>& traced = stage.traced;
  const std::map<std::string, std::int64_t>& counts = token_counts(facts.bare);
  if (stage.bare.name == core::prefill_stage && counts.contains("chunks"))
    return fmt::format("a chunk, {} chunks a text", counts.at("chunks"));
  const bool are_counted = stage.bare.name == core::decode_all_stage && !facts.bare.decode_steps.empty();
  if (are_counted && counts.contains("decode"))
    return fmt::format("for {} decode steps", counts.at("decode"));
  if (!traced || !traced->steps || traced->ranges == 0) return "a step";
  const bool are_alike = facts.bare.lengths_that_differ.empty() && traced->steps->calls % traced->ranges == 0;
  if (!are_alike) return "for its decode steps";
  return fmt::format("for {} decode steps", traced->steps->calls / traced->ranges);
}

/// One value is no median.
std::string median_of(std::int64_t count) {
  return count == 1 ? "n = 1" : fmt::format("median of {}", count);
}

std::string step_sentence(const run_facts& facts, const run_figures& figures, const stage_figures& stage) {
  const step_figures& step = *stage.step;
  std::string text = fmt::format("{}: {} {} ({}; {})", stage.bare.name, core::format_duration(step.median_ns),
                                 unit_of(facts, stage), median_of(step.occurrences), step.source);
  if (step.launches) text += fmt::format(", {} launches", plain_number(*step.launches));
  if (stage.idle) text += "; " + idle_words(*stage.idle);
  if (is_time_of_host(figures, stage))
    text += fmt::format("; the time is the host's: {} of its kernels' time lies after its range",
                        core::format_percent(*late_ratio(*stage.traced)));
  return text + (stage.traced ? largest_parts(figures, *stage.traced) : "") + ".";
}

/// How long it lives, and apart from that how long it uses its device.
void add_process(const run_figures& figures, const stage_figures& stage, std::vector<std::string>& summary) {
  if (stage.bare.time_ns)
    summary.push_back(fmt::format("The {} takes {} from its start to its end ({}).",
                                  stage.bare.time_source == whole_client_source ? "client" : "process",
                                  core::format_duration(stage.step->median_ns),
                                  median_of(stage.step->occurrences)));
  if (!stage.traced || !stage.idle) return;
  const idle_figures& idle = *stage.idle;
  const std::int64_t processes = stage.traced->occurrences;
  summary.push_back(fmt::format(
      "{} the GPU for {}, from the first thing asked of it to the end of the last, with {} launches; {}{}.",
      processes == 1 ? "It uses" : fmt::format("Each of {} processes uses", processes),
      core::format_duration(idle.stage_ns), plain_number(*stage.step->launches), idle_words(idle),
      largest_parts(figures, *stage.traced)));
}

/// Entries of workload.stages for its ranges, those that take longest first.
std::vector<std::string> ranges_to_name(const measured<traced_stage>& stage) {
  constexpr std::size_t most = 4;
  constexpr std::size_t longest_bytes = 40;
  std::vector<std::string> names;
  if (!stage) return names;
  struct named_time {
    std::string entry;
    std::int64_t total_ns = 0;
    std::int64_t calls = 0;
    std::set<std::string> names{};
  };
  std::map<std::string, named_time> by_expression;  // steps that are numbered are one stage
  for (const operator_figures& range : stage->operators) {
    const std::string& name = range.record.op_name;
    if (!range.record.total_ns || name.size() > longest_bytes) continue;
    named_time& all = by_expression[with_any_number(name)];
    all.total_ns += *range.record.total_ns;
    all.calls += range.record.calls;
    all.names.insert(name);
  }
  std::vector<named_time> ranges;
  for (auto& [expression, all] : by_expression) {
    all.entry = stage_entry(all.names.size() == 1 ? *all.names.begin() : expression);
    if (!all.entry.empty()) ranges.push_back(std::move(all));
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  // One around everything tells no more than the process.
  const double most_of_it_ns = 0.9 * static_cast<double>(stage->duration_ns);
  while (ranges.size() > 1 && ranges.front().calls <= 1 &&
         static_cast<double>(ranges.front().total_ns) > most_of_it_ns)
    ranges.erase(ranges.begin());
  // The others lie inside of steps that are all there is.
  const bool are_steps_all = !ranges.empty() && static_cast<double>(ranges.front().total_ns) > most_of_it_ns;
  const std::size_t count = are_steps_all ? 1 : std::min(most, ranges.size());
  for (std::size_t i = 0; i < count; ++i) names.push_back(ranges[i].entry);
  return names;
}

void add_way_to_stages(const run_facts& facts, const stage_figures& process,
                       std::vector<std::string>& summary) {
  const bare_facts& bare = facts.bare;
  if (!bare.adapter_silence.empty()) {
    summary.push_back(fmt::format("To see its steps, let the adapter be seen: {}.", bare.adapter_silence));
    return;
  }
  const std::vector<std::string> names = ranges_to_name(process.traced);
  const bool is_server = process.bare.time_source == whole_client_source;
  const std::string by_ranges =
      names.empty() ? fmt::format("put NVTX ranges around them{} ({}) and set workload.stages=[decode]",
                                  is_server ? " in the server" : "",
                                  bare.is_python || bare.imports_torch
                                      ? "of the package nvtx: with nvtx.annotate(\"decode\"):"
                                      : "an example in C++: docs/own-program.md")
                    : fmt::format("name their NVTX ranges: workload.stages=[{}]", fmt::join(names, ", "));
  // Whether a Python's script imports torch is not known where no timeline was recorded.
  const std::string by_adapter =
      bare.has_adapter ? ""
      : bare.imports_torch
          ? "add --adapter pytorch before the -- (of a pair: ADAPTER pytorch), which names stages "
            "and layers of a PyTorch program without an edit; or "
      : bare.is_python && names.empty()
          ? "add --adapter pytorch before the -- if it uses PyTorch (it needs no edit), else "
          : "";
  summary.push_back(fmt::format("To see {}, {}{}.",
                                is_server ? "the server's steps" : "its steps apart from its start",
                                by_adapter, by_ranges));
}

}  // namespace

void add_program_summary(const run_facts& facts, const run_figures& figures,
                         std::vector<std::string>& summary) {
  std::vector<const stage_figures*> stages;
  for (const stage_figures& stage : figures.stages)
    if (stage.step) stages.push_back(&stage);
  const bool do_lengths_differ =
      !facts.bare.lengths_that_differ.empty() || !facts.bare.decoding_in_turns.empty();
  std::stable_sort(stages.begin(), stages.end(), [&](const stage_figures* a, const stage_figures* b) {
    const auto total_ns = [&](const step_figures& step) {
      return (do_lengths_differ ? step.mean_ns : step.median_ns) * static_cast<double>(step.occurrences);
    };
    return total_ns(*a->step) > total_ns(*b->step);
  });
  const stage_figures* process = nullptr;
  for (const stage_figures* stage : stages) {
    if (stage->bare.name != core::whole_process_stage) {
      summary.push_back(step_sentence(facts, figures, *stage));
    } else {
      process = stage;
      add_process(figures, *stage, summary);
    }
  }
  if (process != nullptr && stages.size() == 1) add_way_to_stages(facts, *process, summary);
}

}  // namespace profgate::analysis
