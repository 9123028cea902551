#include "analysis/stage_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "analysis/exclusive_time.h"
#include "core/error.h"
#include "interval_set.h"

namespace profgate::analysis {
namespace {

struct layer_units {
  std::int64_t launches = 0;
  std::int64_t cost = 0;  ///< in units
};

/// How long an operation had been asked for while its device was idle.
struct waited_time {
  std::int64_t all_ns = 0;
  std::int64_t latency_ns = 0;  ///< of it: see operation_sum
};

/// Units become nanoseconds once all are summed up.
struct growing_sum {
  operation_sum sum{};
  std::map<std::int32_t, layer_units> layers{};
  bool are_layers_known = true;

  void add_launch(std::int32_t layer, std::int64_t exclusive_units) {
    sum.launches += 1;
    sum.exclusive_units += exclusive_units;
    are_layers_known = are_layers_known && layer != core::no_layer;
    if (!are_layers_known) return;
    layer_units& own = layers[layer];
    own.launches += 1;
    own.cost += exclusive_units;
  }

  void add_waiting(std::int32_t layer, const waited_time& waited) {
    sum.waiting_ns += waited.all_ns;
    if (sum.latency_ns) *sum.latency_ns += waited.latency_ns;
    if (are_layers_known) layers[layer].cost += waited.all_ns * units_per_ns;
  }

