#pragma once

#include <string>
#include <vector>

#include "gate/run_set.h"

namespace profgate::baselines {

/// Whether two run sets may be compared: every obstacle is a reason not to, a warning something that the
/// reader of the comparison must know. One sentence each.
struct comparability {
  std::vector<std::string> obstacles{};
  std::vector<std::string> warnings{};
};

/// For numbers of another session. Obstacles: another key (pair, settings, device), one profiled and the
/// other bare, a baseline of uncommitted code, processes that the hardware slowed down or that shared the
/// GPU. Warnings: other versions, another host, another mean clock.
comparability compare_identities(const gate::run_set& baseline, const gate::run_set& candidate);

/// For two arms of one comparison: uncommitted code is what a developer compares, and both arms saw the same
/// machine; the rest as above.
comparability compare_arms(const gate::run_set& baseline, const gate::run_set& candidate);

/// Two arms of one comparison: the same device and boot, no slot used twice, and the arms take turns.
bool are_interleaved(const gate::run_set& baseline, const gate::run_set& candidate);

/// What disturbed the processes that count; empty: nothing that was seen.
std::vector<std::string> disturbances(const gate::run_set& runs);

/// "NVIDIA H200×132".
std::string device_text(const gate::build_identity& identity);

}  // namespace profgate::baselines
