#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where a stage's difference comes from. Its time is the union of what the device did plus the time in which
/// it did nothing; operations that ran at once share each instant. So the parts add up to the whole, and the
/// differences of the parts to the difference of the whole: to the nanosecond, or it throws.
namespace profgate::gate {

/// A kernel, copy or memset on the device. Texts must live as long as the call they are given to.
struct operation {
  std::string_view name{};      ///< demangled, whole; copies: "copy host to device", …
  std::string_view path{};      ///< NVTX ranges around its launch, outermost first, joined by '/'
  std::string_view category{};  ///< empty: by its name
  bool is_copy = false;
  int device = 0;
  std::uint64_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A host call that waits for the device.
struct host_wait {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// One occurrence of a stage in one traced process. What lies outside the window is cut off.
struct stage_trace {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<operation> operations{};
  std::vector<host_wait> waits{};
};

/// What an idle device waited for, by what came next.
enum class idle_cause {
  launch,           ///< a kernel, which the host had not launched in time
  synchronisation,  ///< a kernel after a wait of the host; or nothing more: the stage's last wait
  copy,             ///< a copy or memset
  host,             ///< the stage never used the device
};
inline constexpr std::size_t idle_cause_count = 4;
std::string to_text(idle_cause cause);

struct idle_times {
  std::array<std::int64_t, idle_cause_count> by_cause_ns{};
};

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
attribution attribute(const std::vector<stage_trace>& baseline, const std::vector<stage_trace>& candidate,
                      std::optional<double> bare_difference_ns = std::nullopt);

/// The largest parts that point the same way as the difference, at most `count`.
std::vector<cause> leading_causes(const attribution& result, std::size_t count);

/// "+12.3 µs: gemv<…> in attn.qkv is slower: 5.1 → 6.3 µs a launch, 28 launches".
std::string to_text(const cause& cause);

}  // namespace profgate::gate
