#include "artifacts/gpu_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace profgate::artifacts {
namespace {

constexpr const char* wish_variable = "PROFGATE_GPU";
constexpr const char* visible_variable = "CUDA_VISIBLE_DEVICES";

template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool is_whole = !text.empty() && parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::string description_of(const gpu_device& gpu) {
  return fmt::format("{} ({}, {}, {})", gpu.index, gpu.name.value_or("a GPU without a name"),
                     gpu.uuid.value_or("no UUID"), gpu.pci_bus_id.value_or("no PCI address"));
}

[[noreturn]] void refuse(const std::string& source, const std::string& what,
                         const std::vector<gpu_device>& devices) {
  std::vector<std::string> there;
  for (const gpu_device& gpu : devices) there.push_back(description_of(gpu));
  throw core::bad_input(fmt::format("{}: {}", source, what),
                        fmt::format("name one of those that are here: {}", fmt::join(there, "; ")));
}

/// By index, by UUID or the beginning of one, by PCI address.
const gpu_device& named_gpu(const std::vector<gpu_device>& devices, const std::string& name,
                            const std::string& source) {
  if (name.starts_with("MIG-")) {
    refuse(source,
           fmt::format("{} is a MIG instance, a part of a GPU: its clocks, peaks and memory cannot be told "
                       "from the whole's, so it is not supported",
                       name),
           devices);
  }
  const std::optional<std::int64_t> index = whole_number<std::int64_t>(name);
  const std::optional<std::string> address = normal_pci_bus_id(name);
  std::vector<const gpu_device*> found;
  for (const gpu_device& gpu : devices) {
    const bool is_it = index     ? gpu.index == *index
                       : address ? gpu.pci_bus_id.value_or("") == *address
                                 : name.starts_with("GPU-") && gpu.uuid.value_or("").starts_with(name);
    if (is_it) found.push_back(&gpu);
  }
  if (found.empty()) refuse(source, fmt::format("there is no GPU '{}'", name), devices);
  if (found.size() > 1) refuse(source, fmt::format("'{}' may be any of several GPUs", name), devices);
  return *found.front();
}

std::optional<std::string> environment_text(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

gpu_wish gpu_wish::of_this_process() {
  gpu_wish wish{environment_text(wish_variable), environment_text(visible_variable)};
  if (wish.profgate_gpu && wish.profgate_gpu->empty()) wish.profgate_gpu.reset();
  return wish;
}

core::measured<gpu_device> chosen_gpu(const gpu_facts& facts, const gpu_wish& wish) {
  using result_type = core::measured<gpu_device>;
  if (!facts.devices) return result_type::absent(facts.devices.reason());
  const std::vector<gpu_device>& devices = *facts.devices;
  if (devices.empty()) return result_type::absent("the driver sees none");
  if (wish.profgate_gpu) return named_gpu(devices, *wish.profgate_gpu, wish_variable);
  if (!wish.visible_devices) return devices.front();
  const std::string first = wish.visible_devices->substr(0, wish.visible_devices->find(','));
  // To CUDA both mean that a program may use none.
  if (first.empty() || first == "-1")
    return result_type::absent(fmt::format("{} is '{}', which hides every GPU", visible_variable, first));
  return named_gpu(devices, first, visible_variable);
}

void hand_gpu_to_children(const gpu_facts& facts) {
  const gpu_wish wish = gpu_wish::of_this_process();
  if (!wish.profgate_gpu) return;
  const core::measured<gpu_device> gpu = chosen_gpu(facts, wish);
  if (!gpu || !gpu->uuid) return;
  ::setenv(visible_variable, gpu->uuid->c_str(), 1);
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
}

void require_chosen_gpu(const gpu_device& chosen, const std::string& pci_bus_id_of_workload) {
  const std::optional<std::string> used = normal_pci_bus_id(pci_bus_id_of_workload);
  if (!used || !chosen.pci_bus_id || *used == *chosen.pci_bus_id) return;
  throw core::step_failure(
      fmt::format("the workload ran on the GPU {}, but {} was watched and its peaks were used", *used,
                  description_of(chosen)),
      fmt::format("set {}={} (CUDA's own order of the GPUs is not that of their PCI addresses), and let the "
                  "workload take the first GPU that it sees",
                  wish_variable, *used));
}

std::optional<std::string> normal_pci_bus_id(const std::string& text) {
  std::string rest = text;
  unsigned domain = 0;
  if (std::count(rest.begin(), rest.end(), ':') == 2) {
    const std::optional<unsigned> given = whole_number<unsigned>(rest.substr(0, rest.find(':')), 16);
    if (!given) return std::nullopt;
    domain = *given;
    rest.erase(0, rest.find(':') + 1);
  }
  const std::size_t colon = rest.find(':');
  const std::size_t dot = rest.find('.');
  if (colon == std::string::npos || dot == std::string::npos || dot < colon) return std::nullopt;
  const auto bus = whole_number<unsigned>(rest.substr(0, colon), 16);
  const auto device = whole_number<unsigned>(rest.substr(colon + 1, dot - colon - 1), 16);
  const auto function = whole_number<unsigned>(rest.substr(dot + 1), 16);
  if (!bus || !device || !function) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, *bus, *device, *function);
}

}  // namespace profgate::artifacts
