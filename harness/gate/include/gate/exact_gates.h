#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// What is the same in every run of one build: a change is a fact, not a matter of statistics.
namespace profgate::gate {

/// Of one stage of one build. What was not traced is nothing, and is not compared.
struct stage_structure {
  std::optional<std::set<std::string>> kernels{};  ///< demangled names
  std::optional<std::int64_t> launches{};          ///< calls that launched kernels; a graph's is one
  std::int64_t tokens = 0;                         ///< that the launches decoded; 1: none are known
  std::optional<std::int64_t> graph_nodes{};
};

struct exact_rules {
  bool kernels_fail = false;
  bool launches_fail = false;
  bool graph_nodes_fail = false;
};

enum class exact_kind { new_kernel, gone_kernel, launches, launches_per_token, graph_nodes };

struct exact_change {
  exact_kind kind = exact_kind::new_kernel;
  std::string subject{};   ///< the kernel's name; empty for counts
  std::string baseline{};  ///< "12", "37/16"; empty for kernels
  std::string candidate{};
  bool fails = false;  ///< the rules ask for it
};

struct exact_comparison {
  std::vector<exact_change> changes{};
  std::vector<std::string> not_compared{};  ///< one sentence each

  bool fails() const;
};

exact_comparison compare_exactly(const stage_structure& baseline, const stage_structure& candidate,
                                 const exact_rules& rules);

/// One line: "new kernel: f", "launches a token: 12 → 13".
std::string to_text(const exact_change& change);

/// Of the stage's first occurrence; empty where kernels were not seen. `tokens`: how many that occurrence
/// decoded.
stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens);

}  // namespace profgate::gate
