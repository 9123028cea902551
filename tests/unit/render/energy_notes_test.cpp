#include "energy_notes.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "missing.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// As recorded on a board of 700 W: 35.9 J, and 42.9 ms a timed repetition, which would be 838 W.
json prefill_above_the_limit() {
  return json::parse(R"({"environment": {"gpu_at_start": {"chosen_index": 1,
                           "devices": [{"power_limit_w": 9000.0}, {"power_limit_w": 700.0}]}},
                         "stages": [{"name": "prefill", "bare": {"median_ns": 42.9e6},
                           "telemetry": {"energy_mean_j": 35.9, "energy_run_ns": null}},
                           {"name": "decode_all", "bare": {"median_ns": 255.7e6},
                           "telemetry": {"energy_mean_j": 171.8, "energy_run_ns": null}}]})");
}

TEST(energy_notes, say_where_an_energy_is_not_that_of_the_timed_repetitions) {
  const json notes = energy_notes(prefill_above_the_limit());
  ASSERT_EQ(notes.size(), 1U) << "decode_all is below the limit";
  EXPECT_THAT(notes[0].get<std::string>(),
              HasSubstr("in repetitions without a pause, each longer than a timed one: at most 700 W"));
  EXPECT_THAT(notes[0].get<std::string>(), HasSubstr("51.3 ms or more each"));
}

TEST(energy_notes, are_not_needed_where_the_time_of_those_repetitions_is_known) {
  json profile = prefill_above_the_limit();
  profile["stages"][0]["telemetry"]["energy_run_ns"] = 52e6;
  EXPECT_TRUE(energy_notes(profile).empty());
}

TEST(energy_notes, claim_nothing_where_there_is_no_limit_or_no_time) {
  json profile = prefill_above_the_limit();
  profile["stages"][0]["bare"] = nullptr;
  EXPECT_TRUE(energy_notes(profile).empty());
  profile = prefill_above_the_limit();
  profile["environment"]["gpu_at_start"]["devices"] = json::array();
  EXPECT_TRUE(energy_notes(profile).empty());
  profile["environment"]["gpu_at_start"] = nullptr;
  EXPECT_TRUE(energy_notes(profile).empty());
}

TEST(missing_telemetry, says_what_of_which_stage_in_words) {
  const json profile = json::parse(R"({"stages": [
      {"name": "prefill", "telemetry": {"power_median_w": null, "energy_mean_j": null,
        "not_measured": {"power_median_w": "too short", "energy_mean_j": "too short"}}},
      {"name": "decode_all", "telemetry": {"power_median_w": null, "energy_mean_j": 3,
        "not_measured": {"power_median_w": "too short"}}}]})");
  const json missing = missing_telemetry(profile);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0]["what"], "power of prefill and decode_all, energy of prefill");
}

}  // namespace
}  // namespace profgate::render
