#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "llm/energy.h"
#include "llm/reading.h"

namespace profgate::llm {

namespace nvml {
class gpu;
}

/// What a GPU did while one stage was timed.
struct stage_telemetry {
  struct spread {
    double min = 0;
    double median = 0;
    double max = 0;
  };

  std::int64_t windows_count = 0;
  std::int64_t windows_ns = 0;  ///< of all windows together
  std::int64_t samples_count = 0;
  reading<spread> sm_clock_mhz;
  reading<spread> memory_clock_mhz;
  reading<spread> power_w;
  reading<spread> temperature_c;
  reading<std::vector<std::string>> throttle_reasons;  ///< in any of the samples
  reading<repeated_energy> energy;                     ///< of the windows, or of runs outside of them
};

struct telemetry_report {
  std::string absent_reason = "it is recorded only in --mode bench";  ///< not empty: there is none
  std::string power_method;
  std::map<std::string, stage_telemetry> stages;
};

struct telemetry_options {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::chrono::milliseconds interval{20};       ///< between two samples; 0: only sample_now() samples
  std::function<std::int64_t()> clock_ns = {};  ///< empty: the steady clock
};

/// Watches one GPU while windows are open. Its thread asks the driver, not the GPU's queues; the energy
/// counter is read before a window's work begins and after it has ended.
class telemetry {
 public:
  /// Never throws on a machine without NVML: the report says why there is nothing in it. No bus id: the
  /// device is no NVIDIA GPU.
  explicit telemetry(const std::optional<std::string>& pci_bus_id, telemetry_options choice = {});
  ~telemetry();
  telemetry(const telemetry&) = delete;
  telemetry& operator=(const telemetry&) = delete;

  /// Open around one timed run of a stage, one at a time, with the device idle at both ends.
  class window {
   public:
    window(telemetry& owner, const std::string& stage) : m_owner(owner) { m_owner.open_window(stage); }
    ~window() { m_owner.close_window(); }
    window(const window&) = delete;
    window& operator=(const window&) = delete;

   private:
    telemetry& m_owner;
  };

  /// Takes one sample for the open window, as the thread does; without a window it does nothing.
  void sample_now();

  /// For measuring outside of windows; nothing where there is no GPU to ask.
  std::optional<energy_meter> meter();
  /// Whether the stage's windows are long enough to tell it to wanted_energy_ratio.
  bool knows_energy(const std::string& stage) const;
  /// In place of what the stage's windows tell.
  void set_energy(const std::string& stage, const reading<repeated_energy>& repeated);

  telemetry_report report() const;

 private:
  struct record;

  void open_window(const std::string& stage);
  void close_window();
  void sample_until_stopped();

  telemetry_options m_options;
  std::string m_absent_reason;
  std::unique_ptr<nvml::gpu> m_gpu;
  mutable std::mutex m_mutex;
  std::condition_variable m_changed;
  std::map<std::string, std::unique_ptr<record>> m_records;  ///< by stage
  record* m_open = nullptr;                                  ///< of the open window
  std::uint64_t m_windows_opened = 0;
  bool m_stopping = false;
  std::thread m_sampler;  ///< last: it uses all of the above
};

}  // namespace profgate::llm
