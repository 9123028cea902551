// A real change on an H200: half as many splits in the decode attention made Qwen3-0.6B slower by 10 %. Under
// programmatic dependent launch each kernel is resident while it waits for the one before it, so who is
// slower must be told from who waits longer.
#include <gmock/gmock.h>

#include <cmath>

#include "analysis/exclusive_time.h"
#include "analysis/stage_operations.h"
#include "gate/attribution.h"
#include "gate/exact_gates.h"
#include "parsers/timeline.h"
#include "unpacked.h"

namespace profgate::analysis {
namespace {

core::timeline recorded(const std::string& arm) {
  return parsers::read_nsys_sqlite(unpacked("overlapping-kernels/" + arm + ".sqlite").file());
}

/// Mean exclusive time a launch inside decode_all in µs, by kernel.
std::map<std::string, double> exclusive_us_of(const std::string& recording) {
  const core::timeline timeline = recorded(recording);
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

TEST(overlapping_kernels, the_slower_kernel_is_named_with_its_grid_and_its_part_of_the_difference) {
  const core::timeline before = recorded("baseline");
  const core::timeline after = recorded("slower-attention");
  const labelled_traces was = label_operations(before, "decode_all", {"LLM"});
  const labelled_traces is = label_operations(after, "decode_all", {"LLM"});
  gate::stage_structure old_structure;
  gate::stage_structure new_structure;
  old_structure.operations = gate::facts_of(was.asked_for);
  new_structure.operations = gate::facts_of(is.asked_for);
  const gate::exact_comparison exact = gate::compare_exactly(old_structure, new_structure, {});
  ASSERT_EQ(exact.changes.size(), 1U);
  constexpr double bare_ns = 4 * 883e3;  // of 64 steps: 883 µs were measured of 16
  for (const gate::exact_comparison* evidence :
       {&exact, static_cast<const gate::exact_comparison*>(nullptr)}) {
    const gate::attribution attributed =
        gate::attribute({sum_up(was.occurrences)}, {sum_up(is.occurrences)}, bare_ns, evidence);
    const gate::cause first = gate::leading_causes(attributed, 1).at(0);
    EXPECT_THAT(first.name, ::testing::HasSubstr("split_attention"));
    EXPECT_NEAR(first.delta_ns / bare_ns, 1, 0.25) << gate::to_text(first);
    EXPECT_LT(std::abs(attributed.unexplained_ns), gate::most_unexplained_ratio * bare_ns);
    if (evidence == nullptr) continue;
    EXPECT_THAT(gate::to_text(first), ::testing::HasSubstr("; grid (16, 8, 1) → (8, 8, 1)"));
  }
}

}  // namespace
}  // namespace profgate::analysis
