#include "llm/telemetry.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "fake_nvml.h"
#include "telemetry_json.h"

namespace profgate::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::fake_nvml_state;

constexpr std::int64_t ms = 1'000'000;
constexpr unsigned long long unsupported = ~0ULL;

/// A GPU whose readings and whose clock the test sets; samples are taken by hand.
class telemetry_of_a_fake_gpu : public ::testing::Test {
 protected:
  telemetry_of_a_fake_gpu() : m_library(::dlopen(PROFGATE_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    m_gpu = static_cast<fake_nvml_state*>(::dlsym(m_library, "fake_nvml"));
    *m_gpu = fake_nvml_state{};
  }
  ~telemetry_of_a_fake_gpu() override { ::dlclose(m_library); }

  telemetry_options by_hand() {
    return {PROFGATE_FAKE_NVML, std::chrono::milliseconds(0), [this] { return m_now_ns; }};
  }

  /// One run of the stage with a sample at its end, drawing `power_w`.
  void run(telemetry& watched, const std::string& stage, std::int64_t duration_ms, unsigned power_w = 350) {
    m_gpu->instant_power_mw = power_w * 1000;
    const telemetry::window window(watched, stage);
    m_now_ns += duration_ms * ms;
    m_gpu->energy_mj += power_w * static_cast<unsigned long long>(duration_ms);
    watched.sample_now();
  }

  void* m_library;
  fake_nvml_state* m_gpu = nullptr;
  std::int64_t m_now_ns = 0;
  const std::string m_pci_bus_id = "0000:1B:00.0";
};

TEST_F(telemetry_of_a_fake_gpu, sums_up_the_windows_of_each_stage) {
  telemetry watched(m_pci_bus_id, by_hand());
  for (const unsigned mhz : {1980U, 1200U, 1900U, 1950U}) {
    m_gpu->sm_clock_mhz = mhz;
    m_gpu->throttle_bits = mhz == 1200 ? 0x4 | 0x20 : 0x1;
    m_gpu->energy_mj += 77000;  // between the windows: it belongs to none
    run(watched, "decode_all", 4000, mhz / 10);
  }
  run(watched, "prefill", 300);
  const auto report = watched.report();
  EXPECT_EQ(report.absent_reason, "");
  EXPECT_EQ(report.power_method, "the driver's instant power");
  ASSERT_EQ(report.stages.size(), 2U);
  const stage_telemetry& decode = report.stages.at("decode_all");
  EXPECT_EQ(decode.windows_count, 4);
  EXPECT_EQ(decode.windows_ns, 16000 * ms);
  EXPECT_EQ(decode.samples_count, 4);
  EXPECT_EQ(decode.sm_clock_mhz->min, 1200);
  EXPECT_EQ(decode.sm_clock_mhz->median, 1925);
  EXPECT_EQ(decode.sm_clock_mhz->max, 1980);
  EXPECT_EQ(decode.memory_clock_mhz->median, 3201);
  EXPECT_EQ(decode.power_w->min, 120);
  EXPECT_EQ(decode.power_w->max, 198);
  EXPECT_EQ(decode.temperature_c->median, 40);
  EXPECT_THAT(*decode.throttle_reasons,
              ElementsAre("gpu_idle", "software_power_cap", "software_thermal_slowdown"));
  EXPECT_NEAR(decode.energy->energy_j, 4 * (198 + 120 + 190 + 195), 1e-9);
  EXPECT_EQ(decode.energy->runs_count, 4);
  EXPECT_DOUBLE_EQ(decode.energy->uncertainty_ratio, 0.025);  // 100 of 4000 ms
  EXPECT_EQ(decode.energy->runs_ns, 16'000'000'000);
  EXPECT_EQ(report.stages.at("prefill").samples_count, 1);
}

TEST_F(telemetry_of_a_fake_gpu, does_not_add_up_energy_that_the_counter_cannot_resolve) {
  telemetry watched(m_pci_bus_id, by_hand());
  for (int i = 0; i < 100; ++i) run(watched, "prefill", 50);  // 5 s in all, but none long enough
  run(watched, "decode_all", 1900);
  const auto report = watched.report();
  EXPECT_EQ(
      report.stages.at("prefill").energy.reason(),
      "a run of the stage takes 50 ms, at whose ends the driver's energy counter is up to 100 ms old, and it "
      "was not repeated (stage1.energy_limit_s)");
  EXPECT_FALSE(report.stages.at("decode_all").energy);
  EXPECT_FALSE(watched.knows_energy("decode_all"));
  EXPECT_THAT(report.stages.at("prefill").power_w.reason(), HasSubstr("100 ms or more into a window"));
  EXPECT_EQ(report.stages.at("prefill").sm_clock_mhz->median, 1980);
  EXPECT_TRUE(report.stages.at("decode_all").power_w);
}

TEST_F(telemetry_of_a_fake_gpu, tells_the_energy_of_runs_outside_of_its_windows) {
  telemetry watched(m_pci_bus_id, by_hand());
  run(watched, "prefill", 50);
  run(watched, "decode_all", 50);
  m_gpu->energy_mj = 1234;
  EXPECT_EQ(*watched.meter()->counter_mj(), 1234U);
  watched.set_energy("prefill", repeated_energy{52.0, 10, 0.02, 80'000'000});
  watched.set_energy("decode_all", reading<repeated_energy>::absent("it was too short"));
  const auto report = watched.report();
  EXPECT_TRUE(watched.knows_energy("prefill"));
  nlohmann::ordered_json document;
  put_telemetry(report, document);
  EXPECT_EQ(document["telemetry"]["prefill"]["energy_j"], 52.0);
  EXPECT_EQ(document["telemetry"]["prefill"]["energy_runs_count"], 10);
  EXPECT_EQ(document["telemetry"]["prefill"]["energy_runs_ns"], 80'000'000);
  EXPECT_EQ(document["telemetry"]["prefill"]["energy_uncertainty_ratio"], 0.02);
  EXPECT_EQ(document["telemetry"]["decode_all"]["energy_j"], nullptr);
  EXPECT_EQ(document["telemetry"]["decode_all"]["not_measured"]["energy_runs_count"], "it was too short");
}

TEST_F(telemetry_of_a_fake_gpu, names_what_the_gpu_does_not_support) {
  m_gpu->energy_mj = unsupported;
  m_gpu->throttle_bits = unsupported;
  m_gpu->instant_power_mw = 0;
  telemetry watched(m_pci_bus_id, by_hand());
  {
    const telemetry::window window(watched, "decode_all");
    m_now_ns += 400 * ms;
    watched.sample_now();
  }
  const auto report = watched.report();
  const stage_telemetry& decode = report.stages.at("decode_all");
  EXPECT_EQ(decode.energy.reason(), "NVML: Not Supported");
  EXPECT_EQ(decode.throttle_reasons.reason(), "NVML: Not Supported");
  EXPECT_THAT(report.power_method, HasSubstr("average over the last second"));
  EXPECT_EQ(decode.power_w->median, 700);
}

TEST_F(telemetry_of_a_fake_gpu, a_counter_that_goes_backwards_gives_no_energy) {
  telemetry watched(m_pci_bus_id, by_hand());
  m_gpu->energy_mj = 5000;
  {
    const telemetry::window window(watched, "decode_all");
    m_now_ns += 400 * ms;
    m_gpu->energy_mj = 1000;
  }
  run(watched, "decode_all", 400);
  EXPECT_EQ(watched.report().stages.at("decode_all").energy.reason(),
            "the driver's energy counter went backwards");
}

TEST_F(telemetry_of_a_fake_gpu, counts_only_samples_that_lie_inside_a_window) {
  telemetry watched(m_pci_bus_id, by_hand());
  watched.sample_now();
  EXPECT_THAT(watched.report().stages, IsEmpty());

  std::optional<telemetry::window> window;
  window.emplace(watched, "prefill");
  // The stage ends while the driver is still being asked.
  m_gpu->on_last_reading = [](void* context) {
    static_cast<std::optional<telemetry::window>*>(context)->reset();
  };
  m_gpu->context = &window;
  watched.sample_now();
  const stage_telemetry prefill = watched.report().stages.at("prefill");
  EXPECT_EQ(prefill.windows_count, 1);
  EXPECT_EQ(prefill.samples_count, 0);
  EXPECT_EQ(prefill.sm_clock_mhz.reason(), "no sample fell into the stage's windows");
  EXPECT_EQ(prefill.throttle_reasons.reason(), "no sample fell into the stage's windows");
}

/// Lets a test wait until another thread has come by a number of times.
class turnstile {
 public:
  void pass() {
    const std::lock_guard lock(m_mutex);
    ++m_passed;
    m_changed.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_passed >= count; });
  }

