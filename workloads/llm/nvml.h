#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/reading.h"

/// The few functions of NVML that telemetry needs, declared here because build machines have no nvml.h. The
/// one loader of the workloads; the harness has its own (artifacts/nvml.h), which they never include.
namespace profgate::llm::nvml {

using device = void*;

/// The loaded library with the one GPU that is watched. Safe to ask from several threads, as NVML is.
class gpu {
 public:
  /// Does not throw: see failure().
  gpu(const std::string& library_file, const std::string& pci_bus_id);
  ~gpu();
  gpu(const gpu&) = delete;
  gpu& operator=(const gpu&) = delete;

  /// Empty where the GPU can be asked, else why not.
  const std::string& failure() const { return m_failure; }

  reading<double> sm_clock_mhz() const;
  reading<double> memory_clock_mhz() const;
  reading<double> temperature_c() const;
  /// At this moment where the driver offers it, else nvmlDeviceGetPowerUsage's figure.
  reading<double> power_w() const;
  /// Which of the two power_w() gives, in words.
  const std::string& power_method() const { return m_power_method; }
  /// The bits that the driver sets while it holds the clocks back.
  reading<unsigned long long> throttle_bits() const;
  /// Since the driver was loaded.
  reading<unsigned long long> total_energy_mj() const;

 private:
  struct field_value;

  template <class Function>
  void find(Function& function, const char* symbol);
  template <class Out, class Function, class... Arguments>
  reading<Out> ask(Function function, Arguments... arguments) const;
  reading<double> instant_power_w() const;
  std::string error_text(int result) const;
  void open(const std::string& library_file, const std::string& pci_bus_id);

  void* m_handle = nullptr;
  bool m_initialised = false;
  device m_device = nullptr;
  bool m_has_instant_power = false;
  std::string m_power_method;
  std::string m_failure;

  int (*m_init)() = nullptr;
  int (*m_shutdown)() = nullptr;
  const char* (*m_error_string)(int) = nullptr;
  int (*m_device_by_pci_bus_id)(const char*, device*) = nullptr;
  int (*m_clock)(device, int kind, unsigned* mhz) = nullptr;
  int (*m_temperature)(device, int sensor, unsigned* celsius) = nullptr;
  int (*m_power_usage)(device, unsigned* milliwatts) = nullptr;
  int (*m_field_values)(device, int count, field_value*) = nullptr;
  int (*m_throttle_reasons)(device, unsigned long long* bits) = nullptr;
  int (*m_total_energy)(device, unsigned long long* millijoules) = nullptr;
};

/// The names of the bits, as env.json spells them; a bit without a name keeps its number.
std::vector<std::string> throttle_reason_names(unsigned long long bits);

}  // namespace profgate::llm::nvml
