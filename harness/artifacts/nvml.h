#pragma once

#include <string>
#include <vector>

#include "core/measured.h"

/// The few functions of NVML that the harness needs, declared here because build machines have no nvml.h. The
/// one loader of the harness; workloads/llm has its own, since workloads never include the harness.
namespace profgate::artifacts::nvml {

using device = void*;
constexpr int success = 0;
constexpr int insufficient_size = 7;

enum class clock_kind : int { sm = 1, memory = 2 };
constexpr int gpu_die_sensor = 0;

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
  unsigned long long used_bytes;  ///< all ones: not known
  unsigned gpu_instance, compute_instance;
};

/// The loaded library, initialised; a function that it lacks stays null.
class library {
 public:
  explicit library(const std::string& file_name);
  ~library();
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  /// Empty where the library is ready, else why it is not.
  const std::string& failure() const { return m_failure; }
  std::string error_text(int result) const;

  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;
  int (*process_name)(unsigned pid, char*, unsigned) = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, device*) = nullptr;
  int (*name)(device, char*, unsigned) = nullptr;
  int (*uuid)(device, char*, unsigned) = nullptr;
  int (*pci)(device, pci_info*) = nullptr;
  int (*core_count)(device, unsigned*) = nullptr;
  int (*compute_capability)(device, int*, int*) = nullptr;
  int (*memory)(device, memory_info*) = nullptr;
  int (*clock)(device, clock_kind, unsigned* mhz) = nullptr;
  int (*max_clock)(device, clock_kind, unsigned* mhz) = nullptr;
  int (*temperature)(device, int sensor, unsigned* celsius) = nullptr;
  int (*power_limit)(device, unsigned* milliwatts) = nullptr;
  int (*power_usage)(device, unsigned* milliwatts) = nullptr;
  int (*throttle_reasons)(device, unsigned long long* bits) = nullptr;
  int (*compute_processes)(device, unsigned* count, process_info*) = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* symbol);

  void* m_handle = nullptr;
  bool m_initialised = false;
  int (*m_init)() = nullptr;
  int (*m_shutdown)() = nullptr;
  const char* (*m_error_string)(int) = nullptr;
  std::string m_failure;
};

/// The names of the bits that NVML sets while it holds the clocks back.
std::vector<std::string> throttle_reason_names(unsigned long long bits);

/// Multiprocessors from CUDA cores: NVML counts cores, of which an SM has a number fixed by its generation.
core::measured<long long> multiprocessors(unsigned cores, int capability_major, int capability_minor);

}  // namespace profgate::artifacts::nvml
