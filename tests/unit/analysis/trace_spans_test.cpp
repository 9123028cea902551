#include "analysis/trace_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/stage_windows.h"
#include "analysis/timeline_strip.h"
#include "core/stage_names.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// "name start-end" of each row, by what the row is.
class written_spans : public span_visitor {
 public:
  void on_track(std::size_t index, const track& row) override { m_rows[index] = row; }
  void on_span(std::size_t index, const trace_span& one) override {
    const track& row = m_rows.at(index);
    of[{row.kind, row.lane}].push_back(std::string(one.name) + " " + std::to_string(one.start_ns) + "-" +
                                       std::to_string(one.end_ns));
    if (row.kind == track_kind::calls) flows.push_back(one.flow);
    if (row.kind != track_kind::stream) return;
    ops.push_back(std::string(one.op));
    device_work.push_back(std::string(one.name) + " " + std::to_string(one.start_ns) + " in " +
                          std::string(one.stage));
  }
  std::map<std::pair<track_kind, std::uint32_t>, std::vector<std::string>> of;
  std::vector<std::string> ops;
  std::vector<std::string> device_work;
  std::vector<std::uint64_t> flows;  ///< of calls

 private:
  std::map<std::size_t, track> m_rows;
};

const span_request both_stages{{"prefill", "decode_all"}, "LLM", {}};

/// b is launched early: it waits for a, which ends when b's own work begins.
core::timeline overlapping() {
  return timeline_builder()
      .range("prefill", 0, 100)
      .range("attn", 5, 20)
      .kernel("a", 6, 10, 40)
      .range("mlp", 20, 30)
      .kernel("b", 21, 25, 60)
      .kernel("c", 70, 75, 90)
      .build();
}

TEST(trace_spans, put_what_overlaps_into_lanes) {
  const core::timeline timeline = overlapping();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::stream, 0}]), ElementsAre("a 10-40", "c 75-90"));
  EXPECT_THAT((spans.of[{track_kind::stream, 1}]), ElementsAre("b 25-60"));
  EXPECT_THAT(spans.ops, ElementsAre("attn", "mlp", ""));
}

TEST(trace_spans, tell_kernels_and_copies_in_the_order_of_their_starts) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 100)
                                      .range("decode_all", 100, 200)
                                      .kernel("late", 130, 140, 150)
                                      .kernel("early", 6, 10, 20)
                                      .copy(160, 170, 180, 0)
                                      .copy(2, 4, 8, 0)
                                      .copy(110, 140, 145, 0)
                                      .build();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT(spans.device_work,
              ElementsAre("copy host to device 4 in prefill", "early 10 in prefill", "late 140 in decode_all",
                          "copy host to device 140 in decode_all", "copy host to device 170 in decode_all"));
}

TEST(trace_spans, give_an_operator_the_time_that_is_its_own) {
  const core::timeline timeline = overlapping();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::operators, 0}]), ElementsAre("attn 10-40", "mlp 40-60"));
}

/// decode_all inside of prefill: a device that works for either is not idle, and one gap is drawn once.
TEST(trace_spans, tell_idle_time_of_stages_inside_of_others_once) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 100)
                                      .kernel("outer", 2, 10, 20)
                                      .range("decode_all", 30, 70)
                                      .kernel("inner", 31, 35, 45)
                                      .kernel("inner", 46, 50, 65)
                                      .kernel("outer", 72, 80, 90)
                                      .build();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::idle, 0}]),
              ElementsAre("waits for a launch 0-10", "waits for a launch 20-35", "waits for a launch 45-50",
                          "waits for a launch 65-80", "after the last kernel 90-100"));
  EXPECT_TRUE((spans.of[{track_kind::idle, 1}].empty()));
}

TEST(trace_spans, tell_idle_time_inside_of_stages) {
  const core::timeline timeline = overlapping();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT(
      (spans.of[{track_kind::idle, 0}]),
      ElementsAre("waits for a launch 0-10", "waits for a launch 60-75", "after the last kernel 90-100"));
}

TEST(trace_spans, nest_ranges_and_lay_start_end_ranges_beside_them) {
  const core::timeline timeline = timeline_builder()
                                      .range("inner", 10, 20)
                                      .range("outer", 0, 100)
                                      .start_end("one", 0, 50)
                                      .start_end("two", 40, 60)
                                      .open_range("never closed", 5)
                                      .build();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::ranges, 0}]),
              ::testing::UnorderedElementsAre("outer 0-100", "inner 10-20", "one 0-50"));
  EXPECT_THAT((spans.of[{track_kind::ranges, 1}]), ElementsAre("two 40-60"));
}

