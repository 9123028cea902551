#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ab/next_step.h"
#include "ab/request.h"
#include "analysis/kernel_selection.h"
#include "analysis/stage_operations.h"
#include "core/records.h"
#include "gate/attribution.h"
#include "gate/run_set.h"

namespace profgate::ab {

/// The traced processes of one arm, read back from a comparison's folder.
class traced_arm {
 public:
  /// Spoiled and crashed ones are left out as a whole.
  traced_arm(const arm_build& build, const std::filesystem::path& folder,
             const std::vector<finished_run>& runs, gate::arm which);

  std::size_t size() const { return m_processes.size(); }
  /// Why there are none, where some were run.
  const std::string& absent_reason() const { return m_absent_reason; }
  /// What the traces may have missed, or what of them could not be named.
  const std::vector<std::string>& doubts() const { return m_doubts; }

  /// One a process. Their texts live as long as this object.
  std::vector<analysis::stage_trace> traces_of(const std::string& stage);

  std::map<std::string, gate::stage_structure> structure(const std::vector<std::string>& stages);

  /// How the first process launched its kernels, in the order in which ncu will see them.
  analysis::launch_order launches(const std::vector<std::string>& stages) const;

  /// By process, by stage.
  std::vector<std::map<std::string, analysis::stage_operations>> sums(const std::vector<std::string>& stages);

 private:
  struct traced_process {
    core::timeline timeline{};
    core::workload_result result{};
    std::map<std::string, analysis::labelled_traces> labelled{};  ///< by stage, made when first asked for
  };

  /// All stages at once: what they have in common is found out once.
  void label(traced_process& process, const std::vector<std::string>& stages);

  const arm_build& m_build;
  std::deque<traced_process> m_processes;
  std::string m_absent_reason;
  std::vector<std::string> m_doubts;
};

}  // namespace profgate::ab
