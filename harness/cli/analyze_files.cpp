#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "analysis/profile.h"
#include "analysis/stage_windows.h"
#include "analysis/timeline_analysis.h"
#include "artifacts/files.h"
#include "commands.h"
#include "core/error.h"
#include "core/slips.h"
#include "core/stage_names.h"
#include "core/utc_time.h"
#include "installation.h"
#include "make_reports.h"
#include "out_folder.h"
#include "profilers/backends.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"
#include "runs/unfitted_stages.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// Settings for ranges of profgate's own, of an engine that keeps its contract or of the adapter, where
/// nobody said anything else about the program: its stages are known.
std::vector<std::string> settings_for_own_ranges(const std::vector<core::timeline>& timelines,
                                                 const std::vector<std::string>& overrides) {
  const auto is_about_program = [](const std::string& setting) { return setting.starts_with("workload"); };
  if (std::any_of(overrides.begin(), overrides.end(), is_about_program)) return {};
  std::set<std::string_view> own;
  for (const core::timeline& timeline : timelines)
    for (const core::range_record& range : timeline.ranges)
      if (range.domain == core::llm_domain) own.insert(range.name);
  if (!own.contains(core::prefill_stage)) return {};
  if (own.contains(core::decode_all_stage))
    return {"workload.stages=[prefill, decode_all]", "workload.nvtx_domain=LLM"};
  if (own.contains(core::decode_step_range)) return {"workload.adapter=pytorch"};
  return {};
}

config::resolved config_of(const analyze_files_options& options, const installation& parts,
                           const std::vector<core::timeline>& timelines) {
  config::request wanted;
  wanted.conf_dirs = {parts.conf_dir};
  wanted.project_dir = fs::current_path();
  wanted.runner = "program";
  wanted.pair_overrides = {"workload.device=cuda"};
  const std::vector<std::string> own = settings_for_own_ranges(timelines, options.overrides);
  if (!own.empty())
    print(
        "note: ranges as profgate's engine and adapter have them: {}; --set workload.stages=… names others\n",
        fmt::format("{}", fmt::join(own, " ")));
  wanted.pair_overrides.insert(wanted.pair_overrides.end(), own.begin(), own.end());
  wanted.command_line_overrides = options.overrides;
  return config::compose(wanted);
}

/// Nothing of somebody else's is replaced.
void require_new_folder(const fs::path& folder) {
  if (!fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return;
  throw core::bad_input(fmt::format("{} is there already and not empty", folder.string()),
                        "name a new folder for the reports");
}

/// As an entry of workload.stages, where its name is no stage's: of "model.layers.*.mlp", which stands for
/// all layers, {name: mlp, range: "model.layers.[0-9]+.mlp"}. Nothing of names that would have to be quoted.
std::optional<std::string> entry_by_expression(const std::string& range) {
  std::string name;
  std::string expression;
  for (std::size_t start = 0; start <= range.size();) {
    const std::size_t end = std::min(range.find('.', start), range.size());
    const std::string part = range.substr(start, end - start);
    const bool is_plain = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char one) {
      return std::isalnum(one) != 0 || one == '_' || one == '-';
    });
    if (!is_plain && part != "*") return std::nullopt;
    if (is_plain) name = part;
    expression += fmt::format("{}{}", start == 0 ? "" : ".", is_plain ? part : "[0-9]+");
    start = end + 1;
  }
  if (name.empty()) return std::nullopt;
  return fmt::format("{{name: {}, range: \"{}\"}}", name, expression);
}

/// Which of the ranges that cannot be typed as they are to show as an entry: one that ends like the stage
/// that was asked for, else the first that is called in every layer, else any.
std::optional<std::string> shown_entry(const std::vector<std::string>& ranges, const std::string& stage) {
  const auto rank = [&](const std::string& range) {
    return range.ends_with("." + stage) ? 2 : range.find('*') != std::string::npos ? 1 : 0;
  };
  std::optional<std::string> best;
  int best_rank = -1;
  for (const std::string& range : ranges) {
    if (rank(range) <= best_rank) continue;
    const std::optional<std::string> entry = entry_by_expression(range);
    if (!entry) continue;
    best = entry;
    best_rank = rank(range);
  }
  return best;
}

/// Stages that have an occurrence, and the names of all ranges.
runs::seen_stages seen_in(const std::vector<analysis::capture>& captures, const config::resolved& config) {
  runs::seen_stages seen;
  const std::vector<std::string> stages = config.list("workload.stages");
  for (const analysis::capture& one : captures) {
    runs::add_ranges(one.timeline, config, seen);
    for (const analysis::stage_window& window :
         analysis::find_windows(one.timeline, stages, config.text("workload.nvtx_domain")))
      seen.timed.insert(stages[window.stage]);
  }
  return seen;
}

