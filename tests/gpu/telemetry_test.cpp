#include "llm/telemetry.h"

#include <gmock/gmock.h>

#include <filesystem>

/// The NVML declarations are our own: only a real driver shows that they are right.
namespace profgate::llm {
namespace {

/// The bus id of any GPU, where the driver shows them.
std::optional<std::string> any_pci_bus_id() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none))
    return entry.path().filename().string();
  return std::nullopt;
}

TEST(telemetry, of_a_real_gpu_is_complete_and_plausible) {
  const auto pci_bus_id = any_pci_bus_id();
  if (!pci_bus_id) GTEST_SKIP() << "there is no NVIDIA driver in /proc/driver/nvidia";
  std::int64_t now_ns = 0;
  telemetry watched(pci_bus_id, {.nvml_library = telemetry_options{}.nvml_library,
                                 .interval = std::chrono::milliseconds(0),
                                 .clock_ns = [&] { return now_ns; }});
  ASSERT_EQ(watched.report().absent_reason, "");
  {
    const telemetry::window window(watched, "idle");
    now_ns += 4'000'000'000;  // as long as energy needs
    watched.sample_now();
  }
  const auto report = watched.report();
  const stage_telemetry& idle = report.stages.at("idle");
  EXPECT_EQ(idle.samples_count, 1);
  ASSERT_TRUE(idle.sm_clock_mhz) << idle.sm_clock_mhz.reason();
  EXPECT_GT(idle.sm_clock_mhz->median, 100);
  EXPECT_LT(idle.sm_clock_mhz->median, 5000);
  ASSERT_TRUE(idle.memory_clock_mhz) << idle.memory_clock_mhz.reason();
  EXPECT_GT(idle.memory_clock_mhz->median, 100);
  ASSERT_TRUE(idle.power_w) << idle.power_w.reason();
  EXPECT_GT(idle.power_w->median, 5);
  EXPECT_LT(idle.power_w->median, 2000);
  ASSERT_TRUE(idle.temperature_c) << idle.temperature_c.reason();
  EXPECT_GT(idle.temperature_c->median, 0);
  EXPECT_LT(idle.temperature_c->median, 120);
  EXPECT_TRUE(idle.throttle_reasons) << idle.throttle_reasons.reason();
  ASSERT_TRUE(idle.energy) << idle.energy.reason();
  EXPECT_LT(idle.energy->energy_j, 2000);
}

}  // namespace
}  // namespace profgate::llm
