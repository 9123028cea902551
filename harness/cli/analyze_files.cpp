#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/profile.h"
#include "analysis/timeline_analysis.h"
#include "artifacts/files.h"
#include "artifacts/utc_time.h"
#include "commands.h"
#include "core/error.h"
#include "core/slips.h"
#include "installation.h"
#include "make_reports.h"
#include "profilers/backends.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

config::resolved config_of(const analyze_files_options& options, const installation& parts) {
  config::request wanted;
  wanted.conf_dirs = {parts.conf_dir};
  wanted.project_dir = fs::current_path();
  wanted.runner = "program";
  wanted.pair_overrides = {"workload.device=cuda"};
  wanted.command_line_overrides = options.overrides;
  return config::compose(wanted);
}

/// Nothing of somebody else's is replaced.
void require_new_folder(const fs::path& folder) {
  if (!fs::exists(folder) || (fs::is_directory(folder) && fs::is_empty(folder))) return;
  throw core::bad_input(fmt::format("{} is there already and not empty", folder.string()),
                        "name a new folder for the reports");
}

std::set<std::string> range_names_in(const std::vector<analysis::capture>& captures) {
  std::set<std::string> names;
  for (const analysis::capture& one : captures)
    for (const core::range_record& range : one.timeline.ranges) names.emplace(range.name);
  return names;
}

/// A stage that was named by hand and is no range of any file is a slip; one that an expression describes, or
/// that only some programs have, may well be absent.
void require_named_stages(const config::resolved& config, const std::set<std::string>& there) {
  const std::string& origin = config.origin("workload.stages");
  if (origin == config::default_origin) return;
  const std::vector<std::string> names(there.begin(), there.end());
  for (const config::record& stage : config.records("workload.stages")) {
    const std::string& name = stage.at("name");
    const bool is_derived = name == core::whole_process_stage || name == analysis::decode_all_stage;
    if (stage.contains("range") || is_derived || there.contains(name)) continue;
    const auto meant = core::nearest(name, names);
    throw core::bad_input(
        origin, 0,
        names.empty()
            ? fmt::format("the timeline has no NVTX range '{}', nor any other", name)
            : fmt::format("the timeline has no NVTX range '{}'; it has {}", name, core::first_few(names)),
        meant
            ? fmt::format("did you mean '{}'?", *meant)
            : std::string("name one of its ranges as stage, or leave workload.stages out: the whole process "
                          "is then one stage"));
  }
}

/// Those of the settings that the files have. A decoder has other stages than an encoder: of the adapter's,
/// which nobody named by hand, it is those that the adapter saw.
std::vector<std::string> stages_in(const std::vector<analysis::capture>& captures,
                                   const config::resolved& config) {
  std::vector<std::string> stages = config.list("workload.stages");
  if (captures.empty()) return stages;
  const std::set<std::string> there = range_names_in(captures);
  const auto is_there = [&](const std::string& stage) { return there.contains(stage); };
  const bool has_adapter = config.text("workload.adapter") != "none";
  if (has_adapter && std::any_of(stages.begin(), stages.end(), is_there)) {
    std::erase_if(stages, [&](const std::string& stage) { return !is_there(stage); });
    return stages;
  }
  require_named_stages(config, there);
  return stages;
}

/// Nobody tells which ranges such files hold: layers by their numbers are one operator, as in a run whose
/// modules have ranges.
analysis::run_facts facts_of(const analyze_files_options& options, const config::resolved& config) {
  analysis::run_facts facts;
  const fs::path& first = options.timelines.empty() ? options.counters.front() : options.timelines.front();
  facts.run_id = fs::absolute(options.out).lexically_normal().filename().string();
  facts.created_utc = artifacts::utc_timestamp();
  facts.model = first.stem().string();
  facts.config = "files";
  facts.pair = first.filename().string();  // the title of its reports
  facts.device = config.text("workload.device");
  facts.mode = config.text("run.mode");
  facts.config_hash = config.hash();
  facts.nvtx_domain = config.text("workload.nvtx_domain");
  facts.device_timed_stages = runs::device_timed_stages(config);
  facts.top_n_kernels = static_cast<std::size_t>(config.integer("run.top_n_kernels"));
  facts.kernel_categories = runs::category_rules_of(config);
  facts.changed_settings = runs::changed_settings_of(config);
  facts.bare.bench_absent_reason = "only profilers' files were given: nothing was timed without a profiler";
  for (const fs::path& file : options.timelines)
    facts.captures.push_back({file.filename().string(), std::nullopt,
                              runs::read_stages({file}, config, analysis::layers::together)});
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
  const installation parts = find_installation();
  const analysis::run_facts facts = facts_of(options, config_of(options, parts));
  const std::string profile = analysis::profile_json(facts);
  artifacts::make_folder(options.out);
  write_trace(facts, options.out);
  artifacts::write_file_atomically(options.out / "profile.json", profile);
  make_reports(options.out, parts.templates_dir);
  print_outcome(options.out);
  return core::exit_code::good;
}

}  // namespace profgate::cli
