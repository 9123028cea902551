// Two GPUs as a driver might show them: the first complete, the second old and tight-lipped.
// PROFGATE_FAKE_NVML_FAILS=1 makes it a driver that cannot start.
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int insufficient_size = 7;
constexpr int driver_not_loaded = 9;
int handles[2];

bool is_first(const void* device) {
  return device == &handles[0];
}

int text(char* out, unsigned size, const char* value) {
  std::snprintf(out, size, "%s", value);
  return success;
}

int number(const void* device, unsigned* out, unsigned value) {
  if (!is_first(device)) return not_supported;
  *out = value;
  return success;
}

struct memory_info {
  unsigned long long total, free, used;
};

struct pci_info {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

struct process_info {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

// The names are NVML's own.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
int nvmlInit_v2() {
  return std::getenv("PROFGATE_FAKE_NVML_FAILS") != nullptr ? driver_not_loaded : success;
}
int nvmlShutdown() {
  return success;
}
const char* nvmlErrorString(int result) {
  return result == not_supported       ? "Not Supported"
         : result == driver_not_loaded ? "Driver Not Loaded"
                                       : "Unknown";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return text(out, size, "580.65.06");
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return *version = 13000, success;
}
int nvmlSystemGetProcessName(unsigned, char* out, unsigned size) {
  return text(out, size, "python3");
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return *count = 2, success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  return *device = &handles[index], success;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  return text(out, size, is_first(device) ? "NVIDIA H200" : "NVIDIA Old");
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  return text(out, size, is_first(device) ? "GPU-1234" : "GPU-1299");
}
int nvmlDeviceGetPciInfo_v3(void* device, pci_info* out) {
  *out = {};
  out->bus = is_first(device) ? 0x3b : 0xd8;
  return success;
}
int nvmlDeviceGetNumGpuCores(void* device, unsigned* cores) {
  *cores = is_first(device) ? 16896 : 1000;
  return success;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = is_first(device) ? 9 : 3;
  *minor = 0;
  return success;
}
int nvmlDeviceGetMemoryInfo(void*, memory_info* info) {
  return *info = {1000, 900, 100}, success;
}
int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* mhz) {
  return number(device, mhz, kind == 1 ? 345 : 3201);
}
int nvmlDeviceGetMaxClockInfo(void* device, int kind, unsigned* mhz) {
  return number(device, mhz, kind == 1 ? 1980 : 3201);
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  return number(device, celsius, 31);
}
int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* milliwatts) {
  return number(device, milliwatts, 700000);
}
// nvmlDeviceGetPowerUsage is missing, as a function newer than the driver would be.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  if (!is_first(device)) return not_supported;
  *bits = 0x1 | 0x4 | 0x4000;
  return success;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, process_info* infos) {
  if (!is_first(device)) return *count = 0, success;
  constexpr unsigned running = 100;  // more than a caller's first guess may hold
  const unsigned room = *count;
  *count = running;
  if (room < running) return insufficient_size;
  for (unsigned i = 0; i < running; ++i) infos[i] = {1000 + i, i == 0 ? 4096ULL : ~0ULL, 0, 0};
  return success;
}
}
// NOLINTEND(readability-identifier-naming)
