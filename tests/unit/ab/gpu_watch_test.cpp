#include "gpu_watch.h"

#include <gmock/gmock.h>

namespace profgate::ab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

artifacts::gpu_device device(std::int64_t index, const std::string& uuid) {
  artifacts::gpu_device gpu;
  gpu.index = index;
  gpu.uuid = uuid;
  gpu.temperature_c = std::int64_t{44};
  gpu.throttle_reasons = std::vector<std::string>{"gpu_idle"};
  gpu.processes = std::vector<artifacts::gpu_process>{};
  return gpu;
}

core::stage_telemetry telemetry(std::int64_t windows_ns, double clock_mhz,
                                const std::vector<std::string>& reasons) {
  core::stage_telemetry seen;
  seen.windows_ns = windows_ns;
  seen.sm_clock_mhz = core::value_spread{clock_mhz - 15, clock_mhz, clock_mhz + 15};
  seen.throttle_reasons = reasons;
  return seen;
}

TEST(gpu_watch, nothing_is_known_on_a_cpu_and_nothing_is_spoiled) {
  const gate::run_conditions conditions = conditions_of(std::nullopt, std::nullopt, {});
  EXPECT_FALSE(conditions.sm_clock_mhz);
  EXPECT_FALSE(conditions.temperature_c);
  EXPECT_TRUE(conditions.throttle_reasons.empty());
  EXPECT_FALSE(what_spoiled(conditions));
}

TEST(gpu_watch, the_longest_stage_says_the_clock_and_a_power_cap_is_normal) {
  const gate::run_conditions conditions = conditions_of(
      device(0, "a"), device(0, "a"),
      {{"prefill", telemetry(900, 1755, {"software_power_cap"})}, {"decode", telemetry(100, 1980, {})}});
  EXPECT_EQ(conditions.sm_clock_mhz, 1755);
  EXPECT_EQ(conditions.temperature_c, 44);
  EXPECT_THAT(conditions.throttle_reasons, ElementsAre("software_power_cap"));
  EXPECT_FALSE(what_spoiled(conditions));
}

TEST(gpu_watch, hardware_that_protects_itself_spoils_a_run) {
  for (const std::string reason : {"hardware_slowdown", "hardware_thermal_slowdown",
                                   "software_thermal_slowdown", "hardware_power_brake"}) {
    const auto seen_inside =
        conditions_of(device(0, "a"), device(0, "a"), {{"decode", telemetry(1, 900, {reason})}});
    ASSERT_TRUE(what_spoiled(seen_inside)) << reason;
    EXPECT_THAT(*what_spoiled(seen_inside), HasSubstr(reason));
    artifacts::gpu_device after = device(0, "a");
    after.throttle_reasons = std::vector<std::string>{reason};
    EXPECT_TRUE(what_spoiled(conditions_of(device(0, "a"), after, {}))) << reason;
  }
}

TEST(gpu_watch, somebody_else_before_or_after_spoils_a_run) {
  artifacts::gpu_device busy = device(0, "a");
  artifacts::gpu_process other;
  other.pid = 4711;
  other.name = std::string("python");
  busy.processes = std::vector<artifacts::gpu_process>{other};
  for (const bool before : {true, false}) {
    const gate::run_conditions conditions =
        conditions_of(before ? busy : device(0, "a"), before ? device(0, "a") : busy, {});
    EXPECT_THAT(conditions.foreign_processes, ElementsAre("4711 python"));
    ASSERT_TRUE(what_spoiled(conditions));
    EXPECT_THAT(*what_spoiled(conditions), HasSubstr("4711 python"));
  }
}

}  // namespace
}  // namespace profgate::ab
