#include "llm/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/telemetry.h"

namespace profgate::llm {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t second = 1000 * millisecond;

/// A GPU whose counter tells every 100 millisecond what was true then.
class fake_counter {
 public:
  energy_meter meter() {
    return {[this] { return told(); }, [this] { return m_now_ns; }};
  }
  /// Time passes at this power.
  void spend(std::int64_t duration_ns, double power_w) {
    while (duration_ns > 0) {
      const std::int64_t step_ns = std::min(duration_ns, m_renewal_ns - m_now_ns % m_renewal_ns);
      m_now_ns += step_ns;
      m_true_mj += power_w * static_cast<double>(step_ns) / 1e6;
      duration_ns -= step_ns;
      if (m_now_ns % m_renewal_ns == 0) m_told_mj = m_true_mj;
    }
  }
  std::function<void()> work(std::int64_t duration_ns, double power_w) {
    return [this, duration_ns, power_w] { spend(duration_ns, power_w); };
  }

  std::int64_t m_now_ns = 0;
  std::int64_t m_renewal_ns = counter_renewal_ns;
  std::string m_failure;
  bool m_stands_still = false;

 private:
  reading<unsigned long long> told() const {
    if (!m_failure.empty()) return reading<unsigned long long>::absent(m_failure);
    return m_stands_still ? 5ULL : static_cast<unsigned long long>(m_told_mj);
  }
  double m_true_mj = 0;
  double m_told_mj = 0;
};

bool is_known_to_5_percent(const repeated_energy& known) {
  return known.uncertainty_ratio <= 0.05;
}

TEST(energy, of_a_run_far_shorter_than_the_counters_period_is_within_what_it_says) {
  for (const std::int64_t run_us : {300, 1000, 8000, 36000, 99000, 100000, 101000, 310000}) {
    SCOPED_TRACE(run_us);
    fake_counter gpu;
    gpu.spend(37 * millisecond, 90);  // idle before
    const double run_j = 600.0 * static_cast<double>(run_us) * 1e-6;
    const auto found =
        measure_energy(gpu.meter(), gpu.work(run_us * 1000, 600), is_known_to_5_percent, 5 * second, "runs");
    ASSERT_TRUE(found) << found.reason();
    EXPECT_LE(found->uncertainty_ratio, 0.05);
    EXPECT_NEAR(found->run_j(), run_j, run_j * found->uncertainty_ratio + 1e-3);
    EXPECT_EQ(found->runs_ns, found->runs_count * run_us * 1000) << "what those runs took, and no others";
    EXPECT_LE(gpu.m_now_ns, 3 * second);
  }
}

TEST(energy, of_a_decode_is_that_of_both_stages_without_the_prefill) {
  fake_counter gpu;
  const auto prefill = gpu.work(8 * millisecond, 650);  // 5.2 J
  const auto both = [&] {
    gpu.spend(8 * millisecond, 650);
    gpu.spend(37 * millisecond, 450);  // 16.65 J
  };
  const stage_energies found = measure_stage_energies(gpu.meter(), prefill, both, 5 * second);
  ASSERT_TRUE(found.prefill && found.decode_all);
  EXPECT_NEAR(found.prefill->run_j(), 5.2, 5.2 * 0.025);
  EXPECT_NEAR(found.decode_all->run_j(), 16.65, 16.65 * found.decode_all->uncertainty_ratio);
  EXPECT_LE(found.decode_all->uncertainty_ratio, wanted_energy_ratio);
  EXPECT_EQ(found.decode_all->runs_ns, found.decode_all->runs_count * 37 * millisecond);
  EXPECT_LE(gpu.m_now_ns, 4 * second) << "it stops as soon as it knows";
}

TEST(energy, of_a_decode_that_hardly_differs_from_its_prefill_is_not_claimed) {
  fake_counter gpu;
  const stage_energies found = measure_stage_energies(gpu.meter(), gpu.work(80 * millisecond, 600),
                                                      gpu.work(81 * millisecond, 600), 5 * second);
  EXPECT_TRUE(found.prefill);
  EXPECT_THAT(found.decode_all.reason(),
              HasSubstr("after 5.0 s of prefills and decodes the energy is known to"));
}

TEST(energy, is_not_known_after_too_short_a_time) {
  fake_counter gpu;
  const auto found =
      measure_energy(gpu.meter(), gpu.work(90 * millisecond, 600), is_known_to_5_percent, second, "prefills");
  EXPECT_THAT(found.reason(), HasSubstr("after 1.0 s of prefills the energy is known to ±"));
  EXPECT_THAT(found.reason(), HasSubstr("stage1.energy_limit_s allows longer"));
  EXPECT_LE(gpu.m_now_ns, second + 90 * millisecond);
}

TEST(energy, of_a_counter_that_stands_still_fails_or_goes_away_has_a_reason) {
  fake_counter still;
  still.m_stands_still = true;
  EXPECT_THAT(measure_energy(still.meter(), still.work(8 * millisecond, 600), is_known_to_5_percent, second,
                             "prefills")
                  .reason(),
              HasSubstr("moved less than twice in 1.0 s of prefills"));
  fake_counter lost;
  const auto found = measure_stage_energies(
      lost.meter(),
      [&] {
        lost.spend(8 * millisecond, 600);
        if (lost.m_now_ns > 300 * millisecond) lost.m_failure = "NVML: GPU is lost";
      },
      lost.work(20 * millisecond, 600), second);
  EXPECT_EQ(found.prefill.reason(), "NVML: GPU is lost");
  EXPECT_EQ(found.decode_all.reason(), "the prefill before it: NVML: GPU is lost");
}

}  // namespace
}  // namespace profgate::llm
