#include "nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

namespace profgate::artifacts::nvml {

template <class Function>
void library::find(Function& function, const char* symbol) {
  function = reinterpret_cast<Function>(::dlsym(m_handle, symbol));
}

library::library(const std::string& file_name)
    : m_handle(::dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (m_handle == nullptr) {
    m_failure = fmt::format("{} cannot be loaded: no NVIDIA driver is installed here", file_name);
    return;
  }
  find(m_init, "nvmlInit_v2");
  find(m_shutdown, "nvmlShutdown");
  find(m_error_string, "nvmlErrorString");
  find(driver_version, "nvmlSystemGetDriverVersion");
  find(cuda_version, "nvmlSystemGetCudaDriverVersion_v2");
  find(process_name, "nvmlSystemGetProcessName");
  find(device_count, "nvmlDeviceGetCount_v2");
  find(device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  find(name, "nvmlDeviceGetName");
  find(uuid, "nvmlDeviceGetUUID");
  find(pci, "nvmlDeviceGetPciInfo_v3");
  find(core_count, "nvmlDeviceGetNumGpuCores");
  find(compute_capability, "nvmlDeviceGetCudaComputeCapability");
  find(memory, "nvmlDeviceGetMemoryInfo");
  find(clock, "nvmlDeviceGetClockInfo");
  find(max_clock, "nvmlDeviceGetMaxClockInfo");
  find(temperature, "nvmlDeviceGetTemperature");
  find(power_limit, "nvmlDeviceGetPowerManagementLimit");
  find(power_usage, "nvmlDeviceGetPowerUsage");
  find(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (m_init == nullptr) {
    m_failure = fmt::format("{} has no nvmlInit_v2: it is not NVML, or far too old", file_name);
    return;
  }
  const int result = m_init();
  m_initialised = result == success;
  if (!m_initialised) m_failure = "NVML cannot start: " + error_text(result);
}

library::~library() {
  if (m_initialised && m_shutdown != nullptr) m_shutdown();
  if (m_handle != nullptr) ::dlclose(m_handle);
}

std::string library::error_text(int result) const {
  const char* const text = m_error_string != nullptr ? m_error_string(result) : nullptr;
  return text != nullptr ? text : fmt::format("error {}", result);
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
  if (bits != 0) names.push_back(fmt::format("unnamed_bits_0x{:x}", bits));
  return names;
}

core::measured<long long> multiprocessors(unsigned cores, int capability_major, int capability_minor) {
  struct generation {
    int major;
    int minor;
    unsigned cores_per_multiprocessor;
  };
  static constexpr std::array<generation, 10> generations{{{7, 0, 64},
                                                           {7, 5, 64},
                                                           {8, 0, 64},
                                                           {8, 6, 128},
                                                           {8, 7, 128},
                                                           {8, 9, 128},
                                                           {9, 0, 128},
                                                           {10, 0, 128},
                                                           {10, 3, 128},
                                                           {12, 0, 128}}};
  for (const generation& entry : generations) {
    if (entry.major == capability_major && entry.minor == capability_minor) {
      return static_cast<long long>(cores / entry.cores_per_multiprocessor);
    }
  }
  return core::measured<long long>::absent(
      fmt::format("the cores a multiprocessor of compute capability {}.{} has "
                  "are not in profgate's table",
                  capability_major, capability_minor));
}

}  // namespace profgate::artifacts::nvml