  operation_sum take() {
    if (are_layers_known && layers.size() <= most_layers) {
      for (const auto& [layer, own] : layers) sum.layers.push_back({layer, own.launches, whole_ns(own.cost)});
    }
    return std::move(sum);
  }
};

using sums_by_name = std::map<std::pair<std::string_view, std::string_view>, growing_sum>;

void refuse_impossible(const stage_trace& trace) {
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

/// Finds what a device was idle for. By what comes next, where device_activity.h asks what went on meanwhile:
/// the parts of two builds are subtracted, and a gap must not change its cause because a copy beside it
/// moved.
class idle_explainer {
 public:
  explicit idle_explainer(const stage_trace& trace) : m_calls(trace.waits) {
    std::sort(m_calls.begin(), m_calls.end(),
              [](const host_wait& a, const host_wait& b) { return a.start_ns < b.start_ns; });
    std::int64_t latest_end_ns = std::numeric_limits<std::int64_t>::min();
    for (const host_wait& wait : m_calls) {
      m_waits.add({wait.start_ns, wait.end_ns});
      m_latest_end_ns.push_back(latest_end_ns = std::max(latest_end_ns, wait.end_ns));
    }
    m_waits.join();
  }

  /// `next` ends the gap; null: the stage does. Returns how long `next` had been asked for.
  waited_time explain(interval gap, const operation* next, bool was_busy) {
    if (next == nullptr) {
      const host_wait* const last = was_busy && m_waits.covered_ns(gap) > 0 ? call_in(gap) : nullptr;
      const std::int64_t gap_ns = gap.end_ns - gap.start_ns;
      if (last != nullptr)
        add_place(idle_cause::synchronisation, gap_ns, last->call, last->host_range);
      else
        add_some(was_busy ? idle_cause::synchronisation : idle_cause::host, gap_ns);
      return {};
    }
    // Who does not tell when it was asked for leaves only the waits to go by.
    const std::int64_t asked_ns =
        next->launched_ns == 0 ? gap.end_ns : std::clamp(next->launched_ns, gap.start_ns, gap.end_ns);
    const interval late{gap.start_ns, asked_ns};
    const std::int64_t waited_ns = next->is_copy && next->launched_ns == 0 ? 0 : m_waits.covered_ns(late);
    const std::int64_t elsewhere_ns = late.end_ns - late.start_ns - waited_ns;
    const host_wait* const wait = waited_ns > 0 ? call_in(late) : nullptr;
    if (wait != nullptr) add_place(idle_cause::synchronisation, waited_ns, wait->call, wait->host_range);
    const idle_cause own = next->is_copy ? idle_cause::copy : idle_cause::launch;
    if (next->launched_ns == 0) {
      add_some(own, elsewhere_ns);
      return {elsewhere_ns, 0};
    }
    // The host that has waited for the device to run dry begins its work only then.
    if (elsewhere_ns > 0)
      add_place(idle_cause::host, elsewhere_ns, wait == nullptr ? "" : wait->call, next->host_range);
    const std::int64_t asked_for_ns = gap.end_ns - asked_ns;
    if (asked_ns == gap.start_ns) {
      add_some(own, asked_for_ns);
      return {asked_for_ns, 0};
    }
    if (asked_for_ns > 0) add_place(own, asked_for_ns, "", next->host_range);
    return {asked_for_ns, asked_for_ns};
  }

  void put_into(stage_times& times) const {
    for (std::size_t cause = 0; cause < idle_cause_count; ++cause)
      times.idle.by_cause_ns[cause] += m_idle.by_cause_ns[cause];
    for (const auto& [place, idle_ns] : m_places) {
      idle_place one{std::get<0>(place), std::string(std::get<1>(place)), std::string(std::get<2>(place)),
                     idle_ns};
      const auto known = std::find_if(times.places.begin(), times.places.end(), [&](const idle_place& other) {
        return other.cause == one.cause && other.call == one.call && other.host_range == one.host_range;
      });
      if (known == times.places.end()) {
        times.places.push_back(std::move(one));
      } else {
        known->idle_ns += one.idle_ns;
      }
    }
  }

 private:
  void add_some(idle_cause cause, std::int64_t some_ns) {
    m_idle.by_cause_ns[static_cast<std::size_t>(cause)] += some_ns;
  }

  void add_place(idle_cause cause, std::int64_t some_ns, std::string_view call, std::string_view host_range) {
    add_some(cause, some_ns);
    m_places[{cause, call, host_range}] += some_ns;
  }

  /// The first wait in it: there is one. It is the first that ends after the gap's start: with it the latest
  /// end of all so far passes there.
  const host_wait* call_in(interval gap) const {
    const auto first = std::upper_bound(m_latest_end_ns.begin(), m_latest_end_ns.end(), gap.start_ns);
    if (first == m_latest_end_ns.end()) return nullptr;
    const host_wait& wait = m_calls[static_cast<std::size_t>(first - m_latest_end_ns.begin())];
    return wait.start_ns < gap.end_ns ? &wait : nullptr;
  }

  std::vector<host_wait> m_calls;
  std::vector<std::int64_t> m_latest_end_ns{};  ///< of each call and those before it
  interval_set m_waits;
  idle_times m_idle{};
  std::map<std::tuple<idle_cause, std::string_view, std::string_view>, std::int64_t> m_places;
};

/// One occurrence: its operations in the order of their starts, cut to the window.
class occurrence_sums {
 public:
  explicit occurrence_sums(const stage_trace& trace) : m_trace(trace), m_order(trace.operations.size()) {
    std::iota(m_order.begin(), m_order.end(), 0U);
    std::stable_sort(m_order.begin(), m_order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return trace.operations[a].start_ns < trace.operations[b].start_ns;
    });
  }

  /// Each device has the whole stage's time; what it was not busy in, it was idle for a reason.
  void add(sums_by_name& sums, stage_times& times) {
    add_operations(sums);
    add_times(sums, times);
  }

 private:
  void add_operations(sums_by_name& sums) const {
    exclusive_time_sweep sweep(m_trace.operations.size());
    for (const std::uint32_t i : m_order) {
      const operation& one = m_trace.operations[i];
      sweep.add(i, {0, one.device, one.stream}, cut(one.start_ns), cut(one.end_ns));
    }
    const std::vector<std::int64_t> exclusive_units = sweep.take();
    const std::vector<bool> is_early = early_launches();
    for (std::size_t i = 0; i < m_trace.operations.size(); ++i) {
      const operation& one = m_trace.operations[i];
      const std::int64_t at_ns = cut(one.start_ns) - m_trace.start_ns;
      const auto [found, is_new] = sums.try_emplace({one.name, one.path});
      operation_sum& sum = found->second.sum;
      if (is_new) {
        sum.name = one.name;
        sum.operator_path = one.path;
        sum.category = one.is_copy ? "copy" : one.category.empty() ? "other" : one.category;
        sum.first_at_ns = at_ns;
        if (one.category != "host") sum.latency_ns = sum.early_launches = 0;
      }
      if (sum.early_launches && is_early[i]) ++*sum.early_launches;
      sum.first_at_ns = std::min(sum.first_at_ns, at_ns);
      sum.total_ns += one.end_ns - one.start_ns;
      found->second.add_launch(one.layer, exclusive_units[i]);
    }
  }

  std::vector<bool> early_launches() const {
    std::vector<bool> is_early(m_trace.operations.size());
    std::map<std::pair<int, std::uint32_t>, std::int64_t> busy_until_ns;  // by device and stream
    for (const std::uint32_t i : m_order) {
      const operation& one = m_trace.operations[i];
      const auto [ahead, is_first] = busy_until_ns.try_emplace({one.device, one.stream}, one.end_ns);
      is_early[i] = !is_first && one.start_ns < ahead->second;
      ahead->second = std::max(ahead->second, one.end_ns);
    }
    return is_early;
  }

  void add_times(sums_by_name& sums, stage_times& times) const {
    std::map<int, std::vector<const operation*>> by_device;
    for (const std::uint32_t i : m_order) {
      by_device[m_trace.operations[i].device].push_back(&m_trace.operations[i]);
    }
    if (by_device.empty()) by_device[0];
    idle_explainer idle(m_trace);
    for (const auto& [device, operations] : by_device) {
      times.occurrences += 1;
      times.time_ns += m_trace.end_ns - m_trace.start_ns;
      std::int64_t busy_until_ns = m_trace.start_ns;
      bool was_busy = false;
      for (const operation* one : operations) {
        const std::int64_t start_ns = cut(one->start_ns);
        const std::int64_t end_ns = cut(one->end_ns);
        if (start_ns == end_ns) continue;
        if (start_ns > busy_until_ns)
          sums.at({one->name, one->path})
              .add_waiting(one->layer, idle.explain({busy_until_ns, start_ns}, one, was_busy));
        busy_until_ns = std::max(busy_until_ns, end_ns);
        was_busy = true;
      }
      if (busy_until_ns < m_trace.end_ns) idle.explain({busy_until_ns, m_trace.end_ns}, nullptr, was_busy);
    }
    idle.put_into(times);
  }

  std::int64_t cut(std::int64_t at_ns) const { return std::clamp(at_ns, m_trace.start_ns, m_trace.end_ns); }

  const stage_trace& m_trace;
  std::vector<std::uint32_t> m_order;
};

/// Enough to name a cause.
constexpr std::size_t most_places = 12;

}  // namespace

std::string to_text(idle_cause cause) {
  switch (cause) {
    case idle_cause::launch:
      return "launch";
    case idle_cause::synchronisation:
      return "synchronisation";
    case idle_cause::copy:
      return "copy";
    case idle_cause::host:
      return "host";
  }
  return "";
}

bool is_synchronisation(const core::host_call& call) {
  return call.name.find("Synchronize") != std::string_view::npos;
}

std::string outside_of_operators(std::string_view stage) {
  return std::string(stage) + " outside of operators";
}

namespace {

std::vector<const stage_trace*> typical_of_process(const std::vector<const stage_trace*>& occurrences) {
  constexpr double alike_ratio = 1.25;  // median over shortest
  std::map<std::size_t, std::vector<const stage_trace*>> by_operations;
  std::vector<const stage_trace*> taken = occurrences;
  for (const stage_trace* trace : occurrences) by_operations[trace->operations.size()].push_back(trace);
  bool are_alike = false;
  for (const auto& [operations, alike] : by_operations) {
    if (alike.size() * 2 <= occurrences.size()) continue;
    taken = alike;
    are_alike = true;
    break;
  }
  const auto duration_ns = [](const stage_trace* trace) { return trace->end_ns - trace->start_ns; };
  std::stable_sort(taken.begin(), taken.end(), [&](const stage_trace* a, const stage_trace* b) {
    return duration_ns(a) < duration_ns(b);
  });
  if (taken.empty()) return taken;
  const std::size_t lower_middle = (taken.size() - 1) / 2;
  are_alike = are_alike && static_cast<double>(duration_ns(taken[lower_middle])) <=
                               alike_ratio * static_cast<double>(duration_ns(taken.front()));
  if (are_alike) {
    taken.resize((taken.size() + 1) / 2);
    return taken;
  }
  const std::size_t middle = taken.size() / 2;
  return {taken.begin() + static_cast<std::ptrdiff_t>(lower_middle),
          taken.begin() + static_cast<std::ptrdiff_t>(middle + 1)};
}

}  // namespace

std::vector<const stage_trace*> typical_of(const std::vector<stage_trace>& occurrences) {
  std::map<std::uint32_t, std::vector<const stage_trace*>> by_process;
  for (const stage_trace& trace : occurrences) by_process[trace.process_id].push_back(&trace);
  std::vector<const stage_trace*> typical;
  for (const auto& [process, of_process] : by_process) {
    const std::vector<const stage_trace*> some = typical_of_process(of_process);
    typical.insert(typical.end(), some.begin(), some.end());
  }
  return typical;
}

stage_operations sum_up(const std::vector<stage_trace>& occurrences) {
  for (const stage_trace& trace : occurrences) refuse_impossible(trace);
  stage_operations stage;
  stage.times.emplace();
  sums_by_name sums;
  for (const stage_trace* trace : typical_of(occurrences)) occurrence_sums(*trace).add(sums, *stage.times);
  for (auto& [key, sum] : sums) stage.operations.push_back(sum.take());
  std::stable_sort(stage.times->places.begin(), stage.times->places.end(),
                   [](const idle_place& a, const idle_place& b) { return a.idle_ns > b.idle_ns; });
  stage.times->places.resize(std::min(stage.times->places.size(), most_places));
  return stage;
}

}  // namespace profgate::analysis
