#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ab/request.h"
#include "arm_program.h"
#include "core/error.h"
#include "core/records.h"
#include "drive.h"
#include "process/command.h"
#include "profilers/capture.h"
#include "runs/process_samples.h"

namespace profgate::ab {

/// One build as it is run in a comparison.
struct prepared_arm {
  arm_program program;
  std::filesystem::path config_file;  ///< its gate_config(), written once
  const arm_build& build() const { return program.build(); }
};

/// A program that lacks a stage that is to be judged.
class stage_not_closed : public core::bad_input {
 public:
  stage_not_closed(const std::string& what, const std::string& remedy, std::string stage,
                   std::vector<std::string> closed)
      : core::bad_input(what, remedy), m_stage(std::move(stage)), m_closed(std::move(closed)) {}
  const std::string& stage() const { return m_stage; }
  /// The stages that it has.
  const std::vector<std::string>& closed() const { return m_closed; }
  /// The same, said of the program of an arm.
  stage_not_closed of(gate::arm which) const;
  bool is_of_candidate() const { return m_is_of_candidate; }

 private:
  std::string m_stage;
  std::vector<std::string> m_closed;
  bool m_is_of_candidate = false;
};

/// Starts the real workloads.
class workload_runs : public run_effects {
 public:
  /// Writes the settings of both builds to `folder`.
  workload_runs(const surroundings& where, const arm_build& baseline, const arm_build& candidate,
                const comparison_settings& settings, std::filesystem::path folder);

  finished_run run(gate::arm which, run_kind kind, const std::string& stem) override;
  void say(const std::string& line) override;
  void now_running(const std::string& what) override;

  /// Of either build, as its traces are made.
  const arm_program& program(gate::arm which) const;

 private:
  finished_run run_bare(const prepared_arm& arm, gate::arm which, const std::string& stem);
  finished_run run_traced(const prepared_arm& arm, const std::string& stem);
  /// A program that knows nothing of profgate: its process is timed, and the ranges that are stages.
  void run_from_outside(const prepared_arm& arm, gate::arm which, const process::command& command,
                        const std::filesystem::path& log_file, finished_run& run);
  bool may_lack(const config::resolved& config, gate::arm which, const std::string& stage,
                const std::map<std::string, std::vector<std::int64_t>>& samples_ns) const;
  /// What the program told of itself takes the place of its ranges of that name, or stands beside them.
  void take_figures(const runs::process_samples& told,
                    std::map<std::string, std::vector<std::int64_t>>& samples_ns) const;
  void require_same_kind(const profilers::device_waits& waits);
  void take_result(const std::filesystem::path& file, finished_run& run);

  const surroundings& m_where;
  const comparison_settings& m_settings;
  std::filesystem::path m_folder;
  bool m_is_on_gpu;
  prepared_arm m_baseline;
  prepared_arm m_candidate;
  std::vector<std::string> m_synchronised;  ///< stages, of either arm: as the candidate's settings say
  std::optional<bool> m_is_synchronised;    ///< whether the first process that had some was
  std::map<std::string, core::stage_telemetry> m_telemetry;  ///< of the process that ran last
};

}  // namespace profgate::ab
