#include "analysis/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "run_builder.h"

namespace profgate::analysis {
namespace {

using nlohmann::json;

/// What validate_profile says of the document after `change`; empty: it is valid.
std::string complaint_after(const std::function<void(json&)>& change) {
  json document = json::parse(profile_json(example_run()));
  change(document);
  try {
    validate_profile(document.dump(), "profile.json");
    return "";
  } catch (const core::bad_input& error) {
    EXPECT_THAT(error.remedy(), ::testing::HasSubstr("profgate analyze"));
    return error.what();
  }
}

/// Numbers say their unit in their own name, or in the name of the list that holds them.
void expect_units(const json& value, const std::string& name) {
  static const std::vector<std::string> units{"_ns",    "_bytes", "_ratio", "_count", "_flops",
                                              "_per_s", "_mhz",   "_w",     "_c",     "_j"};
  if (value.is_object()) {
    for (const auto& [key, element] : value.items()) expect_units(element, key);
  } else if (value.is_array()) {
    for (const json& element : value) expect_units(element, name);
  } else if (value.is_number()) {
    const bool has_unit = std::any_of(units.begin(), units.end(),
                                      [&](const std::string& unit) { return name.ends_with(unit); });
    EXPECT_TRUE(has_unit) << name;
  }
}

TEST(profile_json, is_valid_stable_and_has_a_unit_in_every_name) {
  const std::string text = profile_json(example_run());
  EXPECT_NO_THROW(validate_profile(text, "profile.json"));
  EXPECT_EQ(text, profile_json(example_run()));
  expect_units(json::parse(text), "");
}

TEST(profile_json, holds_what_the_gpu_did) {
  run_facts facts = example_run();
  core::stage_telemetry& decode = facts.bare.bench->telemetry["decode_all"];
  decode.windows_count = 2;
  decode.samples_count = 9;
  decode.sm_clock_mhz = {1200, 1500, 1980};
  decode.power_w = {300, 400.5, 500};
  decode.throttle_reasons = {"software_power_cap"};
  decode.energy_j = 32;
  facts.bare.bench->weight_bytes = 77;
  facts.bare.bench->reference_cosine = 0.5;
  const std::string text = profile_json(facts);
  EXPECT_NO_THROW(validate_profile(text, "profile.json"));
  const json profile = json::parse(text);
  expect_units(profile, "");
  const json& telemetry = profile["stages"][1]["telemetry"];
  EXPECT_EQ(telemetry["sm_clock_min_mhz"], 1200.0);
  EXPECT_EQ(telemetry["power_median_w"], 400.5);
  EXPECT_EQ(telemetry["throttle_reasons"], json{"software_power_cap"});
  EXPECT_EQ(telemetry["energy_mean_j"], 16.0);
  EXPECT_EQ(telemetry["not_measured"]["temperature_max_c"], "the workload does not report it");
  EXPECT_EQ(profile["throughput"]["energy_per_decoded_token_j"], 4.0);
  EXPECT_EQ(profile["throughput"]["weight_bytes"], 77);
  EXPECT_EQ(profile["throughput"]["ttft"]["p50_ns"], 10e6);
  EXPECT_EQ(profile["throughput"]["ttft"]["not_measured"]["p99_ns"],
            "p99 needs 100 samples, and there are 2");
  EXPECT_EQ(profile["correctness"]["reference_cosine_ratio"], 0.5);
  EXPECT_EQ(profile["stages"][0]["not_measured"]["telemetry"], "the workload does not report it");
}

TEST(profile_json, is_valid_where_nothing_was_measured) {
  run_facts facts;
  facts.bare.stages = {"prefill"};
  facts.bare.bench_absent_reason = "the workload crashed";
  facts.captures_absent_reason = "the workload crashed";
  const std::string text = profile_json(facts);
  EXPECT_NO_THROW(validate_profile(text, "profile.json"));
  EXPECT_EQ(json::parse(text)["stages"][0]["bare"]["not_measured"]["mean_ns"], "the workload crashed");
}

TEST(profile_json, has_the_hand_computed_figures) {
  const json profile = json::parse(profile_json(example_run()));
  const json& decode = profile["stages"][1];
  EXPECT_EQ(decode["name"], "decode_all");
  EXPECT_DOUBLE_EQ(decode["bare"]["mean_ns"], 40e6);
  EXPECT_DOUBLE_EQ(decode["utilisation"]["mbu_over_measured_ratio"], 0.75);
  EXPECT_EQ(decode["operators"][0]["op_name"], "lm_head");
  EXPECT_EQ(decode["operators"][0]["exclusive_ns"], 30000000);
  EXPECT_EQ(profile["kernels"]["not_measured"]["total_ns"], "the device is a CPU");
  EXPECT_EQ(profile["steps"][0]["duration_ns"], 1500000000);
}

TEST(profile_json, keeps_hostile_bytes_as_valid_utf8) {
  run_facts facts = example_run();
  facts.captures[0].timeline.ranges[1].name = "bad\xFF\x01name";
  const std::string text = profile_json(facts);
  EXPECT_EQ(json::parse(text)["stages"][0]["operators"][0]["op_name"], "bad\xEF\xBF\xBD\x01name");
}

TEST(profile_json, refuses_an_environment_that_is_no_object) {
  run_facts facts = example_run();
  facts.env_json = "[1, 2";
  EXPECT_THROW(profile_json(facts), core::bad_input);
}

TEST(profile_json, refuses_an_environment_with_a_null_that_nobody_explains) {
  run_facts facts = example_run();
  facts.env_json = R"({"git": {"dirty": null}})";
  EXPECT_THAT([&] { profile_json(facts); }, ::testing::ThrowsMessage<core::bad_input>(
                                                ::testing::HasSubstr("env.json: /git/dirty: is null")));
}

TEST(validate_profile, names_the_place_of_the_fault) {
  EXPECT_EQ(complaint_after([](json&) {}), "");
  EXPECT_EQ(complaint_after([](json& d) { d["schema_version"] = "9.0"; }),
            "profile.json: /schema_version: is \"9.0\", and this program reads 1.2");
  EXPECT_EQ(complaint_after([](json& d) { d.erase("schema_version"); }),
            "profile.json: /schema_version: is missing, so this is no profile.json");
  EXPECT_EQ(complaint_after([](json& d) { d["run"].erase("pair"); }), "profile.json: /run/pair: is missing");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"] = 7; }),
            "profile.json: /stages: is number instead of array");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"][1].erase("telemetry"); }),
            "profile.json: /stages/1/telemetry: is missing");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"][1]["telemetry"] = 7; }),
            "profile.json: /stages/1/telemetry: is number instead of object or null");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"][0] = 7; }),
            "profile.json: /stages/0: is number instead of object");
  EXPECT_EQ(complaint_after([](json& d) { d["throughput"].erase("energy_per_decoded_token_j"); }),
            "profile.json: /throughput/energy_per_decoded_token_j: is missing");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"][0]["bare"]["mean_ns"] = nullptr; }),
            "profile.json: /stages/0/bare/mean_ns: is null without a reason in /stages/0/bare/not_measured");
  EXPECT_EQ(complaint_after([](json& d) { d["stages"][0]["bare"]["samples_ns"][1] = nullptr; }),
            "profile.json: /stages/0/bare/samples_ns/1: is null inside a list, where no reason can stand");
  EXPECT_EQ(complaint_after([](json& d) { d["environment"]["a/b"] = nullptr; }),
            "profile.json: /environment/a~1b: is null without a reason in /environment/not_measured");
}

