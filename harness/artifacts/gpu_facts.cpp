#include "artifacts/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/utc_time.h"
#include "nvml.h"

namespace profgate::artifacts {
namespace {

/// Calls one function of NVML that fills `out`; the reason where the function is missing or fails.
template <class Out, class Function, class... Arguments>
core::measured<Out> ask(const nvml::library& api, Function function, Arguments... arguments) {
  if (function == nullptr) return core::measured<Out>::absent("this driver's NVML does not offer it");
  Out out{};
  const int result = function(arguments..., &out);
  if (result != nvml::success) return core::measured<Out>::absent("NVML: " + api.error_text(result));
  return out;
}

template <class Function, class... Arguments>
core::measured<std::string> ask_text(const nvml::library& api, Function function, Arguments... arguments) {
  if (function == nullptr) return core::measured<std::string>::absent("this driver's NVML does not offer it");
  std::array<char, 256> text{};
  const int result = function(arguments..., text.data(), static_cast<unsigned>(text.size() - 1));
  if (result != nvml::success) return core::measured<std::string>::absent("NVML: " + api.error_text(result));
  return std::string(text.data());
}

/// Turns a measured A into a measured B by `convert`; the reason passes through.
template <class B, class A, class Convert>
core::measured<B> convert_measured(const core::measured<A>& from, Convert convert) {
  if (!from) return core::measured<B>::absent(from.reason());
  return B(convert(*from));
}

core::measured<std::int64_t> as_integer(const core::measured<unsigned>& from) {
  return convert_measured<std::int64_t>(from, [](unsigned value) { return std::int64_t{value}; });
}

core::measured<double> milliwatts_as_watts(const core::measured<unsigned>& from) {
  return convert_measured<double>(from, [](unsigned milliwatts) { return milliwatts / 1000.0; });
}

core::measured<std::vector<gpu_process>> processes_on(const nvml::library& api, nvml::device device) {
  using result_type = core::measured<std::vector<gpu_process>>;
  if (api.compute_processes == nullptr) return result_type::absent("this driver's NVML does not offer it");
  std::vector<nvml::process_info> found(64);
  unsigned count = 0;
  int result = nvml::insufficient_size;
  // Processes come and go between two calls: ask again with room to spare until the list fits.
  for (int attempt = 0; attempt < 4 && result == nvml::insufficient_size; ++attempt) {
    found.resize(std::max<std::size_t>(found.size(), std::size_t{count} * 2));
    count = static_cast<unsigned>(found.size());
    result = api.compute_processes(device, &count, found.data());
  }
  if (result != nvml::success) return result_type::absent("NVML: " + api.error_text(result));
  std::vector<gpu_process> processes;
  for (unsigned i = 0; i < count; ++i) {
    gpu_process process;
    process.pid = found[i].pid;
    process.name = ask_text(api, api.process_name, found[i].pid);
    if (found[i].used_bytes == std::numeric_limits<unsigned long long>::max()) {
      process.memory_bytes =
          core::measured<std::int64_t>::absent("the driver does not tell (another container?)");
    } else {
      process.memory_bytes = static_cast<std::int64_t>(found[i].used_bytes);
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

/// Fills what derives from the core count and the compute capability.
void describe_architecture(const nvml::library& api, nvml::device device, gpu_device& facts) {
  int major = 0;
  int minor = 0;
  const bool has_capability =
      api.compute_capability != nullptr && api.compute_capability(device, &major, &minor) == nvml::success;
  const core::measured<unsigned> cores = ask<unsigned>(api, api.core_count, device);
  if (!has_capability) {
    const std::string reason = "NVML does not tell the compute capability";
    facts.compute_capability = core::measured<std::string>::absent(reason);
    facts.multiprocessor_count = core::measured<std::int64_t>::absent(reason);
    return;
  }
  facts.compute_capability = fmt::format("{}.{}", major, minor);
  if (!cores) {
    facts.multiprocessor_count = core::measured<std::int64_t>::absent(cores.reason());
    return;
  }
  facts.multiprocessor_count =
      convert_measured<std::int64_t>(nvml::multiprocessors(*cores, major, minor),
                                     [](long long count) { return static_cast<std::int64_t>(count); });
}

gpu_device describe_device(const nvml::library& api, nvml::device device, unsigned index) {
  gpu_device facts;
  facts.index = index;
  facts.name = ask_text(api, api.name, device);
  facts.uuid = ask_text(api, api.uuid, device);
  facts.pci_bus_id =
      convert_measured<std::string>(ask<nvml::pci_info>(api, api.pci, device), [](const nvml::pci_info& pci) {
        return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
      });
  describe_architecture(api, device, facts);
  const core::measured<nvml::memory_info> memory = ask<nvml::memory_info>(api, api.memory, device);
  facts.memory_total_bytes = convert_measured<std::int64_t>(
      memory, [](const nvml::memory_info& info) { return static_cast<std::int64_t>(info.total); });
  facts.memory_used_bytes = convert_measured<std::int64_t>(
      memory, [](const nvml::memory_info& info) { return static_cast<std::int64_t>(info.used); });
  facts.sm_clock_mhz = as_integer(ask<unsigned>(api, api.clock, device, nvml::clock_kind::sm));
  facts.sm_clock_max_mhz = as_integer(ask<unsigned>(api, api.max_clock, device, nvml::clock_kind::sm));
  facts.memory_clock_mhz = as_integer(ask<unsigned>(api, api.clock, device, nvml::clock_kind::memory));
  facts.memory_clock_max_mhz =
      as_integer(ask<unsigned>(api, api.max_clock, device, nvml::clock_kind::memory));
  facts.temperature_c = as_integer(ask<unsigned>(api, api.temperature, device, nvml::gpu_die_sensor));
  facts.power_w = milliwatts_as_watts(ask<unsigned>(api, api.power_usage, device));
  facts.power_limit_w = milliwatts_as_watts(ask<unsigned>(api, api.power_limit, device));
  facts.throttle_reasons = convert_measured<std::vector<std::string>>(
      ask<unsigned long long>(api, api.throttle_reasons, device), nvml::throttle_reason_names);
  facts.processes = processes_on(api, device);
  return facts;
}

core::measured<std::vector<gpu_device>> describe_devices(const nvml::library& api) {
  using result_type = core::measured<std::vector<gpu_device>>;
  const core::measured<unsigned> count = ask<unsigned>(api, api.device_count);
  if (!count) return result_type::absent(count.reason());
  std::vector<gpu_device> devices;
  for (unsigned index = 0; index < *count; ++index) {
    const core::measured<nvml::device> device = ask<nvml::device>(api, api.device_by_index, index);
    if (!device) return result_type::absent(fmt::format("GPU {}: {}", index, device.reason()));
    devices.push_back(describe_device(api, *device, index));
  }
  return devices;
}

}  // namespace

gpu_facts gather_gpu_facts(const std::string& nvml_library) {
  gpu_facts facts;
  facts.taken_utc = core::utc_timestamp();
  const nvml::library api(nvml_library);
  if (!api.failure().empty()) {
    facts.driver_version = core::measured<std::string>::absent(api.failure());
    facts.cuda_driver_version = core::measured<std::string>::absent(api.failure());
    facts.devices = core::measured<std::vector<gpu_device>>::absent(api.failure());
    return facts;
  }
  facts.driver_version = ask_text(api, api.driver_version);
  facts.cuda_driver_version = convert_measured<std::string>(ask<int>(api, api.cuda_version), [](int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  });
  facts.devices = describe_devices(api);
  return facts;
}

}  // namespace profgate::artifacts
