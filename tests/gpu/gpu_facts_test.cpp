#include "artifacts/gpu_facts.h"

#include <gmock/gmock.h>

/// The NVML declarations are our own: only a real driver shows that they are right.
namespace profgate::artifacts {
namespace {

using ::testing::HasSubstr;

TEST(gpu_facts, of_a_real_gpu_are_complete_and_plausible) {
  const gpu_facts facts = gather_gpu_facts();
  if (!facts.devices.value()) GTEST_SKIP() << facts.devices.reason();
  ASSERT_FALSE(facts.devices.value()->empty());
  ASSERT_TRUE(facts.driver_version.value());
  ASSERT_TRUE(facts.cuda_driver_version.value());
  const gpu_device& gpu = facts.devices.value()->front();
  EXPECT_THAT(gpu.uuid.value().value_or(gpu.uuid.reason()), HasSubstr("GPU-"));
  EXPECT_THAT(gpu.compute_capability.value().value_or(gpu.compute_capability.reason()), HasSubstr("."));
  EXPECT_GT(gpu.memory_total_bytes.value().value_or(0), std::int64_t{1} << 30)
      << gpu.memory_total_bytes.reason();
  EXPECT_GT(gpu.multiprocessor_count.value().value_or(0), 0) << gpu.multiprocessor_count.reason();
  EXPECT_LE(gpu.sm_clock_mhz.value().value_or(0), gpu.sm_clock_max_mhz.value().value_or(0))
      << gpu.sm_clock_mhz.reason();
  EXPECT_GT(gpu.memory_clock_max_mhz.value().value_or(0), 0) << gpu.memory_clock_max_mhz.reason();
  EXPECT_GT(gpu.temperature_c.value().value_or(0), 0) << gpu.temperature_c.reason();
  EXPECT_LT(gpu.temperature_c.value().value_or(0), 120);
  EXPECT_GT(gpu.power_limit_w.value().value_or(0), 10) << gpu.power_limit_w.reason();
  EXPECT_TRUE(gpu.throttle_reasons.value()) << gpu.throttle_reasons.reason();
  EXPECT_TRUE(gpu.processes.value()) << gpu.processes.reason();
}

}  // namespace
}  // namespace profgate::artifacts
