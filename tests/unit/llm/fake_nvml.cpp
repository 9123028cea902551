// Stands in for the driver's NVML: it answers what the test has put into fake_nvml.
#include "fake_nvml.h"

#include <cstring>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr unsigned long long unknown = ~0ULL;
constexpr unsigned instant_power_field = 186;
int handle;

/// As the driver lays it out.
struct field_value {
  unsigned field_id, scope_id;
  long long timestamp_us, latency_us;
  int value_type, result;
  unsigned long long value;
};

int number(unsigned long long* out, unsigned long long value) {
  if (value == unknown) return not_supported;
  *out = value;
  return success;
}

}  // namespace

// The names are NVML's own.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
profgate::llm::testing_support::fake_nvml_state fake_nvml;

int nvmlInit_v2() {
  return fake_nvml.init_result;
}
int nvmlShutdown() {
  return success;
}
const char* nvmlErrorString(int result) {
  return result == not_supported ? "Not Supported" : result == not_found ? "Not Found" : "Driver Not Loaded";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, void** device) {
  if (std::strcmp(pci_bus_id, fake_nvml.pci_bus_id) != 0) return not_found;
  return *device = &handle, success;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) {
  return *mhz = kind == 1 ? fake_nvml.sm_clock_mhz : fake_nvml.memory_clock_mhz, success;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  return *celsius = fake_nvml.temperature_c, success;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  return *milliwatts = fake_nvml.power_mw, success;
}
int nvmlDeviceGetFieldValues(void*, int count, field_value* fields) {
  for (int i = 0; i < count; ++i) {
    const bool known = fields[i].field_id == instant_power_field && fake_nvml.instant_power_mw != 0;
    fields[i].result = known ? success : not_supported;
    fields[i].value = known ? fake_nvml.instant_power_mw : 0;
  }
  return success;
}
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  if (fake_nvml.on_last_reading != nullptr) fake_nvml.on_last_reading(fake_nvml.context);
  return number(bits, fake_nvml.throttle_bits);
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  return number(millijoules, fake_nvml.energy_mj);
}
}
// NOLINTEND(readability-identifier-naming)
