#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stage_rules.h"
#include "artifacts/run_list.h"
#include "artifacts/status.h"
#include "config/config.h"
#include "profilers/backends.h"

/// A run directory, read: from nothing else, so that any machine can do it without a GPU, a tool or a build
/// folder.
namespace profgate::runs {

/// Reads each file of a run when it is first asked for, and once. What the steps are writing meanwhile (their
/// own status, new artifacts) is not seen by a reader that has looked at it already: each step makes its own.
class run_reader {
 public:
  /// bad_input where `run_dir` is no run of ours, or something in it leads out of it.
  explicit run_reader(const std::filesystem::path& run_dir);
  /// For a step that has the configuration already.
  run_reader(const std::filesystem::path& run_dir, config::resolved config);

  const std::filesystem::path& path() const { return m_run.path; }
  const config::resolved& config();
  /// Nothing: the step has not run.
  const std::optional<artifacts::step_status>& status(const std::string& step);

  const analysis::bare_facts& bare();
  /// What the analysis needs, all of it.
  analysis::run_facts facts();

  /// Every file of the bundle that exists, but for the reports themselves, in the order in which a person
  /// reads them.
  std::vector<analysis::artifact_facts> artifacts() const;
  /// Files that the steps which ended well should have left and did not.
  std::vector<std::string> missing_artifacts();

 private:
  std::string reason_of(const std::string& step);
  analysis::step_facts step_facts_of(const std::string& step);
  void read_captures(analysis::run_facts& facts);
  analysis::counter_facts counters(const std::vector<analysis::capture>& captures);

  artifacts::run_info m_run;
  std::optional<config::resolved> m_config;
  std::map<std::string, std::optional<artifacts::step_status>> m_statuses;
  std::optional<analysis::bare_facts> m_bare;
};

/// What was counted in a run, kernels named as in its captures, ranges as the settings name stages.
analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures);

/// What was timed around a program that writes no result JSON.
struct process_samples {
  std::vector<std::int64_t> wall_ns;                             ///< of each process
  std::map<std::string, std::vector<std::int64_t>> stages_ns{};  ///< of each occurrence of a stage
  std::map<std::string, std::string> stage_sources{};            ///< as bare_facts has them
  std::vector<analysis::program_figure> figures{};
  std::vector<std::int64_t> first_token_ns{};    ///< as bare_facts has them
  std::vector<std::int64_t> further_token_ns{};  ///< the same
};

/// stage1/process_samples.json
void write_process_samples(const std::filesystem::path& file, const process_samples& samples);

/// The stages in the order in which tools are run on them: the configured gate's first, whose files get the
/// plain names.
std::vector<std::string> stages_gate_first(const config::resolved& config);

/// workload.stages, each with the ranges that it stands for.
std::vector<analysis::stage_rule> stage_rules_of(const config::resolved& config);

/// Beside a program's samples: the work of its model, where that is known.
inline constexpr const char* counted_work_file = "work.json";

/// Those with sync: true.
std::vector<std::string> synchronised_stages(const config::resolved& config);
/// The ranges of these stages, as the collector is told of them; bad_input where one is an expression.
std::vector<profilers::range_name> named_ranges(const config::resolved& config,
                                                const std::vector<std::string>& stages);

/// The files of one traced run, its stages called by their names.
core::timeline read_stages(const std::vector<std::filesystem::path>& files, const config::resolved& config);

/// Those that an adapter times by events among the device's work: it does not wait for the device.
std::vector<std::string> device_timed_stages(const config::resolved& config);

/// Of the ranges that a program was seen to open.
struct range_samples {
  /// How long each occurrence of a stage took; stages that never closed a range are not in it.
  std::map<std::string, std::vector<std::int64_t>> stages_ns{};
  analysis::stage_counts counts{};
};
range_samples sample_ranges(core::timeline timeline, const config::resolved& config);

/// When tokens came, by the stages that an adapter opened on one thread: from a prefill's start to that of
/// the step after it, and from each step's to the next one's. What the program does between two calls of its
/// model (choosing the token, waiting for it) is a part of that. Added to `samples`.
void add_token_times(const core::timeline& timeline, process_samples& samples);

/// categories.kernels and categories.operators.
analysis::category_rules category_rules_of(const config::resolved& config);

}  // namespace profgate::runs
