#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/run_set.h"

namespace profgate::gate {

/// Whether two run sets may be compared: every obstacle is a reason not to, a warning something that the
/// reader of the comparison must know. One sentence each.
struct comparability {
  std::vector<std::string> obstacles{};
  std::vector<std::string> warnings{};
  std::vector<package_change> packages{};       ///< that differ
  std::vector<std::string> circumstances{};     ///< that can make the same code slower
  std::vector<std::string> unknown_packages{};  ///< whose could not be found out, and why
};

/// For numbers of another session. Obstacles: another key (pair, settings, device), one profiled and the
/// other bare, a baseline of uncommitted code, processes that the hardware slowed down or that shared the
/// GPU. Warnings: other versions, another host, another median clock. Processes that only warm up do not
/// matter.
comparability compare_identities(const run_set& baseline, const run_set& candidate);

/// For two arms of one comparison: uncommitted code and settings of the workload are what a developer
/// compares, so they are warnings; both arms saw the same machine; the rest as above.
comparability compare_arms(const run_set& baseline, const run_set& candidate);

/// Two arms of one comparison: the same device and boot, no slot used twice, and the arms take turns.
bool are_interleaved(const run_set& baseline, const run_set& candidate);

/// What disturbed the processes that count; empty: nothing that was seen.
std::vector<std::string> disturbances(const run_set& runs);

/// Whether a name among an identity's versions is that of a package.
bool is_package(const std::string& name);

/// Told by the device's name; anything that no driver calls a GPU is a CPU.
bool is_of_gpu(const build_identity& identity);

/// "NVIDIA H200×132": what baselines and histories match by.
std::string device_text(const build_identity& identity);

/// The same for people: "NVIDIA H200 (132 SMs)", "Arm Neoverse-V1 (2 cores)".
std::string device_words(std::string_view device);

}  // namespace profgate::gate
