#include "gate/comparability.h"

#include <gmock/gmock.h>

#include "made_runs.h"

namespace profgate::gate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class comparability_of_two : public ::testing::Test {
 protected:
  std::vector<std::string> obstacles() const { return compare_identities(m_baseline, m_candidate).obstacles; }
  std::vector<std::string> warnings() const { return compare_identities(m_baseline, m_candidate).warnings; }

  run_set m_baseline = made_runs(9e6);
  run_set m_candidate = made_later(9e6);
};

TEST_F(comparability_of_two, another_commit_is_what_it_is_for) {
  EXPECT_THAT(obstacles(), IsEmpty());
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(comparability_of_two, another_key_is_not_comparable) {
  m_candidate.identity.device_name = "NVIDIA H100";
  EXPECT_THAT(obstacles(),
              ElementsAre(AllOf(HasSubstr("NVIDIA H200 (132 SMs)"), HasSubstr("NVIDIA H100 (132 SMs)"))));
  m_candidate = made_later(9e6);
  m_candidate.identity.multiprocessors = 114;
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("(114 SMs)")));
  m_candidate = made_later(9e6);
  m_candidate.identity.config_sha256 = std::string(64, 'd');
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("configuration")));
  m_candidate = made_later(9e6);
  m_candidate.identity.pair = "other.decode-b1";
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("other.decode-b1")));
}

TEST_F(comparability_of_two, profiled_times_never_meet_bare_ones) {
  m_candidate.identity.is_profiled = true;
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("under a profiler")));
}

TEST_F(comparability_of_two, a_dirty_baseline_is_an_obstacle_and_a_dirty_candidate_is_not) {
  m_candidate.identity.is_dirty = true;
  EXPECT_THAT(obstacles(), IsEmpty());
  m_baseline.identity.is_dirty = true;
  EXPECT_THAT(obstacles(), ElementsAre(HasSubstr("uncommitted")));
  EXPECT_THAT(compare_arms(m_baseline, m_candidate).obstacles, IsEmpty())
      << "arms are built from whatever is there";
}

TEST_F(comparability_of_two,
       hardware_slowdowns_and_foreign_processes_are_obstacles_unless_the_run_was_repeated) {
  m_candidate.processes[3].conditions.throttle_reasons = {"hardware_thermal_slowdown"};
  m_candidate.processes[4].conditions.foreign_processes = {"4711 python"};
  EXPECT_THAT(obstacles(),
              ElementsAre(HasSubstr("hardware_thermal_slowdown in 1 of"), HasSubstr("4711 python")));
  m_candidate.processes[3].spoiled_by = "slowed down";
  m_candidate.processes[4].spoiled_by = "not alone";
  EXPECT_THAT(obstacles(), IsEmpty());
  m_candidate.processes[5].conditions.throttle_reasons = {"software_power_cap"};
  EXPECT_THAT(obstacles(), IsEmpty()) << "prefill runs into the power limit every time";
}

TEST_F(comparability_of_two, versions_host_and_clock_are_warnings) {
  m_candidate.identity.versions = {{"driver", "590.1"}, {"cublaslt", "13.1"}};
  m_candidate.identity.host = "other-node";
  for (process_record& process : m_candidate.processes) process.conditions.sm_clock_mhz = 1950;
  EXPECT_THAT(warnings(),
              ElementsAre(HasSubstr("cublaslt was not recorded"), HasSubstr("driver was 580.159.04"),
                          HasSubstr("1980 MHz"), HasSubstr("other-node")));
  EXPECT_THAT(obstacles(), IsEmpty());
  for (process_record& process : m_candidate.processes) process.conditions.sm_clock_mhz = 1965;
  EXPECT_THAT(warnings(), ::testing::Not(::testing::Contains(HasSubstr("MHz")))) << "0.8 % is within 1 %";
}

