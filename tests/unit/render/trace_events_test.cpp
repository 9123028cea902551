#include "render/trace_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "golden_cases.h"
#include "judgement_cases.h"

namespace profgate::render {
namespace {

using nlohmann::json;

std::string written(const analysis::run_facts& facts) {
  std::string text;
  write_trace_events(facts, [&](std::string_view piece) { text += piece; });
  return text;
}

/// Two captures, the second with one kernel of a hostile name.
analysis::run_facts two_captures() {
  analysis::run_facts facts;
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"prefill"};
  for (const char* const name : {"nsys/run.sqlite", "nsys/run.prefill.sqlite"}) {
    core::timeline timeline;
    timeline.ranges.push_back(
        {"LLM", "prefill", core::range_style::push_pop, 7, 7, 5'000'000'001, 5'000'002'000});
    facts.captures.push_back({name, std::nullopt, std::move(timeline)});
  }
  core::timeline& last = facts.captures[1].timeline;
  last.kernels.push_back(
      {last.shapes.keep({hostile_name}), 0, 3, 7, 7, 5'000'000'010, 5'000'000'100, 5'000'001'234});
  return facts;
}

TEST(trace_events, are_json_whatever_the_names) {
  const json document = json::parse(written(two_captures()));
  std::size_t kernels = 0;
  for (const json& event : document["traceEvents"])
    kernels += event["ph"] == "X" && event.contains("args") && event["args"]["stage"] == "prefill";
  EXPECT_EQ(kernels, 1U);
}

/// Of the hosts' processes, in their order.
std::vector<std::string> process_names(const analysis::run_facts& facts) {
  std::vector<std::string> names;
  const json document = json::parse(written(facts));
  for (const json& event : document["traceEvents"]) {
    const std::string name = event["name"] == "process_name" ? event["args"]["name"] : "";
    if (!name.empty() && !name.starts_with("GPU")) names.push_back(name);
  }
  return names;
}

TEST(trace_events, call_a_process_by_the_program_not_by_what_starts_it) {
  analysis::run_facts facts = two_captures();
  EXPECT_EQ(process_names(facts).at(0), "process 7 (nsys/run.sqlite)") << "nobody tells";
  facts.program = "generate.py";
  EXPECT_EQ(process_names(facts).at(0), "generate.py, process 7 (nsys/run.sqlite)") << "it is the only one";
  core::timeline& first = facts.captures[0].timeline;
  first.process_names = {{7, "/usr/bin/env"}, {8, "/opt/tokenizer"}, {9, "python3"}};
  for (const std::uint32_t process : {8U, 9U, 10U})
    first.ranges.push_back(
        {"LLM", "prefill", core::range_style::push_pop, process, process, 5'000'000'001, 5'000'002'000});
  EXPECT_THAT(process_names(facts),
              ::testing::IsSupersetOf(
                  {"generate.py, process 7 (nsys/run.sqlite)", "tokenizer, process 8 (nsys/run.sqlite)",
                   "generate.py, process 9 (nsys/run.sqlite)", "process 10 (nsys/run.sqlite)"}));
  facts.program.clear();
  EXPECT_THAT(process_names(facts), ::testing::Contains("env, process 7 (nsys/run.sqlite)"));
}

TEST(trace_events, leave_names_of_ranges_as_they_are) {
  analysis::run_facts facts = two_captures();
  core::timeline& last = facts.captures[1].timeline;
  last.ranges.push_back({"LLM", "a::f(x)", core::range_style::push_pop, 7, 7, 5'000'000'011, 5'000'000'012});
  last.kernels.push_back(
      {last.shapes.keep({"void a::f(int)"}), 0, 3, 7, 7, 5'000'000'020, 5'000'001'300, 5'000'001'400});
  const std::string text = written(facts);
  EXPECT_THAT(text, ::testing::HasSubstr("\"name\":\"a::f(x)\""));
  EXPECT_THAT(text, ::testing::HasSubstr(R"("name":"f")"));
}

TEST(trace_events, call_no_two_kernels_alike) {
  analysis::run_facts facts = two_captures();
  core::timeline& first = facts.captures[0].timeline;
  first.kernels.push_back(
      {first.shapes.keep({"void a::f(int)"}), 0, 3, 7, 7, 5'000'000'020, 5'000'001'300, 5'000'001'400});
  core::timeline& last = facts.captures[1].timeline;
  last.kernels.push_back(
      {last.shapes.keep({"void b::f(int)"}), 0, 3, 7, 7, 5'000'000'020, 5'000'001'300, 5'000'001'400});
  const std::string text = written(facts);
  EXPECT_THAT(text, ::testing::AllOf(::testing::HasSubstr(R"("name":"a::f")"),
                                     ::testing::HasSubstr(R"("name":"b::f")")));
}

TEST(trace_events, tell_how_a_kernel_was_launched) {
  analysis::run_facts facts = two_captures();
  core::timeline& first = facts.captures[0].timeline;
  core::kernel_shape shape{.name = "f", .grid = {13, 10, 1}, .block = {256, 1, 1}};
  const auto run = [&] {
    first.kernels = {{first.shapes.keep(shape), 0, 3, 7, 7, 5'000'000'020, 5'000'001'300, 5'000'001'400}};
    return written(facts);
  };
  EXPECT_THAT(run(),
              ::testing::HasSubstr(
                  R"("args":{"operator":"","stage":"prefill","grid":"13, 10, 1","block":"256, 1, 1"})"));
  shape.registers_per_thread = 135;
  shape.shared_bytes = 512;
  EXPECT_THAT(run(),
              ::testing::HasSubstr(
                  R"("block":"256, 1, 1","registers a thread":135,"shared memory a block, bytes":512})"));
}

/// By the name of a slice, the ids of the arrows that start and end there.
std::multimap<std::string, std::string> arrows_of(const analysis::run_facts& facts) {
  std::multimap<std::string, std::string> arrows;
  const json document = json::parse(written(facts));
  for (const json& event : document["traceEvents"])
    for (const char* end : {"flow_out", "flow_in"})
      if (event.contains(end))
        arrows.emplace(event["name"].get<std::string>() + " " + end, event["bind_id"].get<std::string>());
  return arrows;
}

TEST(trace_events, lead_from_a_call_to_the_first_kernel_that_it_started) {
  analysis::run_facts facts = two_captures();
  for (analysis::capture& source : facts.captures) {
    core::timeline& timeline = source.timeline;
    const auto add = [&](const char* name, std::int64_t start_ns, std::uint64_t node,
                         std::uint32_t correlation, std::uint32_t call_ns) {
      timeline.kernels.push_back({timeline.shapes.keep({name}), 0, 3, 7, 7, 5'000'000'020 + correlation * 20,
                                  5'000'001'000 + start_ns, 5'000'001'010 + start_ns, node, correlation,
                                  call_ns});
    };
    timeline.kernels.clear();
    add("single", 0, 0, 1, 9);
    add("second", 40, 12, 2, 9);
    add("first", 20, 11, 2, 9);
    add("without_call", 60, 0, 3, 0);
  }
  EXPECT_THAT(arrows_of(facts),
              ::testing::UnorderedElementsAre(std::pair("launch a kernel flow_out", "0x700000001"),
                                              std::pair("launch a graph flow_out", "0x700000002"),
                                              std::pair("single flow_in", "0x700000001"),
                                              std::pair("first flow_in", "0x700000002"),
                                              std::pair("launch a kernel flow_out", "0x100000700000001"),
                                              std::pair("launch a graph flow_out", "0x100000700000002"),
                                              std::pair("single flow_in", "0x100000700000001"),
                                              std::pair("first flow_in", "0x100000700000002")));
}

TEST(trace_events, keep_each_nanosecond) {
  const std::string text = written(two_captures());
  EXPECT_THAT(text, ::testing::HasSubstr(R"("ts":0.000,"dur":1.999,"name":"prefill")"));
  EXPECT_THAT(text, ::testing::HasSubstr(R"("ts":0.099,"dur":1.134,)"));
}

TEST(trace_events, keep_captures_and_devices_apart) {
  const json document = json::parse(written(two_captures()));
  std::map<std::int64_t, std::string> names;
  for (const json& event : document["traceEvents"])
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
  EXPECT_THAT(names, ::testing::ElementsAre(std::pair(7, "process 7 (nsys/run.sqlite)"),
                                            std::pair(20'000'007, "process 7 (nsys/run.prefill.sqlite)"),
                                            std::pair(30'000'000, "GPU 0 (nsys/run.prefill.sqlite)")));
}

TEST(trace_events, of_no_capture_are_an_empty_list) {
  EXPECT_TRUE(json::parse(written({}))["traceEvents"].empty());
}

}  // namespace
}  // namespace profgate::render
