#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/exclusive_time.h"
#include "analysis/stage_operations.h"

/// Where a stage's difference comes from. Its parts add up to the whole (analysis/stage_operations.h), so the
/// differences of the parts add up to the difference of the whole: to the nanosecond, or it throws.
namespace profgate::gate {

enum class cause_kind { duration, launches, new_operation, gone_operation, idle };

/// Which rule said that an operation of one arm is that of the other.
enum class matched_by { nothing, exact_name, normalised_name, launch_order, category };

/// One part of the difference. Counts and times are means of an arm's processes.
struct cause {
  cause_kind kind = cause_kind::duration;
  double delta_ns = 0;          ///< above zero: the candidate is slower by it
  std::string name{};           ///< of the candidate; of the baseline for gone ones; idle: the cause
  std::string baseline_name{};  ///< where it is another
  std::string path{};
  std::string category{};
  matched_by match = matched_by::nothing;
  double baseline_launches = 0;
  double candidate_launches = 0;
  double baseline_each_ns = 0;  ///< attributed time a launch
  double candidate_each_ns = 0;
  double baseline_idle_ns = 0;  ///< idle only
  double candidate_idle_ns = 0;
};

struct attribution {
  double baseline_ns = 0;  ///< the stage in the traced processes, mean
  double candidate_ns = 0;
  double difference_ns = 0;
  double busy_difference_ns = 0;
  double idle_difference_ns = 0;
  std::optional<double> bare_difference_ns{};  ///< as the caller measured it without a tracer
  std::vector<cause> causes{};                 ///< largest first, without zeros
  double residual_ns = 0;                      ///< difference − Σ causes
  std::size_t operations = 0;                  ///< of both arms
};

/// Each arm: at least one traced process. Means, not medians: medians do not add up. Processes that were
/// disturbed are left out by the caller as a whole.
attribution attribute(const std::vector<analysis::stage_trace>& baseline,
                      const std::vector<analysis::stage_trace>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt);

/// From the sums alone; less than a nanosecond an operation apart from the above where they went through a
/// file. Throws core::bad_input where an arm is empty or its times are not known.
attribution attribute(const std::vector<analysis::stage_operations>& baseline,
                      const std::vector<analysis::stage_operations>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt);

/// The largest parts that point the same way as the difference, at most `count`.
std::vector<cause> leading_causes(const attribution& result, std::size_t count);

/// "+12.3 µs: gemv<…> in attn.qkv is slower: 5.1 → 6.3 µs a launch, 28 launches".
std::string to_text(const cause& cause);

}  // namespace profgate::gate
