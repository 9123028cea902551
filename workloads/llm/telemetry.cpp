#include "llm/telemetry.h"

#include <algorithm>

#include "nvml.h"

namespace profgate::llm {
namespace {

constexpr double joules_per_mj = 1e-3;
const char* const no_sample = "no sample fell into the stage's windows";

std::string in_ms(std::int64_t duration_ns) {
  return std::to_string(duration_ns / 1'000'000) + " ms";
}

std::int64_t steady_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

/// The values of one quantity, and the last reason why there was none.
struct telemetry_series {
  std::vector<double> values;
  std::string reason;

  void add(const reading<double>& value) {
    if (value) {
      values.push_back(*value);
    } else {
      reason = value.reason();
    }
  }
};

namespace {

reading<stage_telemetry::spread> spread_of(telemetry_series taken,
                                           const std::string& reason_if_empty = no_sample) {
  using result = reading<stage_telemetry::spread>;
  auto& values = taken.values;
  if (values.empty()) return result::absent(taken.reason.empty() ? reason_if_empty : taken.reason);
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return stage_telemetry::spread{values.front(), median, values.back()};
}

}  // namespace

struct telemetry::record {
  std::int64_t windows_count = 0;
  std::int64_t windows_ns = 0;
  std::int64_t samples_count = 0;
  telemetry_series sm_clock_mhz;
  telemetry_series memory_clock_mhz;
  telemetry_series power_w;
  telemetry_series temperature_c;
  unsigned long long throttle_bits = 0;
  bool throttle_known = false;
  std::string throttle_reason;
  unsigned long long energy_mj = 0;
  std::string energy_reason;                         ///< not empty: at least one window has no energy
  std::optional<reading<repeated_energy>> repeated;  ///< outside of the windows

  std::int64_t opened_ns = 0;
  std::optional<unsigned long long> opened_mj;

