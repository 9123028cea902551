#include "busy_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace profgate::gate {
namespace {

struct event {
  std::int64_t at_ns = 0;
  bool is_start = false;
  std::size_t operation = 0;
};

void check(const stage_trace& trace) {
  const auto refuse = [](const std::string& what) {
    throw core::bad_input("a trace cannot be attributed: " + what, "trace again; the tool's file is broken");
  };
  if (trace.end_ns < trace.start_ns) refuse("its stage ends before it starts");
  if (trace.end_ns - trace.start_ns > std::numeric_limits<std::int64_t>::max() / units_per_ns) {
    refuse("its stage is longer than three hours");
  }
  for (const operation& one : trace.operations) {
    if (one.end_ns < one.start_ns) refuse(fmt::format("{} ends before it starts", one.name));
  }
}

class stage_sweep {
 public:
  explicit stage_sweep(const stage_trace& trace) : m_trace(trace), m_waits(trace.waits) {
    std::sort(m_waits.begin(), m_waits.end(),
              [](const host_wait& a, const host_wait& b) { return a.start_ns < b.start_ns; });
    m_times.total_ns = trace.end_ns - trace.start_ns;
    m_times.share_units.resize(trace.operations.size());
  }

  stage_times run() {
    for (const event& next : events()) {
      advance(next.at_ns, next.is_start ? &m_trace.operations[next.operation] : nullptr);
      std::int64_t& share = m_times.share_units[next.operation];
      share += next.is_start ? -m_share_units : m_share_units;
      m_running += next.is_start ? 1 : -1;
    }
    advance(m_trace.end_ns, nullptr);
    return std::move(m_times);
  }

 private:
  /// Ends before starts at the same instant, so that neighbours do not overlap; an operation of no length
  /// has neither.
  std::vector<event> events() const {
    std::vector<event> events;
    events.reserve(2 * m_trace.operations.size());
    for (std::size_t i = 0; i < m_trace.operations.size(); ++i) {
      const std::int64_t start_ns =
          std::clamp(m_trace.operations[i].start_ns, m_trace.start_ns, m_trace.end_ns);
      const std::int64_t end_ns = std::clamp(m_trace.operations[i].end_ns, m_trace.start_ns, m_trace.end_ns);
      if (start_ns == end_ns) continue;
      events.push_back({start_ns, true, i});
      events.push_back({end_ns, false, i});
    }
    std::sort(events.begin(), events.end(), [](const event& a, const event& b) {
      if (a.at_ns != b.at_ns) return a.at_ns < b.at_ns;
      if (a.is_start != b.is_start) return !a.is_start;
      return a.operation < b.operation;
    });
    return events;
  }

  void advance(std::int64_t to_ns, const operation* next) {
    const std::int64_t from_ns = m_now_ns.value_or(m_trace.start_ns);
    m_now_ns = to_ns;
    if (to_ns == from_ns) return;
    if (m_running == 0) {
      explain(from_ns, to_ns, next);
      return;
    }
    const std::int64_t units = (to_ns - from_ns) * units_per_ns;
    m_share_units += units / m_running;
    m_times.rest_units += units % m_running;
    m_times.busy_ns += to_ns - from_ns;
    m_was_busy = true;
  }

  void explain(std::int64_t from_ns, std::int64_t to_ns, const operation* next) {
    const auto add = [&](idle_cause cause, std::int64_t some_ns) {
      m_times.idle.by_cause_ns[static_cast<std::size_t>(cause)] += some_ns;
    };
    const std::int64_t idle_ns = to_ns - from_ns;
    if (next == nullptr) {
      add(m_was_busy ? idle_cause::synchronisation : idle_cause::host, idle_ns);
    } else if (next->is_copy) {
      add(idle_cause::copy, idle_ns);
    } else {
      const std::int64_t waited_ns = waited(from_ns, to_ns);
      add(idle_cause::synchronisation, waited_ns);
      add(idle_cause::launch, idle_ns - waited_ns);
    }
  }

  /// How much of the gap the host stood in a wait. Gaps come in the order of time, waits too.
  std::int64_t waited(std::int64_t from_ns, std::int64_t to_ns) {
    while (m_next_wait < m_waits.size() && m_waits[m_next_wait].end_ns <= from_ns) ++m_next_wait;
    std::int64_t sum_ns = 0;
    std::int64_t counted_to_ns = from_ns;
    for (std::size_t i = m_next_wait; i < m_waits.size() && m_waits[i].start_ns < to_ns; ++i) {
      const std::int64_t start_ns = std::max(m_waits[i].start_ns, counted_to_ns);
      const std::int64_t end_ns = std::min(m_waits[i].end_ns, to_ns);
      if (end_ns <= start_ns) continue;
      sum_ns += end_ns - start_ns;
      counted_to_ns = end_ns;
    }
    return sum_ns;
  }

  const stage_trace& m_trace;
  std::vector<host_wait> m_waits;
  std::size_t m_next_wait = 0;
  stage_times m_times;
  std::optional<std::int64_t> m_now_ns;
  std::int64_t m_share_units = 0;  ///< what an operation that ran from the start of the window would have got
  std::int64_t m_running = 0;
  bool m_was_busy = false;
};

}  // namespace

stage_times share_time(const stage_trace& trace) {
  check(trace);
  return stage_sweep(trace).run();
}

}  // namespace profgate::gate
