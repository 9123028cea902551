#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "artifacts/run_list.h"
#include "artifacts/status.h"
#include "config/config.h"

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

}  // namespace profgate::runs
