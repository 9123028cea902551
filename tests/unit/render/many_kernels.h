#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/json.h"

namespace profgate::render {

/// A profile with this many kernels in its last stage, under forty operators, with names as long as
/// PyTorch's, and counters of a tenth of them.
inline std::string profile_of_many_kernels(const std::string& profile_text, std::size_t kernels) {
  nlohmann::ordered_json profile = core::parse_ordered_json(profile_text);
  nlohmann::ordered_json& stage = profile["stages"].back();
  const nlohmann::ordered_json kernel = stage["kernels"].front();
  const nlohmann::ordered_json group = stage["kernel_groups"].front();
  const nlohmann::ordered_json counted = stage["counters"]["kernels"].front();
  for (const char* list : {"kernels", "kernel_groups"}) stage[list] = nlohmann::ordered_json::array();
  stage["counters"]["kernels"] = nlohmann::ordered_json::array();
  profile["kernels"]["overall"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kernels; ++i) {
    const std::string name = fmt::format(
        "void at::native::elementwise_kernel<(int)128, (int)4, void "
        "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, "
        "at::native::functor_{}<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance "
        "1)]>(int, T3)",
        i);
    const std::string op = fmt::format("model.layers.*.block_{}", i % 40);
    const std::int64_t own_ns = 1'000'000 - static_cast<std::int64_t>(i) * 50;
    nlohmann::ordered_json one = kernel;
    one["kernel_name"] = name;
    one["total_ns"] = one["own_ns"] = own_ns;
    profile["kernels"]["overall"].push_back(one);
    stage["kernels"].push_back(one);
    nlohmann::ordered_json grouped = group;
    grouped["kernel_name"] = name;
    grouped["op_name"] = op;
    grouped["total_ns"] = grouped["own_ns"] = own_ns;
    stage["kernel_groups"].push_back(grouped);
    if (i % 10 != 0) continue;
    nlohmann::ordered_json with_counters = counted;
    with_counters["kernel_name"] = name;
    with_counters["op"] = op;
    stage["counters"]["kernels"].push_back(with_counters);
  }
  return profile.dump();
}

}  // namespace profgate::render