TEST(validate_profile, refuses_what_is_no_json_object) {
  EXPECT_THROW(validate_profile("{\"a\": ", "p"), core::bad_input);
  EXPECT_THROW(validate_profile("[]", "p"), core::bad_input);
  EXPECT_THROW(validate_profile("", "p"), core::bad_input);
}

TEST(profile, an_occurrence_is_that_of_all_inputs) {
  run_facts facts = example_run();
  core::workload_result& bench = *facts.bare.bench;
  core::workload_input input;
  input.samples_ns = bench.samples_ns;
  for (const char* name : {"one", "two"}) {
    input.name = name;
    bench.inputs.push_back(input);
  }
  facts.captures = {{"nsys/run.sqlite", std::nullopt,
                     timeline_builder()
                         .range("prefill", 0, 4 * ms)
                         .range("decode_all", 20 * ms, 50 * ms)
                         .range("prefill", 60 * ms, 67 * ms)
                         .range("decode_all", 70 * ms, 84 * ms)
                         .build()}};
  const run_figures figures = analyze_run(facts);
  EXPECT_EQ(figures.stages[0].traced->occurrences, 1);
  EXPECT_DOUBLE_EQ(figures.stages[0].traced->median_ns, 11e6);
  EXPECT_DOUBLE_EQ(figures.stages[1].traced->median_ns, 44e6);
  EXPECT_TRUE(figures.timeline.problems.empty()) << "several are what was asked for";
  const auto inputs = nlohmann::json::parse(profile_json(facts)).at("workload_inputs");
  EXPECT_EQ(inputs.at(1).at("name"), "two");
  EXPECT_TRUE(inputs.at(1).at("vision").is_null());
  EXPECT_FALSE(nlohmann::json::parse(profile_json(example_run())).contains("workload_inputs"));
}

}  // namespace
}  // namespace profgate::analysis
