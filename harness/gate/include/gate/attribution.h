#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/exclusive_time.h"
#include "analysis/stage_operations.h"

/// Where a stage's difference comes from. What operations cost and what their device idled add up to the
/// stage (analysis/stage_operations.h), so their differences add up to its difference. Sizes are those of the
/// difference without a tracer, where it was measured.
namespace profgate::gate {

struct exact_comparison;

enum class cause_kind {
  duration,
  launches,
  new_operation,
  gone_operation,
  replaced,  ///< under one operator some are new where others are gone
  idle,
};

/// Which rule said that an operation of one arm is that of the other.
enum class matched_by { nothing, exact_name, normalised_name, launch_order, category };

/// What tells an operation apart from the others of its arm.
struct operation_key {
  std::string name{};
  std::string path{};
  bool operator==(const operation_key&) const = default;
  bool operator<(const operation_key& other) const {
    return std::tie(name, path) < std::tie(other.name, other.path);
  }
};

/// An operation in the order in which a stage launches them.
struct launched {
  operation_key key{};
  double launches = 0;  ///< of one occurrence of the stage
};

/// One part of the difference. Counts and times are means of an arm's processes.
struct cause {
  cause_kind kind = cause_kind::duration;
  double delta_ns = 0;          ///< above zero: the candidate is slower by it
  std::string name{};           ///< of the candidate; of the baseline for gone ones; idle: the cause
  std::string baseline_name{};  ///< where it is another
  std::string path{};
  std::string category{};
  matched_by match = matched_by::nothing;
  double baseline_launches = 0;  ///< of a range on a CPU: stretches
  double candidate_launches = 0;
  std::optional<double> baseline_calls{};  ///< of a range on a CPU; nothing: not known
  std::optional<double> candidate_calls{};
  double baseline_each_ns = 0;  ///< a launch: exclusive time, and idle time in which it had been asked for
  double candidate_each_ns = 0;
  double baseline_idle_ns = 0;  ///< idle only
  double candidate_idle_ns = 0;
  double traced_delta_ns = 0;   ///< as the traces have it, less idle time that is the tracer's
  std::string baseline_path{};  ///< where it was another
  std::string place{};          ///< idle only: where the host was, "cudaStreamSynchronize in decode"
  /// What is another thing than before, exactly: "new kernel", "more launches", "other kernel", "moved",
  /// "launch configuration", "code", "work", "routing", "early launch". Empty: it only takes longer.
  std::vector<std::string> changes{};
  /// Exact differences, "grid (16, 8, 1) → (8, 8, 1)", and before them which of a model's layers it is, where
  /// not all have changed alike: "model.layers.2 of 4: 31.20 → 43.90 µs a launch".
  std::vector<std::string> evidence{};
  std::vector<std::string> waiting{};  ///< operators that last longer only because they wait for it
  // Of use while causes are joined; no file has them.
  std::vector<operation_key> members{};          ///< the candidate's operations that it consists of
  std::vector<operation_key> waiting_members{};  ///< the operations that wait for it
  std::optional<operation_key>
      behind{};  ///< new ahead of it, so that it starts later, or earlier, than it did
  // For people, told apart from those of the other causes: by name_causes().
  std::string short_name{};
  std::string baseline_short_name{};
};

/// How the sizes of causes were made of what the traces show.
struct trace_scale {
  /// What the traces show of the bare difference: what was done, and idle time that points the same way.
  double shown_ns = 0;
  double all_ratio = 1;   ///< that every part was multiplied with
  double idle_ratio = 1;  ///< that idle time was multiplied with, in all: a tracer stretches it
};

struct attribution {
  double baseline_ns = 0;  ///< the stage in the traced processes, mean
  double candidate_ns = 0;
  double difference_ns = 0;
  double busy_difference_ns = 0;
  double idle_difference_ns = 0;
  std::optional<double> bare_difference_ns{};  ///< as the caller measured it without a tracer
  std::vector<cause> causes{};                 ///< without zeros; exact evidence weighs, then size
  std::optional<trace_scale> scaled{};         ///< where there is a bare difference; older files lack it
  double unexplained_ns = 0;                   ///< of the bare difference: what no cause explains
  double idle_of_tracer_ns = 0;  ///< of the traced difference: idle time that the bare one has no room for
  double residual_ns = 0;  ///< of the traces: difference − that − Σ causes as traced; next to nothing
  std::size_t operations = 0;            ///< of both arms
  std::vector<launched> launch_order{};  ///< of the candidate; no file has it

  /// What the causes are to explain.
  double explained_difference_ns() const { return bare_difference_ns.value_or(difference_ns); }
};

/// Above this share of a difference the cause is not known. As sizes are scaled by a half at most, that is
/// where the traces show less than 47 % of it, or more than 195 %.
inline constexpr double most_unexplained_ratio = 0.3;

/// Each arm: at least one traced process. Means, not medians: medians do not add up. Processes
/// with more than 15 % more time than the middle one, and of the others those with more than 5 % more device
/// time than the quickest, are left out as a whole: they were disturbed.
attribution attribute(const std::vector<analysis::stage_trace>& baseline,
                      const std::vector<analysis::stage_trace>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt);

/// From the sums alone; less than a nanosecond an operation apart from the above where they went through a
/// file. Throws core::bad_input where an arm is empty or its times are not known. `exact`: what is known of
/// the same stage.
attribution attribute(const std::vector<analysis::stage_operations>& baseline,
                      const std::vector<analysis::stage_operations>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt,
                      const exact_comparison* exact = nullptr);

/// Beside others, what is less of a difference than this is no cause of it.
inline constexpr double least_shown_ratio = 0.01;

/// The first parts that point the same way as the difference, at most `count`.
std::vector<cause> leading_causes(const attribution& result, std::size_t count);

/// Gives the causes of one attribution their short names. attribute() has done so; who reads causes from a
/// file does it again.
void name_causes(std::vector<cause>& causes);

/// A library (core/library_kernels.h) computes it by another of its kernels than before.
bool is_other_choice(const cause& cause);
bool is_other_choice(std::string_view name, std::string_view baseline_name);

/// Operations that changed together are called by the largest: "f and 2 more".
bool names_several(std::string_view name);

/// A copy is not launched.
bool is_copy(const cause& cause);

/// "64 launches"; of a copy "64 times".
std::string launch_count_text(const cause& cause, double count);

/// "7.73 → 8.96 µs", "403 µs → 9.59 ms": in one unit, with a digit more, where that suits both.
std::string times_text(double from_ns, double to_ns);

/// Of what is launched more, or less, often: "2 → 3 times, 6.00 → 6.10 µs each". Where the mean moved with
/// the number, what came (or went) lasts otherwise than the rest: "256 → 380 times: 124 more, about 39.9 µs
/// each".
std::string launches_text(const cause& cause);

/// Whether its share of the bare difference is another than what the traces show.
bool is_apart_from_traces(const cause& cause);

/// "longer idle: the host waits", "shorter idle: waiting for a launch", …
std::string idle_text(const cause& cause);

/// "the traces show 1.39 ms of the 1.52 ms measured without a tracer, so sizes are theirs × 1.09": why the
/// times beside a size are another sum. Empty where they are the same within 5 %.
std::string scale_text(const attribution& attributed);

/// "the traces show 526 µs of the 892 µs measured without a tracer"; empty where that is not known.
std::string shown_text(const attribution& attributed);

/// "+12.3 µs: gemv<…> in attn.qkv is slower: 5.1 → 6.3 µs a launch, 28 launches".
std::string to_text(const cause& cause);

}  // namespace profgate::gate