TEST(trace_spans, show_a_call_once_however_much_it_launched) {
  core::timeline timeline = overlapping();
  for (core::kernel_execution& kernel : timeline.kernels) {
    kernel.launched_ns = 6;
    kernel.call_ns = 3;
    kernel.graph_node = 7;
  }
  timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, 80, 95});
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::calls, 0}]),
              ElementsAre("launch a graph 6-9", "cudaStreamSynchronize 80-95"));
}

TEST(trace_spans, lead_from_a_recorded_call_to_what_it_launched) {
  core::timeline timeline = overlapping();
  for (core::kernel_execution& kernel : timeline.kernels) {
    kernel.call_ns = 3;
    kernel.correlation = static_cast<std::uint32_t>(kernel.launched_ns);
  }
  timeline.calls.push_back({"cudaLaunchKernel", 1, 1, 21, 24});
  timeline.calls.push_back({"cudaLaunchKernel, by a wrapper", 1, 1, 21, 24});
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::calls, 0}]),
              ElementsAre("launch a kernel 6-9", "cudaLaunchKernel 21-24", "launch a kernel 70-73"));
  const auto flow = [](std::uint64_t correlation) { return std::uint64_t{1} << 32 | correlation; };
  EXPECT_THAT(spans.flows, ElementsAre(flow(6), flow(21), flow(70)));
}

run_facts traced(core::timeline timeline) {
  run_facts facts;
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"prefill", "decode_all"};
  facts.captures = {{"nsys/run.sqlite", std::nullopt, std::move(timeline)}};
  return facts;
}

/// "stream k<2>; ranges f; ": the kind of its row and the name of every span.
std::string spans_shown(const core::timeline& timeline, const core::short_kernel_names& names) {
  std::string shown;
  for (const timeline_strip& strip : find_strips(traced(timeline), names))
    for (const strip_row& row : strip.rows)
      for (const strip_span& span : row.spans) shown += row.kind + " " + span.name + "; ";
  return shown;
}

TEST(timeline_strips, show_one_prefill_and_the_decode_step_in_the_middle) {
  timeline_builder builder;
  builder.range("prefill", 0, 1000).kernel("p", 10, 20, 990).range("decode_all", 2000, 5000);
  for (int step = 0; step < 3; ++step) {
    builder.range("decode_step", 2000 + 1000 * step, 2900 + 1000 * step);
    builder.kernel("k" + std::to_string(step), 2010 + 1000 * step, 2020 + 1000 * step, 2950 + 1000 * step);
  }
  const std::vector<timeline_strip> strips = find_strips(traced(builder.build()), {});
  ASSERT_EQ(strips.size(), 2U);
  EXPECT_EQ(strips[0].what, "prefill");
  EXPECT_EQ(strips[0].duration_ns, 1000);
  EXPECT_EQ(strips[1].what, "decode_step");
  EXPECT_EQ(strips[1].duration_ns, 950) << "until its kernel has ended";
  std::string rows;
  for (const strip_row& row : strips[1].rows) {
    rows += row.kind + ":";
    for (const strip_span& span : row.spans) rows += " " + span.name + "@" + std::to_string(span.start_ns);
    rows += "; ";
  }
  EXPECT_THAT(rows, HasSubstr("stream: k1@20; "));
  EXPECT_THAT(rows, ::testing::StartsWith("ranges: decode_all@0 decode_step@0; "));
}

TEST(timeline_strips, show_no_step_of_another_thread_that_is_in_a_stage_of_its_own) {
  const auto shown = [](std::uint32_t thread_of_decoding) {
    timeline_builder builder;
    builder.range("prefill", 0, 1000).range("decode_all", 100, 900, thread_of_decoding);
    for (int step = 0; step < 3; ++step) builder.range("decode_step", 200 + 100 * step, 250 + 100 * step, 2);
    std::string strips;
    for (const timeline_strip& strip : find_strips(traced(builder.build()), {})) strips += strip.what + "; ";
    return strips;
  };
  EXPECT_EQ(shown(2), "prefill; decode_step; ");
  EXPECT_EQ(shown(3), "decode_step; decode_step; ")
      << "steps of a thread without stages are of all around it";
}