/// A stage that was named by hand and is no range of any file is a slip; one that only some programs have may
/// well be absent.
void require_named_stages(const config::resolved& config, const runs::seen_stages& seen) {
  const std::string& origin = config.origin("workload.stages");
  if (origin == config::default_origin) return;
  std::vector<std::string> names;
  std::vector<std::string> by_expression;
  for (const std::string& name : seen.ranges)
    (config::can_name_stage(name) ? names : by_expression).push_back(name);
  for (const config::record& stage : config.records("workload.stages")) {
    const std::string& name = stage.at("name");
    const bool is_derived = name == core::whole_process_stage || name == core::decode_all_stage;
    if (stage.contains("range") || is_derived) continue;
    if (seen.opened.contains(name)) continue;
    const std::string has = !names.empty()          ? "; it has " + core::first_few(names)
                            : by_expression.empty() ? ", nor any other"
                                                    : ", nor any other whose name a stage can have";
    const auto meant = core::nearest(name, names);
    const auto entry = shown_entry(by_expression, name);
    throw core::bad_input(
        origin, 0, fmt::format("the timeline has no NVTX range '{}'{}", name, has),
        meant ? fmt::format("did you mean '{}'?", *meant)
              : fmt::format(
                    "name one of its ranges as stage{}, or leave workload.stages out: the whole process "
                    "is then one stage",
                    entry ? fmt::format(", or those of a module: {}", *entry) : ""));
  }
}

/// Those of the settings that the files have. A decoder has other stages than an encoder: of the adapter's,
/// which nobody named by hand, it is those that the adapter saw.
std::vector<std::string> stages_in(const std::vector<analysis::capture>& captures,
                                   const config::resolved& config) {
  std::vector<std::string> stages = config.list("workload.stages");
  if (captures.empty()) return stages;
  const runs::seen_stages seen = seen_in(captures, config);
  const auto is_there = [&](const std::string& stage) { return seen.timed.contains(stage); };
  const bool has_adapter = config::has_adapter(config);
  if (has_adapter && std::any_of(stages.begin(), stages.end(), is_there)) {
    std::erase_if(stages, [&](const std::string& stage) { return !is_there(stage); });
    return stages;
  }
  require_named_stages(config, seen);
  for (const std::string& note : runs::notes_of_unfitted_stages(config, seen)) print("note: {}\n", note);
  return stages;
}

/// Nobody tells which ranges such files hold: layers by their numbers are one operator, as in a run whose
/// modules have ranges.
analysis::run_facts facts_of(const analyze_files_options& options, const config::resolved& config,
                             std::vector<core::timeline> timelines) {
  analysis::run_facts facts;
  const fs::path& first = options.timelines.empty() ? options.counters.front() : options.timelines.front();
  facts.run_id = artifacts::name_of_folder(options.out);
  facts.created_utc = core::utc_timestamp();
  facts.model = first.stem().string();
  facts.config = "files";
  facts.pair = first.filename().string();  // the title of its reports
  facts.device = config.text("workload.device");
  facts.mode = config.text("run.mode");
  facts.config_hash = config.hash();
  facts.nvtx_domain = config.text("workload.nvtx_domain");
  facts.device_timed_stages = runs::device_timed_stages(config);
  facts.stage_expressions = runs::stage_expressions_of(config);
  facts.top_n_kernels = static_cast<std::size_t>(config.integer("run.top_n_kernels"));
  facts.kernel_categories = runs::category_rules_of(config);
  facts.changed_settings = runs::changed_settings_of(config);
  facts.bare.bench_absent_reason = "only profilers' files were given: nothing was timed without a profiler";
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    runs::name_stages(timelines[i], config, runs::recorded_by::somebody);
    facts.captures.push_back(
        {options.timelines[i].filename().string(), std::nullopt, std::move(timelines[i])});
  }
  facts.bare.stages = stages_in(facts.captures, config);
  if (facts.captures.empty()) facts.captures_absent_reason = "no timeline was given (--timeline)";
  facts.counters.absent_reason = "no counters were given (--counters)";
  std::vector<core::kernel_counters> launches;
  for (const fs::path& file : options.counters) {
    const auto more = profilers::counter_backends().front().read(file);
    launches.insert(launches.end(), more.begin(), more.end());
  }
  if (!launches.empty())
    facts.counters =
        runs::counted(std::move(launches), config, {}, facts.captures, analysis::layers::together);
  for (const fs::path& file : options.timelines) facts.inputs.push_back({"timeline", file.string()});
  for (const fs::path& file : options.counters) facts.inputs.push_back({"counters", file.string()});
  return facts;
}

}  // namespace

core::exit_code analyze_files(const analyze_files_options& options) {
  require_new_folder(options.out);
  require_folder_around(options.out);
  const installation parts = find_installation();
  std::vector<core::timeline> timelines;
  for (const fs::path& file : options.timelines) timelines.push_back(profilers::read_timelines({file}));
  const config::resolved config = config_of(options, parts, timelines);
  const analysis::run_facts facts = facts_of(options, config, std::move(timelines));
  const std::string profile = analysis::profile_json(facts);
  artifacts::make_folder(options.out);
  write_trace(facts, options.out);
  artifacts::write_file_atomically(options.out / "profile.json", profile);
  make_reports(options.out, parts.templates_dir);
  print_outcome(options.out);
  return core::exit_code::good;
}

}  // namespace profgate::cli