 private:
  std::mutex m_mutex;
  std::condition_variable m_changed;
  int m_passed = 0;
};

TEST_F(telemetry_of_a_fake_gpu, samples_from_its_own_thread_while_a_window_is_open) {
  turnstile readings;
  m_gpu->context = &readings;
  m_gpu->on_last_reading = [](void* context) { static_cast<turnstile*>(context)->pass(); };
  telemetry watched(m_pci_bus_id, {PROFGATE_FAKE_NVML, std::chrono::milliseconds(1), {}});
  {
    const telemetry::window window(watched, "decode_all");
    readings.wait_for(3);
  }
  EXPECT_GE(watched.report().stages.at("decode_all").samples_count, 2);  // the third may have been cut off
}

TEST_F(telemetry_of_a_fake_gpu, stops_without_waiting_for_its_next_sample) {
  turnstile clock_read;
  const auto test_thread = std::this_thread::get_id();
  const auto clock_ns = [&]() -> std::int64_t {
    if (std::this_thread::get_id() != test_thread) clock_read.pass();
    return 0;
  };
  telemetry watched(m_pci_bus_id, {PROFGATE_FAKE_NVML, std::chrono::hours(24), clock_ns});
  const telemetry::window window(watched, "decode_all");
  clock_read.wait_for(1);  // the thread has begun to wait for a beat that comes in a day
}