/// Steps of several threads in, beside and across the windows of two stages.
TEST(timeline_strips, count_the_steps_that_a_plain_search_finds) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&](std::int64_t from, std::int64_t to) {
      return std::uniform_int_distribution<std::int64_t>(from, to)(random);
    };
    timeline_builder builder;
    for (int i = 0; i < 60; ++i) {
      const std::int64_t start_ns = number(0, 2000);
      const auto thread = static_cast<std::uint32_t>(number(1, 4));
      const char* const name = i < 10 ? "prefill" : i < 20 ? "decode_all" : "decode_step";
      builder.range(name, start_ns, start_ns + number(1, i < 20 ? 400 : 100), thread);
    }
    const core::timeline timeline = builder.build();
    const std::vector<stage_window> windows = find_windows(timeline, {"prefill", "decode_all"}, "LLM");
    const std::vector<timeline_strip> strips = find_strips(traced(timeline), {});
    ASSERT_EQ(strips.size(), 2U);
    for (std::size_t stage = 0; stage < 2; ++stage) {
      std::int64_t steps = 0;
      for (const core::range_record& range : timeline.ranges) {
        if (range.name != core::decode_step_range) continue;
        bool is_inside = false;
        bool is_on_its_thread = false;
        bool is_of_any = false;
        for (const stage_window& window : windows) {
          if (range.start_ns < window.start_ns || *range.end_ns > window.end_ns) continue;
          const bool is_own = window.thread_id == range.thread_id;
          is_inside = is_inside || window.stage == stage;
          is_on_its_thread = is_on_its_thread || (is_own && window.stage == stage);
          is_of_any = is_of_any || is_own;
        }
        steps += is_inside && (is_on_its_thread || !is_of_any) ? 1 : 0;
      }
      ASSERT_GT(steps, 0);
      EXPECT_EQ(strips[stage].occurrences, steps) << seed;
    }
  }
}

TEST(timeline_strips, show_the_occurrence_that_is_as_long_as_the_median) {
  timeline_builder builder;
  std::int64_t start_ns = 0;
  for (const std::int64_t length_ns : {100, 120, 9000, 110, 400}) {
    builder.range("prefill", start_ns, start_ns + length_ns);
    start_ns += 10'000;
  }
  builder.range("decode_all", 100'000, 200'000).range("decode_all", 300'000, 400'000);
  for (const std::int64_t step_ns : {100'000, 110'000, 310'000})  // the second is cold
    builder.range("decode_step", step_ns, step_ns + (step_ns == 110'000 ? 5000 : step_ns / 1000));
  const std::vector<timeline_strip> strips = find_strips(traced(builder.build()), {});
  ASSERT_EQ(strips.size(), 2U);
  EXPECT_EQ(strips[0].duration_ns, 120);
  EXPECT_EQ(strips[0].earlier, 1);
  EXPECT_EQ(strips[0].occurrences, 5);
  EXPECT_EQ(strips[1].duration_ns, 310) << "of the steps of both";
  EXPECT_EQ(strips[1].earlier, 2);
  EXPECT_EQ(strips[1].occurrences, 3);
}

TEST(timeline_strips, take_the_median_of_what_the_device_does_where_the_host_runs_ahead) {
  timeline_builder builder;
  builder.range("decode_all", 0, 5000);
  std::int64_t start_ns = 1000;
  for (const std::int64_t length_ns : {300, 900, 310, 100, 305}) {
    const std::int64_t launched_ns = (start_ns - 1000) / 100;  // long before
    builder.range("decode_step", launched_ns, launched_ns + 1);
    builder.kernel("k", launched_ns, start_ns, start_ns + length_ns);
    start_ns += length_ns;
  }
  const std::vector<timeline_strip> strips = find_strips(traced(builder.build()), {});
  ASSERT_EQ(strips.size(), 1U);
  EXPECT_EQ(strips[0].duration_ns, 305);
  EXPECT_EQ(strips[0].earlier, 4);
}

TEST(timeline_strips, show_a_step_of_the_slowest_process) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 100)
                                      .range("prefill", 1000, 1100)
                                      .process(2)
                                      .range("prefill", 0, 9000)
                                      .range("prefill", 10'000, 10'200)
                                      .range("prefill", 20'000, 20'210)
                                      .build();
  const std::vector<timeline_strip> strips = find_strips(traced(timeline), {});
  ASSERT_EQ(strips.size(), 1U);
  EXPECT_EQ(strips[0].duration_ns, 210);
  EXPECT_EQ(strips[0].occurrences, 3);
}

TEST(timeline_strips, call_kernels_as_the_reports_of_the_run_do) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 1000)
                                      .kernel("void a::k<int>(int)", 20, 100, 400)
                                      .kernel("void b::k<int>(int)", 30, 400, 800)
                                      .build();
  const core::short_kernel_names names({"void a::k<int>(int)", "void b::k<int>(int)"});
  const std::string shown = spans_shown(timeline, names);
  EXPECT_THAT(shown, HasSubstr("stream a::k<int>; "));
  EXPECT_THAT(shown, HasSubstr("stream b::k<int>; "));
}

