#include "artifacts/gpu_facts.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace profgate::artifacts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(gpu_facts, without_a_driver_gives_the_reason) {
  const gpu_facts facts = gather_gpu_facts("libprofgate-no-such-library.so.1");
  EXPECT_EQ(facts.devices.has_value(), false);
  EXPECT_THAT(facts.devices.reason(), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(facts.driver_version.reason(), HasSubstr("libprofgate-no-such-library.so.1"));
}

TEST(gpu_facts, tells_a_driver_that_cannot_start_from_none) {
  ::setenv("PROFGATE_FAKE_NVML_FAILS", "1", 1);
  const gpu_facts facts = gather_gpu_facts(PROFGATE_FAKE_NVML);
  ::unsetenv("PROFGATE_FAKE_NVML_FAILS");
  EXPECT_EQ(facts.devices.reason(), "NVML cannot start: Driver Not Loaded");
}

TEST(gpu_facts, reads_a_gpu) {
  const gpu_facts facts = gather_gpu_facts(PROFGATE_FAKE_NVML);
  EXPECT_EQ(facts.driver_version.value(), "580.65.06");
  EXPECT_EQ(facts.cuda_driver_version.value(), "13.0");
  ASSERT_TRUE(facts.devices.has_value());
  ASSERT_EQ(facts.devices->size(), 2U);
  const gpu_device& gpu = facts.devices->front();
  EXPECT_EQ(gpu.name.value(), "NVIDIA H200");
  EXPECT_EQ(gpu.uuid.value(), "GPU-1234");
  EXPECT_EQ(gpu.pci_bus_id.value(), "0000:3b:00.0");
  EXPECT_EQ(gpu.compute_capability.value(), "9.0");
  EXPECT_EQ(gpu.multiprocessor_count.value(), 132);
  EXPECT_EQ(gpu.memory_used_bytes.value(), 100);
  EXPECT_EQ(gpu.sm_clock_mhz.value(), 345);
  EXPECT_EQ(gpu.sm_clock_max_mhz.value(), 1980);
  EXPECT_EQ(gpu.memory_clock_mhz.value(), 3201);
  EXPECT_EQ(gpu.temperature_c.value(), 31);
  EXPECT_EQ(gpu.power_limit_w.value(), 700.0);
  EXPECT_THAT(gpu.power_w.reason(), HasSubstr("does not offer it"));
  EXPECT_THAT(gpu.throttle_reasons.value(),
              ElementsAre("gpu_idle", "software_power_cap", "unnamed_bits_0x4000"));
}

TEST(gpu_facts, lists_all_processes_on_the_gpu) {
  const gpu_facts facts = gather_gpu_facts(PROFGATE_FAKE_NVML);
  const std::vector<gpu_process> processes = facts.devices->front().processes.value();
  ASSERT_EQ(processes.size(), 100U);
  EXPECT_EQ(processes[0].pid, 1000);
  EXPECT_EQ(processes[0].name.value(), "python3");
  EXPECT_EQ(processes[0].memory_bytes.value(), 4096);
  EXPECT_THAT(processes[1].memory_bytes.reason(), HasSubstr("does not tell"));
}

TEST(gpu_facts, what_a_gpu_does_not_tell_is_absent_not_zero) {
  const gpu_facts facts = gather_gpu_facts(PROFGATE_FAKE_NVML);
  const gpu_device& old = facts.devices->back();
  EXPECT_FALSE(old.temperature_c);
  EXPECT_EQ(old.temperature_c.reason(), "NVML: Not Supported");
  EXPECT_THAT(old.multiprocessor_count.reason(), HasSubstr("3.0"));
  EXPECT_TRUE(old.processes->empty());
}

}  // namespace
}  // namespace profgate::artifacts