TEST_F(telemetry_of_a_fake_gpu, says_why_there_is_none) {
  EXPECT_EQ(telemetry(std::nullopt, by_hand()).report().absent_reason, "the device is not an NVIDIA GPU");
  EXPECT_EQ(telemetry("0000:FF:00.0", by_hand()).report().absent_reason,
            "NVML knows no GPU 0000:FF:00.0: Not Found");
  telemetry_options absent = by_hand();
  absent.nvml_library = "libno-such-nvml.so";
  EXPECT_THAT(telemetry(m_pci_bus_id, absent).report().absent_reason,
              HasSubstr("libno-such-nvml.so cannot be loaded"));
  m_gpu->init_result = 9;
  telemetry watched(m_pci_bus_id, by_hand());
  run(watched, "prefill", 400);
  EXPECT_EQ(watched.report().absent_reason, "NVML cannot start: Driver Not Loaded");
  EXPECT_THAT(watched.report().stages, IsEmpty());
}

TEST_F(telemetry_of_a_fake_gpu, is_written_with_a_reason_for_each_null) {
  m_gpu->throttle_bits = unsupported;
  telemetry watched(m_pci_bus_id, by_hand());
  run(watched, "prefill", 50);
  nlohmann::ordered_json document;
  put_telemetry(watched.report(), document);
  const auto& prefill = document.at("telemetry").at("prefill");
  EXPECT_EQ(prefill.at("windows_count"), 1);
  EXPECT_EQ(prefill.at("sm_clock_mhz"),
            (nlohmann::ordered_json{{"min", 1980.0}, {"median", 1980.0}, {"max", 1980.0}}));
  for (const char* key : {"power_w", "throttle_reasons", "energy_j", "energy_uncertainty_ratio"}) {
    EXPECT_TRUE(prefill.at(key).is_null()) << key;
    EXPECT_FALSE(prefill.at("not_measured").at(key).get<std::string>().empty()) << key;
  }
  EXPECT_EQ(prefill.at("not_measured").at("throttle_reasons"), "NVML: Not Supported");
  EXPECT_EQ(prefill.at("power_method"), "the driver's instant power");
  EXPECT_FALSE(document.contains("telemetry_reason"));

  nlohmann::ordered_json of_a_cpu;
  put_telemetry(telemetry(std::nullopt, by_hand()).report(), of_a_cpu);
  EXPECT_TRUE(of_a_cpu.at("telemetry").is_null());
  EXPECT_EQ(of_a_cpu.at("telemetry_reason"), "the device is not an NVIDIA GPU");
}

}  // namespace
}  // namespace profgate::llm
