// A real change on an H200: half as many splits in the decode attention made Qwen3-0.6B slower by 10 %. Under
// programmatic dependent launch each kernel is resident while it waits for the one before it, so who is
// slower must be told from who waits longer.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "analysis/exclusive_time.h"
#include "analysis/stage_operations.h"
#include "artifacts/files.h"
#include "parsers/timeline.h"

namespace profgate::analysis {
namespace {

namespace fs = std::filesystem;

/// Mean exclusive time a launch inside decode_all in µs, by kernel.
std::map<std::string, double> exclusive_us_of(const std::string& recording) {
  const fs::path data = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/overlapping-kernels";
  const fs::path copy =
      fs::path(::testing::TempDir()) / (recording + "-" + std::to_string(getpid()) + ".sqlite");
  std::ofstream(copy, std::ios::binary) << artifacts::read_file(data / (recording + ".sqlite"));
  const core::timeline timeline = parsers::read_nsys_sqlite(copy);
  fs::remove(copy);
  const stage_operations decode = sum_up(label_operations(timeline, "decode_all", {"LLM"}).occurrences);
  std::map<std::string, double> exclusive_us;
  for (const operation_sum& sum : decode.operations) {
    exclusive_us[sum.name] =
        static_cast<double>(whole_ns(sum.exclusive_units)) * 1e-3 / static_cast<double>(sum.launches);
  }
  return exclusive_us;
}

TEST(overlapping_kernels, only_the_slower_kernel_has_another_exclusive_time) {
  const std::map<std::string, double> before = exclusive_us_of("baseline");
  const std::map<std::string, double> after = exclusive_us_of("slower-attention");
  ASSERT_EQ(before.size(), after.size());
  ASSERT_GE(before.size(), 6U);
  for (const auto& [name, before_us] : before) {
    ASSERT_TRUE(after.contains(name)) << name;
    const double after_us = after.at(name);
    if (name.find("split_attention") != std::string::npos) {
      EXPECT_NEAR(before_us, 7.88, 0.005);
      EXPECT_NEAR(after_us, 9.32, 0.005);
    } else {
      EXPECT_LT(std::abs(after_us - before_us), 0.2) << name << ": " << before_us << " → " << after_us;
    }
  }
}

}  // namespace
}  // namespace profgate::analysis
