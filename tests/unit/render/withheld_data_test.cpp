// What a run did not measure is no ground for advice: each source is taken away in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analysis/findings.h"
#include "golden_cases.h"

namespace profgate::render {
namespace {

using analysis::run_facts;

struct withheld_source {
  const char* name;
  std::function<void(run_facts&)> take_away;
  std::vector<std::string> words;  ///< of what rests on it; the whole run's findings have each
};

std::vector<withheld_source> sources() {
  return {
      {"counters",
       [](run_facts& facts) {
         facts.counters = {};
         facts.counters.absent_reason = "ncu was not found";
       },
       {"under ncu", "counted kernels", "of its roof"}},
      {"trace",
       [](run_facts& facts) {
         facts.captures.clear();
         facts.captures_absent_reason = "nsys was not found";
       },
       {"no kernel runs during", "largest operator", "largest kernel", "after the last launch", "idles"}},
      {"ceilings",
       [](run_facts& facts) {
         facts.bare.bench->ceiling_flops_per_s.reset();
         facts.bare.bench->ceiling_bytes_per_s.reset();
       },
       {"of the measured ceilings", "of the measured bandwidth", "bandwidth ceiling"}},
      {"work",
       [](run_facts& facts) { facts.bare.bench->work.clear(); },
       {"MBU", "of the measured arithmetic rate"}},
      {"telemetry",
       [](run_facts& facts) {
         facts.bare.bench->telemetry.clear();
         facts.bare.bench->telemetry_reason = "no driver";
       },
       {"SM clock", "throttled", "per decoded token", "Lock the clocks"}},
      {"repetitions",
       [](run_facts& facts) {
         for (auto& [stage, samples_ns] : facts.bare.bench->samples_ns) samples_ns.resize(1);
       },
       {"standard deviation", "unreliable"}},
  };
}

/// All sentences that somebody could act upon; reasons why something is not known are none.
std::string advice_of(const run_facts& facts) {
  const analysis::findings found = analysis::find(facts, analysis::analyze_run(facts));
  std::string text;
  for (const std::string& sentence : found.summary) text += sentence + "\n";
  for (const analysis::takeaway& item : found.takeaways)
    if (item.text.find("unknown") == std::string::npos) text += item.text + " " + item.evidence + "\n";
  for (const analysis::recommendation& item : found.recommendations)
    text += item.text + " " + item.evidence + "\n";
  return text;
}

TEST(withheld_data, is_no_ground_for_advice) {
  const run_facts whole = golden_cases().back().facts;
  const std::string all_advice = advice_of(whole);
  for (const withheld_source& source : sources()) {
    run_facts facts = whole;
    source.take_away(facts);
    const std::string advice = advice_of(facts);
    for (const std::string& words : source.words) {
      EXPECT_THAT(all_advice, ::testing::HasSubstr(words)) << "nothing would be tested";
      EXPECT_THAT(advice, ::testing::Not(::testing::HasSubstr(words))) << "without " << source.name;
    }
  }
}

TEST(withheld_data, leaves_no_advice_where_nothing_was_measured_at_all) {
  run_facts facts = golden_cases().back().facts;
  for (const withheld_source& source : sources()) source.take_away(facts);
  facts.bare.bench.reset();
  facts.bare.bench_absent_reason = "the workload failed";
  facts.profiled.clear();
  const analysis::findings found = analysis::find(facts, analysis::analyze_run(facts));
  EXPECT_THAT(found.recommendations, ::testing::IsEmpty());
}

}  // namespace
}  // namespace profgate::render