TEST(timeline_strips, shorten_names_of_kernels_and_leave_those_of_ranges) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 1000)
                                      .range("a::f(x)", 10, 900)
                                      .kernel("void a::k<(int)2>(int)", 20, 100, 800)
                                      .build();
  const std::string names = spans_shown(timeline, {});
  EXPECT_THAT(names, HasSubstr("ranges a::f(x); "));
  EXPECT_THAT(names, HasSubstr("stream k<2>; "));
}

TEST(timeline_strips, follow_the_device_where_the_host_runs_ahead) {
  const core::timeline timeline = timeline_builder()
                                      .range("decode_all", 0, 1000)
                                      .range("decode_step", 0, 10)
                                      .kernel("k", 5, 500, 700)
                                      .build();
  const std::vector<timeline_strip> strips = find_strips(traced(timeline), {});
  ASSERT_EQ(strips.size(), 1U);
  EXPECT_EQ(strips[0].duration_ns, 200);
}

TEST(trace_spans, tell_that_a_device_waits_for_a_copy_while_it_runs) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 200)
                                      .kernel("k", 2, 10, 20)
                                      .copy(22, 60, 75, 0)
                                      .kernel("k", 140, 150, 190)
                                      .build();
  written_spans spans;
  visit_spans(timeline, both_stages, spans);
  EXPECT_THAT((spans.of[{track_kind::idle, 0}]),
              ElementsAre("waits for a launch 0-10", "waits for a launch 20-60", "waits for a copy 60-75",
                          "waits for a launch 75-150", "after the last kernel 190-200"));
}

/// Of a strip's first row of that kind: "name own/duration x count" of each span.
std::string spans_together(const core::timeline& timeline, const std::string& kind) {
  std::string shown;
  const std::vector<timeline_strip> strips = find_strips(traced(timeline), {});
  for (const strip_row& row : strips.at(0).rows) {
    if (row.kind != kind) continue;
    for (const strip_span& span : row.spans)
      shown += span.name + " " + std::to_string(span.own_ns) + "/" + std::to_string(span.duration_ns) + " x" +
               std::to_string(span.count) + "; ";
    break;
  }
  return shown;
}

TEST(timeline_strips, draw_short_spans_together_for_no_longer_than_they_take) {
  timeline_builder builder;
  builder.range("prefill", 0, 600'000);  // a point is 1000 ns
  std::int64_t start_ns = 0;
  for (; start_ns < 300'000; start_ns += 1000) {
    builder.kernel("k", 0, start_ns, start_ns + 850);
    builder.copy(0, start_ns + 900, start_ns + 950, 0);
  }
  builder.kernel("long", 0, start_ns, 600'000);
  const core::timeline timeline = builder.build();
  std::int64_t idle_ns = 0;
  std::int64_t copies_ns = 0;
  std::int64_t longest_ns = 0;
  const std::vector<timeline_strip> strips = find_strips(traced(timeline), {});
  for (const strip_row& row : strips[0].rows) {
    for (const strip_span& span : row.spans) {
      if (row.kind != "idle") continue;
      idle_ns += span.own_ns;
      copies_ns += span.name == "waits for a copy" ? span.own_ns : 0;
      longest_ns = std::max(longest_ns, span.duration_ns);
    }
  }
  EXPECT_EQ(idle_ns, 300 * 150);
  EXPECT_EQ(copies_ns, 300 * 50);
  EXPECT_LE(longest_ns, 4000) << "how full it is changes over time";
  EXPECT_THAT(spans_together(timeline, "stream"),
              ::testing::StartsWith("4 short kernels 3400/3950 x4; 4 short copies 200/3950 x4; "));
  EXPECT_THAT(spans_together(timeline, "stream"), ::testing::EndsWith("long 300000/300000 x1; "));
}

TEST(timeline_strips, are_bounded) {
  timeline_builder builder;
  builder.range("prefill", 0, 1'000'000);
  for (int i = 0; i < 20000; ++i) builder.kernel("k", i * 50, i * 50 + 10, i * 50 + 40);
  const std::vector<timeline_strip> strips = find_strips(traced(builder.build()), {});
  ASSERT_EQ(strips.size(), 1U);
  for (const strip_row& row : strips[0].rows) EXPECT_LE(row.spans.size(), 600U) << row.label;
}

}  // namespace
}  // namespace profgate::analysis
