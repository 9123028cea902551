#include "artifacts/gpu_facts.h"

#include <gmock/gmock.h>

/// The NVML declarations are our own: only a real driver shows that they are right.
namespace profgate::artifacts {
namespace {

using ::testing::HasSubstr;

TEST(gpu_facts, of_a_real_gpu_are_complete_and_plausible) {
  const gpu_facts facts = gather_gpu_facts();
  if (!facts.devices) GTEST_SKIP() << facts.devices.reason();
  ASSERT_FALSE(facts.devices->empty());
  ASSERT_TRUE(facts.driver_version);
  ASSERT_TRUE(facts.cuda_driver_version);
  const gpu_device& gpu = facts.devices->front();
  EXPECT_THAT(gpu.uuid.value_or(gpu.uuid.reason()), HasSubstr("GPU-"));
  EXPECT_THAT(gpu.compute_capability.value_or(gpu.compute_capability.reason()), HasSubstr("."));
  EXPECT_GT(gpu.memory_total_bytes.value_or(0), std::int64_t{1} << 30) << gpu.memory_total_bytes.reason();
  EXPECT_GT(gpu.multiprocessor_count.value_or(0), 0) << gpu.multiprocessor_count.reason();
  EXPECT_LE(gpu.sm_clock_mhz.value_or(0), gpu.sm_clock_max_mhz.value_or(0)) << gpu.sm_clock_mhz.reason();
  EXPECT_GT(gpu.memory_clock_max_mhz.value_or(0), 0) << gpu.memory_clock_max_mhz.reason();
  EXPECT_GT(gpu.temperature_c.value_or(0), 0) << gpu.temperature_c.reason();
  EXPECT_LT(gpu.temperature_c.value_or(0), 120);
  EXPECT_GT(gpu.power_limit_w.value_or(0), 10) << gpu.power_limit_w.reason();
  EXPECT_TRUE(gpu.throttle_reasons) << gpu.throttle_reasons.reason();
  EXPECT_TRUE(gpu.processes) << gpu.processes.reason();
}

}  // namespace
}  // namespace profgate::artifacts
