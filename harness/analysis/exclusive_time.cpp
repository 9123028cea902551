#include "analysis/exclusive_time.h"

#include <algorithm>
#include <limits>

#include "core/interrupt.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

constexpr std::uint32_t stream_of_opaque_graphs = std::numeric_limits<std::uint32_t>::max();

std::uint32_t stream_of(const core::opaque_graph&) {
  return stream_of_opaque_graphs;
}
template <typename record>
std::uint32_t stream_of(const record& work) {
  return work.stream;
}

/// A list of a timeline's operations, to be taken in the order of their starts.
template <typename record>
class by_start {
 public:
  by_start(const std::vector<record>& records, std::uint32_t first_index)
      : m_records(records), m_first_index(first_index), m_order(records) {}

  std::int64_t next_start_ns() const {
    return m_next < m_records.size() ? m_records[at()].start_ns : std::numeric_limits<std::int64_t>::max();
  }
  bool is_over() const { return m_next == m_records.size(); }
  void add_next_to(exclusive_time_sweep& sweep) {
    const record& work = m_records[at()];
    sweep.add(m_first_index + at(), {work.process_id, work.device, stream_of(work)}, work.start_ns,
              work.end_ns);
    ++m_next;
  }

 private:
  std::uint32_t at() const { return m_order[m_next]; }

  const std::vector<record>& m_records;
  std::uint32_t m_first_index;
  start_order<record> m_order;
  std::size_t m_next = 0;
};

}  // namespace

void exclusive_time_sweep::add(std::uint32_t index, const place& where, std::int64_t start_ns,
                               std::int64_t end_ns) {
  core::stop_if_interrupted();
  if (end_ns <= start_ns) return;  // it has no time to own
  device_state& device = m_devices[{where.process_id, where.device}];
  while (!device.operations.empty() && device.operations.top().end_ns <= start_ns) end_first(device);
  pass(device, start_ns);
  const auto next_stream = static_cast<std::uint32_t>(device.streams.size());
  const std::uint32_t stream = device.index_of_stream.try_emplace(where.stream, next_stream).first->second;
  if (stream == next_stream) device.streams.emplace_back();
  begin(device, {end_ns, index, stream});
}

std::vector<std::int64_t> exclusive_time_sweep::take() {
  for (auto& [key, device] : m_devices) {
    while (!device.operations.empty()) end_first(device);
  }
  return std::move(m_units);
}

void exclusive_time_sweep::begin(device_state& device, const resident& operation) {
  stream_state& stream = device.streams[operation.stream];
  settle(device, stream);
  if (stream.operations.empty()) device.busy_streams += 1;
  stream.operations.push(operation);
  device.operations.push(operation);
}

void exclusive_time_sweep::end_first(device_state& device) {
  const resident operation = device.operations.top();
  pass(device, operation.end_ns);
  stream_state& stream = device.streams[operation.stream];
  settle(device, stream);
  stream.operations.pop();  // what ends first on the device ends first in its stream
  device.operations.pop();
  if (stream.operations.empty()) device.busy_streams -= 1;
}

/// The time since it was last asked belongs to the stream's owner.
void exclusive_time_sweep::settle(device_state& device, stream_state& stream) {
  if (!stream.operations.empty()) {
    m_units[stream.operations.top().index] += static_cast<std::int64_t>(device.share - stream.owned_from);
  }
  stream.owned_from = device.share;
}

void exclusive_time_sweep::pass(device_state& device, std::int64_t to_ns) {
  if (device.busy_streams > 0) {
    device.share += static_cast<std::uint64_t>(to_ns - device.now_ns) *
                    static_cast<std::uint64_t>(units_per_ns) /
                    static_cast<std::uint64_t>(device.busy_streams);
  }
  device.now_ns = to_ns;
}

std::vector<std::int64_t> exclusive_units(const core::timeline& timeline) {
  const auto kernel_count = static_cast<std::uint32_t>(timeline.kernels.size());
  const auto copy_count = static_cast<std::uint32_t>(timeline.copies.size());
  exclusive_time_sweep sweep(timeline.kernels.size() + timeline.copies.size() +
                             timeline.opaque_graphs.size());
  by_start kernels(timeline.kernels, 0);
  by_start copies(timeline.copies, kernel_count);
  by_start graphs(timeline.opaque_graphs, kernel_count + copy_count);
  while (!kernels.is_over() || !copies.is_over() || !graphs.is_over()) {
    const std::int64_t earliest_ns =
        std::min({kernels.next_start_ns(), copies.next_start_ns(), graphs.next_start_ns()});
    if (!kernels.is_over() && kernels.next_start_ns() == earliest_ns) {
      kernels.add_next_to(sweep);
    } else if (!copies.is_over() && copies.next_start_ns() == earliest_ns) {
      copies.add_next_to(sweep);
    } else {
      graphs.add_next_to(sweep);
    }
  }
  return sweep.take();
}

}  // namespace profgate::analysis
