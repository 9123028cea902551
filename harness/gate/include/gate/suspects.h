#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Which kernels the evidence of a regression points to, and what counting them in both builds says. A trace
/// tells that a kernel takes longer; counters tell whether it does more, hits its caches less or only waits.
namespace profgate::gate {

struct judgement;
struct run_set;
struct stage_judgement;

/// What was counted of one kernel under one operator: medians of a few launches, each of which ran alone.
/// Nothing: it was not counted.
struct kernel_counts {
  std::string stage{};
  std::string name{};  ///< demangled, whole
  std::string path{};
  std::int64_t launches = 0;
  std::optional<double> duration_ns{};
  std::optional<double> dram_bytes{};  ///< read and written
  std::optional<double> l2_hit_ratio{};
  std::optional<double> instructions{};  ///< of warps
  std::optional<double> occupancy_ratio{};
  std::optional<double> registers{};  ///< a thread's
};

/// Once for all that is done with each: reading, writing, comparing.
struct count_row {
  const char* key;  ///< in files
  std::optional<double> kernel_counts::*value;
};
const std::vector<count_row>& count_rows();

/// A kernel of one arm.
struct suspect {
  std::string stage{};
  std::string name{};
  std::string path{};
  bool operator==(const suspect&) const = default;
};

/// By arm; at the same place nothing need correspond: a new kernel is a suspect of the candidate alone.
struct suspects {
  std::vector<suspect> baseline{};
  std::vector<suspect> candidate{};
};

inline constexpr std::size_t most_suspects = 3;

/// The kernels of the leading causes, at most most_suspects: the first of each stage that regressed, then
/// those that are the largest shares of their stages' differences. Of several that changed together under one
/// operator the one that takes longest.
suspects suspects_of(const judgement& judged, const run_set& baseline, const run_set& candidate);

/// What of the counters differs by more than 3 %, of ratios by more than 3 points: "DRAM 1.00 → 2.01 MB";
/// first whether the kernel is slower where it runs alone.
std::vector<std::string> difference_lines(const kernel_counts& baseline, const kernel_counts& candidate);

/// Adds the lines to the causes of each stage; why there are none to the first that has suspects.
void add_counters(const run_set& baseline, const run_set& candidate, judgement& judged);

}  // namespace profgate::gate
