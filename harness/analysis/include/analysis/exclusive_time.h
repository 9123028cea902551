#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/records.h"

/// Whose time an instant of a device is. The exclusive times of a device's operations add up to the time in
/// which it did anything.
namespace profgate::analysis {

/// Exclusive time is counted in units of 1/720720 ns, the least common multiple of 1 … 16: up to 16 streams
/// share an instant without a rest.
inline constexpr std::int64_t units_per_ns = 720'720;

/// To the nearest nanosecond.
constexpr std::int64_t whole_ns(std::int64_t units) {
  return (units + units_per_ns / 2) / units_per_ns;
}

/// Of the operations of one stream that are resident at once, the one that ends first owns the instant: with
/// programmatic dependent launch a kernel starts while the one before it still runs, and waits for it. So in
/// a chain a kernel's exclusive time is its end minus the end of the one before it. Streams that work at once
/// share an instant evenly.
class exclusive_time_sweep {
 public:
  /// Where operations run; each device of each process is a time line of its own.
  struct place {
    std::uint32_t process_id = 0;
    int device = 0;
    std::uint32_t stream = 0;
  };

  explicit exclusive_time_sweep(std::size_t operations) : m_units(operations, 0) {}

  /// Operations come in the order of their starts. `index`: of the operation among all, for the result.
  void add(std::uint32_t index, const place& where, std::int64_t start_ns, std::int64_t end_ns);

  /// By index, in units; the sweep is over.
  std::vector<std::int64_t> take();

 private:
  /// An operation that has begun and not ended.
  struct resident {
    std::int64_t end_ns;
    std::uint32_t index;
    std::uint32_t stream;  ///< index into the device's streams
    bool operator>(const resident& other) const {
      return end_ns != other.end_ns ? end_ns > other.end_ns : index > other.index;
    }
  };
  using ends_first = std::priority_queue<resident, std::vector<resident>, std::greater<>>;

  struct stream_state {
    ends_first operations;         ///< the first of them owns the stream's time
    std::uint64_t owned_from = 0;  ///< the device's share when it began to
  };

  struct device_state {
    std::unordered_map<std::uint32_t, std::uint32_t> index_of_stream{};
    std::vector<stream_state> streams{};
    ends_first operations{};
    std::int64_t now_ns = 0;
    std::int64_t busy_streams = 0;
    /// What a stream that was busy from the start would own by now, in units. It may wrap around: only
    /// differences count.
    std::uint64_t share = 0;
  };

  void begin(device_state& device, const resident& operation);
  void end_first(device_state& device);
  void settle(device_state& device, stream_state& stream);
  static void pass(device_state& device, std::int64_t to_ns);

  std::vector<std::int64_t> m_units;
  std::map<std::pair<std::uint32_t, int>, device_state> m_devices;
};

/// Of a timeline's kernels, then of its copies, in units. A graph that was recorded as one block works in a
/// stream of its own.
std::vector<std::int64_t> exclusive_units(const core::timeline& timeline);

}  // namespace profgate::analysis
