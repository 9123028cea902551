#include "bare_run_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/texts.h"
#include "artifacts/files.h"
#include "bundle.h"
#include "core/stage_names.h"
#include "parsers/adapter_report.h"
#include "parsers/workload_result.h"
#include "runs/model_request.h"
#include "runs/process_samples.h"
#include "runs/run_settings.h"
#include "text_lengths.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// As a result names them; empty where no adapter saw a prefill.
std::map<std::string, std::int64_t> named(const std::optional<parsers::generated_tokens>& seen) {
  if (!seen) return {};
  std::map<std::string, std::int64_t> tokens = {{"batch", seen->batch}, {"prompt", seen->prompt}};
  if (seen->decoded > 0) tokens["decode"] = seen->decoded;  // an encoder makes none
  if (seen->chunks > 1) tokens["chunks"] = seen->chunks;    // of a prompt
  return tokens;
}

/// Of texts of which two tokens were seen to come, where nobody counted the steps.
std::vector<std::int64_t> steps_by_tokens(const std::vector<std::int64_t>& further_tokens) {
  std::vector<std::int64_t> steps;
  for (const std::int64_t further : further_tokens) steps.push_back(further + 1);
  return steps;
}

/// What a step noted in words that begin so; null: nothing.
const std::string* note_beginning(const std::optional<artifacts::step_status>& step, std::string_view words) {
  if (!step) return nullptr;
  const auto note = std::find_if(step->notes.begin(), step->notes.end(),
                                 [&](const std::string& each) { return each.starts_with(words); });
  return note == step->notes.end() ? nullptr : &*note;
}

/// Why the model's work was not counted, in the words of the step that tried; empty: it did not.
std::string count_failure_of(const std::optional<artifacts::step_status>& stage1) {
  const std::string* const note = note_beginning(stage1, not_counted_note);
  return note == nullptr ? "" : note->substr(std::string_view(not_counted_note).size());
}

/// How the stages of a program were timed that tells no times by a result.
std::string timed_words(const analysis::bare_facts& bare, bool has_adapter) {
  if (bare.stage_samples_ns.empty()) return "only the whole process was timed";
  const auto all_from = [&](std::initializer_list<std::string_view> sources) {
    return std::all_of(bare.stage_sources.begin(), bare.stage_sources.end(), [&](const auto& each) {
      return std::find(sources.begin(), sources.end(), each.second) != sources.end();
    });
  };
  if (has_adapter && all_from({analysis::adapter_ranges_source, parsers::device_samples_source}))
    return "ranges of the PyTorch adapter were timed";
  if (all_from({analysis::synchronised_ranges_source})) return "its NVTX ranges were timed";
  std::set<std::string> sources;
  for (const auto& [stage, source] : bare.stage_sources) sources.insert(source);
  return fmt::format("the times are of {}", fmt::join(sources, " and "));
}

void take_samples(process_samples samples, analysis::bare_facts& bare) {
  bare.process_wall_ns = std::move(samples.wall_ns);
  bare.stage_samples_ns = std::move(samples.stages_ns);
  bare.stage_processes = std::move(samples.stage_processes);
  bare.stage_sources = std::move(samples.stage_sources);
  bare.range_cost_ns = samples.range_cost_ns;
  bare.figures = std::move(samples.figures);
  bare.first_token_ns = std::move(samples.first_token_ns);
  bare.first_token_absent_reason = std::move(samples.first_token_absent_reason);
  bare.further_token_ns = std::move(samples.further_token_ns);
  bare.further_tokens = std::move(samples.further_tokens);
  bare.decode_steps = std::move(samples.decode_steps);
}

/// What the program was seen to be fed and to make, and the work that its model does with it.
void take_work(const bare_run_files& files, const std::vector<parsers::adapter_report>& reports,
               analysis::bare_facts& bare) {
  const std::optional<parsers::generated_tokens> seen = parsers::tokens_of(reports, bare.decode_steps);
  bare.seen_tokens = named(seen);
  bare.is_mean_decode = seen && seen->is_mean;
  bare.without_cache = parsers::steps_without_cache_of(reports);
  bare.how_to_tell_work =
      how_to_tell_work(files.config, model_request_of(files.config, reports, bare.decode_steps),
                       count_failure_of(files.stage1));
  const fs::path counted = files.run_dir / "stage1" / counted_work_file;
  if (!artifacts::file_exists(counted)) return;
  bare.counted = parsers::parse_workload_result(artifacts::read_file(counted), counted.string());
  // The counter is told a checkpoint's, whatever the program filled its model with.
  if (files.config.is_null("model.checkpoint")) bare.counted->model_weights.clear();
  // A prefill is a chunk, and what is counted is the whole prompt's.
  if (bare.seen_tokens.contains("chunks")) {
    bare.counted->work.erase(core::prefill_stage);
    bare.how_to_tell_work = "let it prefill whole prompts: a chunk's work is not counted";
  }
  if (bare.without_cache)
    bare.counted->work_assumptions.emplace_back(
        "decode steps are counted as with a KV cache; what this program computes again is not counted");
}

