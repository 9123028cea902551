#include "device_pairs.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace profgate::compare {
namespace {

std::vector<std::string> devices_of(const side_stage& stage) {
  std::map<std::pair<std::size_t, std::string>, bool> devices;  // cuda:10 comes after cuda:9
  for (const side_kernel& kernel : stage.kernels) devices[{kernel.device.size(), kernel.device}] = true;
  std::vector<std::string> names;
  for (const auto& [key, present] : devices) names.push_back(key.second);
  return names;
}

bool includes(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::all_of(some.begin(), some.end(), [&](const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  });
}

}  // namespace

std::vector<device_pair> pair_devices(const side_stage& a, const side_stage& b) {
  const std::vector<std::string> of_a = devices_of(a);
  const std::vector<std::string> of_b = devices_of(b);
  if (of_a.size() < 2 && of_b.size() < 2) return {};
  const auto tells = [](const side_stage& side, const std::vector<std::string>& names) {
    return names.size() == 1 ? !names.front().empty()
                             : std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                                 return side.devices.count(name) > 0;
                               });
  };
  if (!tells(a, of_a) || !tells(b, of_b) || of_a.empty() || of_b.empty()) return {};
  std::vector<device_pair> pairs;
  if (includes(of_a, of_b) || includes(of_b, of_a)) {
    for (const std::string& name : of_a.size() > of_b.size() ? of_a : of_b)
      pairs.push_back({includes(of_a, {name}) ? name : "", includes(of_b, {name}) ? name : ""});
    return pairs;
  }
  for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i)
    pairs.push_back({i < of_a.size() ? of_a[i] : "", i < of_b.size() ? of_b[i] : ""});
  return pairs;
}

std::vector<side_kernel> kernels_on(const std::string& device, const std::vector<side_kernel>& kernels) {
  std::vector<side_kernel> some;
  std::copy_if(kernels.begin(), kernels.end(), std::back_inserter(some),
               [&](const side_kernel& kernel) { return !device.empty() && kernel.device == device; });
  return some;
}

}  // namespace profgate::compare
