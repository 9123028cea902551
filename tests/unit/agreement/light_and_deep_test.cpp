#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "analysis/counter_metrics.h"
#include "parsers/ncu.h"

/// qwen3-0.6b.decode-b1 on an H200, counted by ncu in light mode and in deep mode: arithmetic does not depend
/// on it.
namespace profgate::test {
namespace {

namespace fs = std::filesystem;

const fs::path counters_dir = fs::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1/qwen3-0.6b.counters";

/// FLOPs of a launch by kernel, operator and grid.
std::map<std::string, double> flops_in(const std::string& mode) {
  std::map<std::string, double> flops;
  for (const fs::directory_entry& file : fs::directory_iterator(counters_dir / mode)) {
    for (const core::kernel_counters& launch : parsers::read_ncu_counters(file.path())) {
      const analysis::counted_flops counted = analysis::flops_of(launch.metrics);
      EXPECT_TRUE(counted.flops) << launch.kernel_name << ": " << counted.flops.reason();
      flops[launch.open_ranges.back().second + " " + std::to_string(launch.grid[0]) + " " +
            launch.kernel_name] = counted.flops ? *counted.flops : 0;
    }
  }
  return flops;
}

TEST(light_and_deep, count_the_same_arithmetic) {
  const std::map<std::string, double> light = flops_in("light");
  const std::map<std::string, double> deep = flops_in("deep");
  EXPECT_EQ(light.size(), 11U);
  EXPECT_EQ(deep.size(), light.size());
  // Attention rescales where a larger score turns up: how often depends on the token.
  for (const auto& [kernel, flops] : light) EXPECT_NEAR(deep.at(kernel), flops, 1e-3 * flops) << kernel;
}

}  // namespace
}  // namespace profgate::test