/// Two models decode: nobody knows whose tokens are the program's.
void withhold_tokens(const std::string& why, analysis::bare_facts& bare) {
  bare.decoding_in_turns = why;
  bare.seen_tokens.clear();
  bare.counted.reset();
  bare.how_to_tell_work = "let it decode with one model alone: " + why;
  bare.first_token_ns.clear();
  bare.further_token_ns.clear();
  bare.further_tokens.clear();
  bare.decode_steps.clear();
  bare.without_cache.reset();
}

/// Its texts differ: no one length is that of its median text.
void withhold_lengths(const std::string& lengths, analysis::bare_facts& bare) {
  bare.lengths_that_differ = lengths;
  for (const char* kind : {"prompt", "decode", "chunks"}) bare.seen_tokens.erase(kind);
  bare.counted.reset();
  bare.how_to_tell_work = fmt::format("let it run texts of one length: these were {}", lengths);
}

/// What an adapter saw of the program's texts decides which of its times stand for them.
void choose_texts(const std::vector<parsers::adapter_report>& reports,
                  const std::vector<std::int64_t>& before_prefill_ns, analysis::bare_facts& bare) {
  bare.has_unnamed_warm_up = parsers::have_one_shape(reports);
  if (bare.has_unnamed_warm_up) analysis::leave_out_warm_up(bare);
  const bool is_forward_of_host = !bare.stage_sources.contains(core::forward_stage);
  bare.ttft_leaves_out = forwards_before(reports, before_prefill_ns, is_forward_of_host);
  const std::string in_turns = models_in_turns(reports);
  if (!in_turns.empty()) withhold_tokens(in_turns, bare);
  const std::string lengths =
      in_turns.empty()
          ? lengths_that_differ(
                reports, bare.decode_steps.empty() ? steps_by_tokens(bare.further_tokens) : bare.decode_steps)
          : "";
  if (lengths.empty()) {
    analysis::leave_out_other_lengths(bare);
  } else {
    withhold_lengths(lengths, bare);
  }
  if (bare.process_wall_ns.empty()) return;
  // A decoder has other stages than an encoder: the adapter's are those that it saw.
  std::erase_if(bare.stages, [&](const std::string& stage) {
    return stage != core::whole_process_stage && !bare.stage_samples_ns.contains(stage);
  });
  if (bare.stages.empty()) bare.stages = {core::whole_process_stage};
}

}  // namespace

analysis::bare_facts read_bare_run(const bare_run_files& files) {
  analysis::bare_facts bare;
  bare.stages = files.config.list("workload.stages");
  bare.peaks = peaks_of(files.config);
  const fs::path folder = files.run_dir / "stage1";
  const fs::path result = folder / "result.json";
  if (artifacts::file_exists(result)) {
    bare.bench = parsers::parse_workload_result(artifacts::read_file(result), result.string());
    return bare;
  }
  process_samples samples = read_process_samples(folder / "process_samples.json");
  const std::vector<std::int64_t> before_prefill_ns = std::move(samples.before_prefill_ns);
  take_samples(std::move(samples), bare);
  const std::vector<parsers::adapter_report> reports =
      parsers::read_adapter_reports(plain_files(files_like(files.run_dir, "stage1/pytorch.*.json")).paths());
  take_work(files, reports, bare);
  bare.has_adapter = config::has_adapter(files.config);
  if (bare.has_adapter) choose_texts(reports, before_prefill_ns, bare);
  bare.imports_torch = note_beginning(files.timeline, parsers::torch_without_adapter_note) != nullptr;
  if (const std::string* const note = note_beginning(files.stage1, parsers::silent_adapter_note))
    bare.adapter_silence = *note;
  for (const std::string& stage : device_timed_stages(files.config)) {
    if (bare.stage_samples_ns.contains(stage))
      bare.stage_sources.try_emplace(stage, analysis::adapter_ranges_source);
  }
  bare.bench_absent_reason =
      bare.process_wall_ns.empty()
          ? files.why_nothing
          : fmt::format("the program writes no result JSON; {}", timed_words(bare, bare.has_adapter));
  if (files.stage1) {
    bare.peak_rss_bytes = files.stage1->peak_rss_bytes;
    bare.is_python = files.stage1->tool.starts_with("python");
  }
  return bare;
}

}  // namespace profgate::runs