  void close(std::int64_t now_ns, const reading<unsigned long long>& closed_mj);
  reading<std::vector<std::string>> throttle_reasons() const;
  reading<repeated_energy> energy() const;
};

void telemetry::record::close(std::int64_t now_ns, const reading<unsigned long long>& closed_mj) {
  ++windows_count;
  windows_ns += now_ns - opened_ns;
  if (!closed_mj) {
    energy_reason = closed_mj.reason();
  } else if (opened_mj && *closed_mj < *opened_mj) {
    energy_reason = "the driver's energy counter went backwards";
  } else if (opened_mj) {
    energy_mj += *closed_mj - *opened_mj;
  }
}

reading<std::vector<std::string>> telemetry::record::throttle_reasons() const {
  using result = reading<std::vector<std::string>>;
  if (throttle_known) return nvml::throttle_reason_names(throttle_bits);
  return result::absent(throttle_reason.empty() ? no_sample : throttle_reason);
}

/// Both ends of a window read a counter that is up to a renewal old, so the energy of short ones is their
/// neighbours': an H200 showed 1012 W on a board of 700 W in windows of 5 ms, however many were summed, and
/// came within a tenth in windows of 200 ms.
reading<repeated_energy> telemetry::record::energy() const {
  using result = reading<repeated_energy>;
  if (repeated) return *repeated;
  if (!energy_reason.empty()) return result::absent(energy_reason);
  const double ratio =
      static_cast<double>(counter_renewal_ns * windows_count) / static_cast<double>(windows_ns);
  if (ratio > wanted_energy_ratio)
    return result::absent("a run of the stage takes " + in_ms(windows_ns / windows_count) +
                          ", at whose ends the driver's energy counter is up to " +
                          in_ms(counter_renewal_ns) +
                          " old, and it was not repeated (stage1.energy_limit_s)");
  return repeated_energy{static_cast<double>(energy_mj) * joules_per_mj, windows_count, ratio, windows_ns};
}

telemetry::telemetry(const std::optional<std::string>& pci_bus_id, telemetry_options choice)
    : m_options(std::move(choice)) {
  if (!m_options.clock_ns) m_options.clock_ns = steady_clock_ns;
  if (!pci_bus_id) {
    m_absent_reason = "the device is not an NVIDIA GPU";
    return;
  }
  auto opened = std::make_unique<nvml::gpu>(m_options.nvml_library, *pci_bus_id);
  m_absent_reason = opened->failure();
  if (!m_absent_reason.empty()) return;
  m_gpu = std::move(opened);
  if (m_options.interval.count() > 0) m_sampler = std::thread([this] { sample_until_stopped(); });
}

telemetry::~telemetry() {
  {
    const std::lock_guard lock(m_mutex);
    m_stopping = true;
  }
  m_changed.notify_all();
  if (m_sampler.joinable()) m_sampler.join();
}

void telemetry::open_window(const std::string& stage) {
  if (!m_gpu) return;
  const auto energy_mj = m_gpu->total_energy_mj();
  const std::lock_guard lock(m_mutex);
  auto& slot = m_records[stage];
  if (!slot) slot = std::make_unique<record>();
  record& opened = *slot;
  opened.opened_mj.reset();
  if (energy_mj) {
    opened.opened_mj = *energy_mj;
  } else {
    opened.energy_reason = energy_mj.reason();
  }
  m_open = &opened;
  ++m_windows_opened;
  m_changed.notify_all();
  opened.opened_ns = m_options.clock_ns();
}

void telemetry::close_window() {
  if (!m_gpu) return;
  const std::int64_t now_ns = m_options.clock_ns();
  record* closed = nullptr;
  {
    const std::lock_guard lock(m_mutex);
    closed = m_open;
    m_open = nullptr;
  }
  const auto energy_mj = m_gpu->total_energy_mj();
  const std::lock_guard lock(m_mutex);
  closed->close(now_ns, energy_mj);
}

void telemetry::sample_now() {
  if (!m_gpu) return;
  std::uint64_t asked_for = 0;
  {
    const std::lock_guard lock(m_mutex);
    if (m_open == nullptr) return;
    asked_for = m_windows_opened;
  }
  // Without the lock: the driver may take a while, and whoever closes a window must not wait for it.
  const auto sm_clock_mhz = m_gpu->sm_clock_mhz();
  const auto memory_clock_mhz = m_gpu->memory_clock_mhz();
  const auto power_w = m_gpu->power_w();
  const auto temperature_c = m_gpu->temperature_c();
  const auto throttle_bits = m_gpu->throttle_bits();
  const std::lock_guard lock(m_mutex);
  if (m_open == nullptr || m_windows_opened != asked_for) return;  // the stage ended meanwhile
  ++m_open->samples_count;
  m_open->sm_clock_mhz.add(sm_clock_mhz);
  m_open->memory_clock_mhz.add(memory_clock_mhz);
  if (m_options.clock_ns() - m_open->opened_ns >= counter_renewal_ns) m_open->power_w.add(power_w);
  m_open->temperature_c.add(temperature_c);
  if (throttle_bits) {
    m_open->throttle_known = true;
    m_open->throttle_bits |= *throttle_bits;
  } else {
    m_open->throttle_reason = throttle_bits.reason();
  }
}

void telemetry::sample_until_stopped() {
  // The beat runs on between windows: stages shorter than the interval get their samples too, at whatever
  // place inside them the beat falls.
  const std::int64_t beat_ns = std::chrono::nanoseconds(m_options.interval).count();
  std::unique_lock lock(m_mutex);
  while (!m_stopping) {
    m_changed.wait(lock, [this] { return m_stopping || m_open != nullptr; });
    const std::chrono::nanoseconds until_beat(beat_ns - m_options.clock_ns() % beat_ns);
    m_changed.wait_for(lock, until_beat, [this] { return m_stopping; });
    if (m_stopping) return;
    lock.unlock();
    sample_now();
    lock.lock();
  }
}

std::optional<energy_meter> telemetry::meter() {
  if (!m_gpu) return std::nullopt;
  return energy_meter{[this] { return m_gpu->total_energy_mj(); }, m_options.clock_ns};
}

bool telemetry::knows_energy(const std::string& stage) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_records.find(stage);
  return found != m_records.end() && static_cast<bool>(found->second->energy());
}

void telemetry::set_energy(const std::string& stage, const reading<repeated_energy>& repeated) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_records.find(stage);
  if (found != m_records.end()) found->second->repeated = repeated;
}

telemetry_report telemetry::report() const {
  telemetry_report result;
  result.absent_reason = m_absent_reason;
  if (!m_gpu) return result;
  result.power_method = m_gpu->power_method();
  const std::lock_guard lock(m_mutex);
  for (const auto& [stage, taken] : m_records)
    result.stages.emplace(
        stage, stage_telemetry{taken->windows_count, taken->windows_ns, taken->samples_count,
                               spread_of(taken->sm_clock_mhz), spread_of(taken->memory_clock_mhz),
                               spread_of(taken->power_w, "no sample fell " + in_ms(counter_renewal_ns) +
                                                             " or more into a window, and the driver renews "
                                                             "its power reading only that often"),
                               spread_of(taken->temperature_c), taken->throttle_reasons(), taken->energy()});
  return result;
}

}  // namespace profgate::llm
