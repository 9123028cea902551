#include "nvml.h"

#include <dlfcn.h>

#include <array>
#include <cstdio>

namespace profgate::llm::nvml {
namespace {

constexpr int success = 0;
constexpr int sm_clock = 1;
constexpr int memory_clock = 2;
constexpr int gpu_die_sensor = 0;
constexpr unsigned instant_power_field = 186;
constexpr double milli = 1e-3;

}  // namespace

/// One entry of nvmlDeviceGetFieldValues; its layout is NVML's.
struct gpu::field_value {
  unsigned field_id = 0;
  unsigned scope_id = 0;
  long long timestamp_us = 0;
  long long latency_us = 0;
  int value_type = 0;
  int result = 0;
  union {
    unsigned number;
    unsigned long long wide;  // the largest member of NVML's union
  } value = {.wide = 0};
};

template <class Function>
void gpu::find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(::dlsym(m_handle, symbol));
}

template <class Out, class Function, class... Arguments>
reading<Out> gpu::ask(Function function, Arguments... arguments) const {
  if (function == nullptr) return reading<Out>::absent("this driver's NVML does not offer it");
  Out out{};
  const int result = function(m_device, arguments..., &out);
  if (result != success) return reading<Out>::absent("NVML: " + error_text(result));
  return out;
}

gpu::gpu(const std::string& library_file, const std::string& pci_bus_id) {
  open(library_file, pci_bus_id);
}

gpu::~gpu() {
  if (m_initialised && m_shutdown != nullptr) m_shutdown();
  if (m_handle != nullptr) ::dlclose(m_handle);
}

void gpu::open(const std::string& library_file, const std::string& pci_bus_id) {
  m_handle = ::dlopen(library_file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (m_handle == nullptr) {
    m_failure = library_file + " cannot be loaded: this machine or container lacks the driver's NVML";
    return;
  }
  find(m_init, "nvmlInit_v2");
  find(m_shutdown, "nvmlShutdown");
  find(m_error_string, "nvmlErrorString");
  find(m_device_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  find(m_clock, "nvmlDeviceGetClockInfo");
  find(m_temperature, "nvmlDeviceGetTemperature");
  find(m_power_usage, "nvmlDeviceGetPowerUsage");
  find(m_field_values, "nvmlDeviceGetFieldValues");
  find(m_throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  // Its name before driver 535.
  if (m_throttle_reasons == nullptr) find(m_throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(m_total_energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (m_init == nullptr || m_device_by_pci_bus_id == nullptr) {
    m_failure = library_file + " lacks the functions of NVML: it is not NVML, or far too old";
    return;
  }
  int result = m_init();
  m_initialised = result == success;
  if (!m_initialised) {
    m_failure = "NVML cannot start: " + error_text(result);
    return;
  }
  result = m_device_by_pci_bus_id(pci_bus_id.c_str(), &m_device);
  if (result != success) {
    m_failure = "NVML knows no GPU " + pci_bus_id + ": " + error_text(result);
    return;
  }
  m_has_instant_power = static_cast<bool>(instant_power_w());
  m_power_method = m_has_instant_power
                       ? "the driver's instant power"
                       : "the driver's power usage, which newer GPUs average over the last second";
}

std::string gpu::error_text(int result) const {
  const char* const text = m_error_string != nullptr ? m_error_string(result) : nullptr;
  return text != nullptr ? text : "error " + std::to_string(result);
}

reading<double> gpu::sm_clock_mhz() const {
  const auto mhz = ask<unsigned>(m_clock, sm_clock);
  return mhz ? reading<double>(*mhz) : reading<double>::absent(mhz.reason());
}

reading<double> gpu::memory_clock_mhz() const {
  const auto mhz = ask<unsigned>(m_clock, memory_clock);
  return mhz ? reading<double>(*mhz) : reading<double>::absent(mhz.reason());
}

reading<double> gpu::temperature_c() const {
  const auto celsius = ask<unsigned>(m_temperature, gpu_die_sensor);
  return celsius ? reading<double>(*celsius) : reading<double>::absent(celsius.reason());
}

reading<double> gpu::power_w() const {
  if (m_has_instant_power) return instant_power_w();
  const auto milliwatts = ask<unsigned>(m_power_usage);
  return milliwatts ? reading<double>(*milliwatts * milli) : reading<double>::absent(milliwatts.reason());
}

reading<double> gpu::instant_power_w() const {
  field_value field;
  field.field_id = instant_power_field;
  if (m_field_values == nullptr) return reading<double>::absent("this driver's NVML does not offer it");
  int result = m_field_values(m_device, 1, &field);
  if (result == success) result = field.result;
  if (result != success) return reading<double>::absent("NVML: " + error_text(result));
  return field.value.number * milli;
}

reading<unsigned long long> gpu::throttle_bits() const {
  return ask<unsigned long long>(m_throttle_reasons);
}

reading<unsigned long long> gpu::total_energy_mj() const {
  return ask<unsigned long long>(m_total_energy);
}

std::vector<std::string> throttle_reason_names(unsigned long long bits) {
  struct named_bit {
    unsigned long long bit;
    const char* name;
  };
  static constexpr std::array<named_bit, 9> named_bits{{{0x001, "gpu_idle"},
                                                        {0x002, "applications_clocks_setting"},
                                                        {0x004, "software_power_cap"},
                                                        {0x008, "hardware_slowdown"},
                                                        {0x010, "sync_boost"},
                                                        {0x020, "software_thermal_slowdown"},
                                                        {0x040, "hardware_thermal_slowdown"},
                                                        {0x080, "hardware_power_brake"},
                                                        {0x100, "display_clocks_setting"}}};
  std::vector<std::string> names;
  for (const named_bit& entry : named_bits) {
    if ((bits & entry.bit) != 0) names.emplace_back(entry.name);
    bits &= ~entry.bit;
  }
  if (bits != 0) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "unnamed_bits_0x%llx", bits);
    names.emplace_back(text.data());
  }
  return names;
}

}  // namespace profgate::llm::nvml
