#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/stage_operations.h"
#include "core/records.h"

/// What a stage of one build asks for, as one of its traces tells it: the same in every run.
namespace profgate::gate {

/// How a kernel is launched. Zero: none, or the tool does not tell it.
struct launch_configuration {
  std::array<std::uint32_t, 3> grid{};   ///< blocks
  std::array<std::uint32_t, 3> block{};  ///< threads
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  ///< a block's, static and dynamic
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes = 0;           ///< a thread's: spilled registers
  std::array<std::uint32_t, 3> cluster{};  ///< blocks

  // clang-tidy 14 takes the zero that a defaulted comparison is made of for a pointer.
  auto operator<=>(const launch_configuration&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// All launches of one kernel under one path, or all copies of one kind.
struct operation_facts {
  std::string name{};  ///< demangled, whole
  std::string path{};
  std::map<launch_configuration, std::int64_t> launches{};  ///< by configuration; of copies one without any
  std::int64_t bytes = 0;                                   ///< of copies
  std::string code{};                                       ///< hash of the machine code; empty: not known

  std::int64_t launch_count() const;
};

/// On a CPU: how often a stage calls each operator, by name and path (gate/operator_calls.h).
using operator_calls = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// Of one stage of one build. What a trace does not tell is nothing, and is not compared.
struct stage_structure {
  std::optional<std::set<std::string>> kernels{};  ///< demangled names
  std::optional<std::int64_t> launches{};          ///< calls that launched kernels; a graph's is one
  std::int64_t tokens = 0;                         ///< that the launches decoded; 1: none are known
  std::optional<std::int64_t> graph_nodes{};       ///< that are kernels
  /// How often the host waits for the device, by the call it does so in.
  std::optional<std::map<std::string, std::int64_t>> synchronisations{};
  std::vector<operation_facts> operations{};  ///< in the order of name and path; empty: not known
  operator_calls calls{};                     ///< on a CPU; empty: not known
  std::string kernels_absent_reason{};        ///< where there are none; empty: nobody wrote it down
  /// Nodes that copy or clear memory. Nothing: run sets of an earlier profgate do not tell of them.
  std::optional<std::int64_t> graph_copies{};
};

using stage_structures = std::map<std::string, stage_structure>;  ///< by stage

/// Of what one occurrence of a stage asked for. `code_hashes`: of the timeline, by mangled name.
std::vector<operation_facts> facts_of(const std::vector<analysis::operation>& asked_for,
                                      const std::map<std::string_view, std::uint64_t>& code_hashes = {});

/// Of the stage's last occurrence; empty where kernels were not seen. `tokens`: how many that occurrence
/// decoded.
stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens);

}  // namespace profgate::gate
