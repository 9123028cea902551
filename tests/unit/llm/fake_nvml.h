#pragma once

namespace profgate::llm::testing_support {

/// What the stand-in for the driver's library answers. A test finds it in the loaded library by the name
/// "fake_nvml" and sets it before anyone asks.
struct fake_nvml_state {
  int init_result = 0;
  const char* pci_bus_id = "0000:1B:00.0";
  unsigned sm_clock_mhz = 1980;
  unsigned memory_clock_mhz = 3201;
  unsigned temperature_c = 40;
  unsigned power_mw = 700000;                ///< averaged
  unsigned instant_power_mw = 350000;        ///< 0: not supported
  unsigned long long throttle_bits = 0;      ///< all ones: not supported
  unsigned long long energy_mj = 0;          ///< all ones: not supported
  void (*on_last_reading)(void*) = nullptr;  ///< called in the last reading of a sample
  void* context = nullptr;
};

}  // namespace profgate::llm::testing_support
