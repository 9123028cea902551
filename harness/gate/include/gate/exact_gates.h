#pragma once

#include <string>
#include <vector>

#include "core/experts.h"
#include "core/kernel_names.h"
#include "gate/stage_structure.h"

/// What is the same in every run of one build: a change is a fact, not a matter of statistics.
namespace profgate::gate {

struct exact_rules {
  bool kernels_fail = false;
  bool launches_fail = false;
  bool graph_nodes_fail = false;
  bool launch_configuration_fails = false;
};

enum class exact_kind {
  new_kernel,
  gone_kernel,
  launches,
  launches_per_token,
  graph_nodes,           ///< that are kernels
  graph_copies,          ///< nodes that copy or clear memory
  moved,                 ///< a kernel, to another operator
  launch_configuration,  ///< of a kernel that both have, whatever it is called
  operation_launches,    ///< as often as before or not
  machine_code,
  copied_bytes,
  synchronisations,  ///< how often the host waits for the device
  routing,           ///< how full experts are
};

struct exact_change {
  exact_kind kind = exact_kind::new_kernel;
  std::string subject{};   ///< the kernel's name; empty for counts
  std::string baseline{};  ///< "12", "37/16", "grid (16, 8, 1)"; empty for kernels
  std::string candidate{};
  bool fails = false;              ///< the rules ask for it
  std::string path{};              ///< the operator of what both have
  bool is_slight = false;          ///< of routing: a few near-ties fell the other way, nobody has more to do
  std::string baseline_subject{};  ///< where the kernel was called otherwise
};

struct exact_comparison {
  std::vector<exact_change> changes{};
  std::vector<std::string> not_compared{};  ///< one sentence each

  bool fails() const;
};

exact_comparison compare_exactly(const stage_structure& baseline, const stage_structure& candidate,
                                 const exact_rules& rules);

/// Of one stage of two builds; nothing where one has no trace of it, or they decoded other numbers of tokens.
exact_comparison compare_stage_exactly(const stage_structures& baseline, const stage_structures& candidate,
                                       const std::string& stage, const exact_rules& rules);

/// How tokens went to the experts of one stage; nothing changes where one of the two does not say.
void compare_routing(const core::experts_by_stage& baseline, const core::experts_by_stage& candidate,
                     const std::string& stage, exact_comparison& result);

/// Of the kernels that changed, so that those of one list are told apart.
core::short_kernel_names short_names_of(const exact_comparison& compared);

/// One line: "new kernel: f", "launches a token: 12 → 13".
std::string to_text(const exact_change& change, const core::short_kernel_names& names = {});

/// What of a change says how an operation differs, without its name: "grid (16, 8, 1) → (8, 8, 1)".
std::string difference_text(const exact_change& change);

}  // namespace profgate::gate