TEST_F(comparability_of_two, packages_that_differ_are_told_apart_from_versions) {
  m_baseline.identity.versions = {{"driver", "1"}, {"pip numpy", "2.1"}, {"pip torch", "2.10"}};
  m_candidate.identity.versions = {
      {"driver", "1"}, {"pip numpy", "2.1"}, {"pip torch", "2.11"}, {"pip triton", "3.5"}};
  const comparability result = compare_arms(m_baseline, m_candidate);
  ASSERT_EQ(result.packages.size(), 2U);
  EXPECT_EQ(result.packages[0].name, "pip torch");
  EXPECT_EQ(result.packages[0].baseline, "2.10");
  EXPECT_EQ(result.packages[0].candidate, "2.11");
  EXPECT_EQ(result.packages[1].name, "pip triton");
  EXPECT_EQ(result.packages[1].baseline, "");
  EXPECT_THAT(result.warnings, ::testing::Not(::testing::Contains(HasSubstr("torch"))));
  EXPECT_THAT(result.unknown_packages, IsEmpty());
}

TEST_F(comparability_of_two, packages_of_one_alone_are_no_difference_but_unknown) {
  m_baseline.identity.versions = {{"dpkg libnccl2", "2.28"}};
  m_candidate.identity.versions = {
      {"dpkg libnccl2", "2.28"}, {"pip packages", unknown_prefix + "which programs sh starts is not known"}};
  comparability result = compare_arms(m_baseline, m_candidate);
  EXPECT_THAT(result.packages, IsEmpty());
  EXPECT_THAT(result.unknown_packages,
              ElementsAre("pip packages of the baseline: none were recorded",
                          "pip packages of the candidate: which programs sh starts is not known"));
  m_baseline.identity.versions = m_candidate.identity.versions;
  EXPECT_THAT(compare_arms(m_baseline, m_candidate).unknown_packages,
              ElementsAre("pip packages of the two: which programs sh starts is not known"));
}

TEST_F(comparability_of_two, commands_that_were_typed_to_be_compared_may_differ) {
  m_candidate.identity.config_sha256 = std::string(64, 'd');
  m_baseline.identity.is_dirty = true;
  EXPECT_THAT(compare_arms(m_baseline, m_candidate).warnings,
              ElementsAre(HasSubstr("other commands"), HasSubstr("uncommitted")));
  m_baseline.identity.typed_settings_sha256 = m_candidate.identity.typed_settings_sha256 = "e";
  EXPECT_THAT(compare_arms(m_baseline, m_candidate).warnings, IsEmpty());
  m_candidate.identity.typed_settings_sha256 = "f";
  m_candidate.identity.versions["driver"] = "590";
  EXPECT_THAT(compare_arms(m_baseline, m_candidate).warnings,
              ElementsAre(HasSubstr("driver"), HasSubstr("with other settings of the workload")));
  EXPECT_THAT(compare_identities(m_baseline, m_candidate).obstacles,
              ::testing::Contains(HasSubstr("another configuration")))
      << "as a stored baseline it is still one of another command";
}

TEST(interleaved_arms, take_turns_in_one_session) {
  const run_set baseline = made_runs(9e6, 12, 0);
  const run_set candidate = made_runs(9e6, 12, 1);
  EXPECT_TRUE(are_interleaved(baseline, candidate));
  EXPECT_FALSE(are_interleaved(baseline, made_runs(9e6, 12, 0))) << "the same slots";
  EXPECT_FALSE(are_interleaved(baseline, made_runs(9e6, 12, 100))) << "one after the other";
  EXPECT_FALSE(are_interleaved(baseline, made_later(9e6))) << "another boot";
  run_set elsewhere = candidate;
  elsewhere.identity.device_uuid = "GPU-2";
  EXPECT_FALSE(are_interleaved(baseline, elsewhere));
}

TEST(device_words, tell_what_is_counted) {
  EXPECT_EQ(device_words("NVIDIA H200×132"), "NVIDIA H200 (132 SMs)");
  EXPECT_EQ(device_words("Tesla T4×40"), "Tesla T4 (40 SMs)");
  EXPECT_EQ(device_words("Arm Neoverse-V1×2"), "Arm Neoverse-V1 (2 cores)");
  EXPECT_EQ(device_words("one×1"), "one (1 core)");
  EXPECT_EQ(device_words("NVIDIA H200×0"), "NVIDIA H200") << "nobody counted them";
  EXPECT_EQ(device_words("what an older history says"), "what an older history says");
  EXPECT_EQ(device_text(build_identity{}), "×0") << "what baselines match by";
}

}  // namespace
}  // namespace profgate::gate
