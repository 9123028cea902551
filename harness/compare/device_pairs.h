#pragma once

#include <string>
#include <vector>

#include "compare/profile_comparison.h"

/// Where a stage used several devices, each is set beside its like on the other side.
namespace profgate::compare {

struct device_pair {
  std::string a{};  ///< empty: only the other side has one
  std::string b{};

  std::string text() const {
    if (a.empty() || b.empty()) return a + b;
    return a == b ? a : a + " and " + b;
  }
};

/// By their numbers; where the sides ran on other GPUs, in their order. Nothing: neither side has several, or
/// one does not tell what each did, as a stored baseline.
std::vector<device_pair> pair_devices(const side_stage& a, const side_stage& b);

std::vector<side_kernel> kernels_on(const std::string& device, const std::vector<side_kernel>& kernels);

/// Of a side's only device all that the stage has.
template <typename row>
std::vector<row> rows_on(const std::string& device, const side_stage& side,
                         std::vector<row> side_device::*of_device, std::vector<row> side_stage::*of_stage) {
  if (device.empty()) return {};
  const auto found = side.devices.find(device);
  return found == side.devices.end() ? side.*of_stage : found->second.*of_device;
}

}  // namespace profgate::compare
