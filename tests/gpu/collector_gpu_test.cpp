// The embedded collector on a real GPU: what it records of profgate-llm must be what the workload says it
// did.
//
// PROFGATE_COLLECTOR_MODEL=qwen3-0.6b (any name of conf/model/llm) measures a model whose cost matters; the
// default is small enough for any GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "../unit/collector/temp_folder.h"
#include "../unit/profilers/fork_runner.h"
#include "parsers/timeline.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"
#include "profilers/capture.h"

namespace profgate::test {
namespace {

using core::kernel_execution;
using core::range_record;

class collector_on_gpu : public ::testing::Test {
 protected:
  /// conf/model/llm/<model>.yaml, indented under `model:`.
  std::string model_yaml() const {
    std::ifstream in(std::string(PROFGATE_CONF "/model/llm/") + m_model + ".yaml");
    std::string text = "model:\n";
    for (std::string line; std::getline(in, line);) {
      // Outputs are checked elsewhere, and the file's path is relative to the model's.
      if (line.rfind("reference", 0) != 0) text += "  " + line + "\n";
    }
    return text;
  }

  std::vector<std::string> workload(bool with_graphs) {
    const std::filesystem::path config = m_folder / "config.yaml";
    std::ofstream(config) << "workload: {device: cuda, prompt_tokens: 64, decode_tokens: 32, cuda_graphs: "
                          << (with_graphs ? "true" : "false") << ", planted_delay_ns: " << m_planted_delay_ns
                          << "}\nstage1: {repetitions: 3, warmup: 1}\n"
                          << model_yaml();
    return {PROFGATE_LLM, "--config", config.string(),       "--mode",
            "profile",    "--result", result_file().string()};
  }

  std::filesystem::path result_file() const { return m_folder / "result.json"; }
  core::workload_result result() const { return parsers::read_workload_result(result_file()); }

  /// Skips without a GPU; the bare run's stage times otherwise.
  std::map<std::string, std::int64_t> run_bare(bool with_graphs) {
    profilers::tool_command command;
    command.argv = workload(with_graphs);
    const profilers::tool_run run = run_by_fork(command);
    if (run.exit_code == 77) {
      m_skip_reason = run.tail;
      return {};
    }
    EXPECT_TRUE(run.is_good()) << run.tail;
    std::map<std::string, std::int64_t> stages_ns;
    for (const auto& [stage, samples] : result().samples_ns) {
      if (!samples.empty()) stages_ns[stage] = *std::min_element(samples.begin(), samples.end());
    }
    return stages_ns;
  }

  core::timeline capture(bool with_graphs, bool is_gated) {
    profilers::capture_request request;
    request.workload = workload(with_graphs);
    request.output_folder = m_folder.path();
    request.log_file = m_folder / "log.txt";
    request.collector_library = COLLECTOR_LIBRARY;
    request.ranges = {{"prefill", "LLM"}, {"decode_all", "LLM"}};
    request.is_gated = is_gated;
    const profilers::capture_result captured = profilers::capture_embedded(request, run_by_fork);
    for (const std::string& note : captured.notes) std::printf("note: %s\n", note.c_str());
    core::timeline timeline = profilers::read_timelines(captured.timeline_files);
    parsers::embedded_facts facts;
    parsers::read_embedded_timeline(captured.timeline_files.front(), facts);
    std::printf(
        "%s, graphs %s: %zu ranges, %zu kernels, %zu copies, %zu calls; CUPTI %u, dropped %llu + %llu, %s\n",
        is_gated ? "gated" : "ungated", with_graphs ? "on" : "off", timeline.ranges.size(),
        timeline.kernels.size(), timeline.copies.size(), timeline.calls.size(), facts.cupti_version,
        static_cast<unsigned long long>(facts.dropped_ranges),
        static_cast<unsigned long long>(facts.dropped_activities),
        facts.is_activity_whole ? "whole" : "NOT WHOLE");
    std::map<std::string, int> calls;
    for (const core::host_call& call : timeline.calls) ++calls[std::string(call.name)];
    for (const auto& [name, count] : calls) std::printf("  %6d %s\n", count, name.c_str());
    EXPECT_EQ(timeline.kernels_absent_reason, std::nullopt) << timeline.kernels_absent_reason.value_or("");
    EXPECT_EQ(timeline.dropped_records, 0U);
    return timeline;
  }

  static const range_record* stage_named(const core::timeline& timeline, const std::string& name) {
    const auto found = std::find_if(timeline.ranges.begin(), timeline.ranges.end(),
                                    [&](const range_record& range) { return range.name == name; });
    return found == timeline.ranges.end() ? nullptr : &*found;
  }

  /// The kernels that were launched inside of the range, on its thread.
  static std::vector<kernel_execution> kernels_in(const core::timeline& timeline, const std::string& stage) {
    std::vector<kernel_execution> inside;
    const range_record* const range = stage_named(timeline, stage);
    if (range == nullptr || !range->end_ns) return inside;
    for (const kernel_execution& kernel : timeline.kernels) {
      if (kernel.thread_id == range->thread_id && kernel.launched_ns >= range->start_ns &&
          kernel.launched_ns <= *range->end_ns) {
        inside.push_back(kernel);
      }
    }
    return inside;
  }

  static std::map<std::string, std::int64_t> counts_by_name(const std::vector<kernel_execution>& kernels) {
    std::map<std::string, std::int64_t> counts;
    for (const kernel_execution& kernel : kernels) ++counts[std::string(kernel.shape->mangled_name)];
    return counts;
  }

  /// Times that make sense, on the clock of the ranges: launched, then started, before the stage closed.
  static void expect_sound(const core::timeline& timeline, const std::string& stage) {
    const range_record* const range = stage_named(timeline, stage);
    ASSERT_NE(range, nullptr) << stage;
    std::int64_t shortest_delay_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t latest_end_ns = 0;
    for (const kernel_execution& kernel : kernels_in(timeline, stage)) {
      EXPECT_GT(kernel.end_ns, kernel.start_ns) << kernel.shape->name;
      EXPECT_GT(kernel.shape->grid[0] * kernel.shape->block[0], 0U) << kernel.shape->name;
      shortest_delay_ns = std::min(shortest_delay_ns, kernel.start_ns - kernel.launched_ns);
      latest_end_ns = std::max(latest_end_ns, kernel.end_ns);
    }
    const std::int64_t idle_at_end_ns = *range->end_ns - latest_end_ns;
    std::printf("  %s: shortest launch to start %.1f us; last kernel ends %.1f us before the range closes\n",
                stage.c_str(), static_cast<double>(shortest_delay_ns) / 1000.0,
                static_cast<double>(idle_at_end_ns) / 1000.0);
    // CUPTI interpolates the device's clock, to some microseconds.
    constexpr std::int64_t clock_error_ns = 50'000;
    EXPECT_GT(shortest_delay_ns, -clock_error_ns) << stage << ": a kernel starts before its launch";
    EXPECT_GT(idle_at_end_ns, -clock_error_ns) << stage << ": a kernel ends after its stage";
  }

  void print_cost(const core::timeline& timeline, const std::map<std::string, std::int64_t>& bare_ns) const {
    const core::workload_result profiled = result();
    for (const auto& [stage, bare] : bare_ns) {
      const auto samples = profiled.samples_ns.find(stage);
      if (samples == profiled.samples_ns.end() || samples->second.empty() || bare == 0) continue;
      const range_record* const range = stage_named(timeline, stage);
      const double range_ns =
          range == nullptr || !range->end_ns ? 0 : static_cast<double>(*range->end_ns - range->start_ns);
      std::printf("  cost of %s: bare %.3f ms, collected %.3f ms (%+.1f %%), range %.3f ms\n", stage.c_str(),
                  static_cast<double>(bare) / 1e6, static_cast<double>(samples->second.front()) / 1e6,
                  (static_cast<double>(samples->second.front()) / static_cast<double>(bare) - 1) * 100,
                  range_ns / 1e6);
    }
  }

  /// The planted kernels of the decode, one a step: alone on the GPU, and as long as the config says.
  void expect_planted_in_every_step(const core::timeline& timeline) const {
    // CUPTI's clock and the kernel's own need not agree better.
    constexpr std::int64_t clock_error_ns = 1000;
    std::int64_t planted_count = 0;
    const std::vector<kernel_execution> decode = kernels_in(timeline, "decode_all");
    for (const kernel_execution& planted : decode) {
      if (!is_planted(planted.shape->mangled_name)) continue;
      ++planted_count;
      EXPECT_GE(planted.end_ns - planted.start_ns, m_planted_delay_ns - clock_error_ns);
      for (const kernel_execution& other : decode) {
        EXPECT_TRUE(&other == &planted || other.end_ns <= planted.start_ns + clock_error_ns ||
                    other.start_ns >= planted.end_ns - clock_error_ns)
            << other.shape->name << " runs beside it";
      }
    }
    EXPECT_EQ(planted_count, result().tokens.at("decode"));
    for (const kernel_execution& kernel : kernels_in(timeline, "prefill")) {
      EXPECT_FALSE(is_planted(kernel.shape->mangled_name)) << "none in the prefill";
    }
  }

  static bool is_planted(std::string_view kernel) {
    return kernel.find("planted_delay_kernel") != std::string_view::npos;
  }

  std::int64_t m_planted_delay_ns = 0;
  temp_folder m_folder;
  std::string m_model = std::getenv("PROFGATE_COLLECTOR_MODEL") == nullptr
                            ? "llama-tiny"
                            : std::getenv("PROFGATE_COLLECTOR_MODEL");
  std::string m_skip_reason;
};

TEST_F(collector_on_gpu, sees_each_kernel_of_a_replayed_graph) {
  const auto bare_ns = run_bare(true);
  if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
  const core::timeline timeline = capture(true, true);
  const core::workload_result told = result();
  print_cost(timeline, bare_ns);
  const std::int64_t steps = told.tokens.at("decode");
  const std::vector<kernel_execution> prefill = kernels_in(timeline, "prefill");
  const std::vector<kernel_execution> decode = kernels_in(timeline, "decode_all");
  std::map<std::uint64_t, std::int64_t> by_node;  // each has an id of its own
  for (const kernel_execution& kernel : decode) ++by_node[kernel.graph_node];
  std::printf("  prefill %zu kernels, decode_all %zu kernels = %zu nodes x %lld steps\n", prefill.size(),
              decode.size(), by_node.size(), static_cast<long long>(steps));
  EXPECT_GT(prefill.size(), 0U);
  EXPECT_EQ(timeline.kernels.size(), prefill.size() + decode.size()) << "every kernel has a stage";
  EXPECT_EQ(counts_by_name(decode), counts_by_name(kernels_in(capture(false, true), "decode_all")))
      << "by mangled name, against what is launched without a graph";
  for (const auto& [node, count] : by_node) {
    EXPECT_NE(node, 0U);
    EXPECT_EQ(count, steps) << "node " << node;
  }
  expect_sound(timeline, "prefill");
  expect_sound(timeline, "decode_all");
}

TEST_F(collector_on_gpu, tells_the_machine_code_of_each_kernel_and_the_same_in_every_run) {
  run_bare(true);
  if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
  const auto hashes_of = [&](const core::timeline& timeline) {
    std::map<std::string, std::uint64_t> hashes;
    for (const kernel_execution& kernel : timeline.kernels) {
      const auto found = timeline.code_hashes.find(kernel.shape->mangled_name);
      if (found == timeline.code_hashes.end()) {
        ADD_FAILURE() << "no hash of " << kernel.shape->mangled_name;
      } else {
        hashes.emplace(kernel.shape->mangled_name, found->second);
      }
    }
    std::printf("  %zu kernels loaded, %zu ran\n", timeline.code_hashes.size(), hashes.size());
    return hashes;
  };
  const auto first = hashes_of(capture(true, true));
  EXPECT_GT(first.size(), 3U);
  EXPECT_EQ(hashes_of(capture(true, true)), first);
}

TEST_F(collector_on_gpu, sees_the_same_with_and_without_a_gate) {
  run_bare(true);
  if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
  const core::timeline gated = capture(true, true);
  const core::timeline ungated = capture(true, false);
  EXPECT_GT(ungated.kernels.size(), gated.kernels.size()) << "the warm-up has kernels, too";
  for (const char* stage : {"prefill", "decode_all"}) {
    EXPECT_EQ(counts_by_name(kernels_in(gated, stage)), counts_by_name(kernels_in(ungated, stage))) << stage;
  }
}

TEST_F(collector_on_gpu, sees_a_planted_delay_once_in_every_decode_step) {
  m_planted_delay_ns = 50'000;
  for (const bool with_graphs : {true, false}) {
    SCOPED_TRACE(with_graphs ? "graphs" : "eager");
    run_bare(with_graphs);
    if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
    expect_planted_in_every_step(capture(with_graphs, true));
  }
}

TEST_F(collector_on_gpu, waits_for_the_device_and_spoils_no_capture) {
  const auto bare_ns = run_bare(true);
  if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
  profilers::capture_request request;
  request.workload = workload(true);
  request.output_folder = m_folder.path();
  request.log_file = m_folder / "log.txt";
  request.collector_library = COLLECTOR_LIBRARY;
  profilers::tool_run run;
  const auto run_workload = [&](const profilers::tool_command& command) {
    return run = run_by_fork(command);
  };
  // Those of operators open while the decode step is captured.
  request.synchronised = {{"*", "LLM"}};
  profilers::device_waits waits;
  profilers::observe_ranges(request, run_workload, waits);
  EXPECT_TRUE(run.is_good()) << run.tail;
  EXPECT_TRUE(waits.are_done);
  EXPECT_THAT(waits.notes, ::testing::ElementsAre(::testing::HasSubstr("a stream was capturing a graph")));
  request.synchronised = {{"prefill", "LLM"}, {"decode_all", "LLM"}};
  const core::timeline timeline = profilers::observe_ranges(request, run_workload, waits);
  EXPECT_TRUE(run.is_good()) << run.tail;
  EXPECT_TRUE(waits.are_done);
  EXPECT_THAT(waits.notes, ::testing::IsEmpty());
  print_cost(timeline, bare_ns);
}

TEST_F(collector_on_gpu, sees_eager_launches_with_their_operators) {
  const auto bare_ns = run_bare(false);
  if (!m_skip_reason.empty()) GTEST_SKIP() << m_skip_reason;
  const core::timeline timeline = capture(false, true);
  print_cost(timeline, bare_ns);
  const std::vector<kernel_execution> decode = kernels_in(timeline, "decode_all");
  EXPECT_EQ(timeline.kernels.size(), kernels_in(timeline, "prefill").size() + decode.size());
  std::set<std::uint32_t> launches;
  for (const kernel_execution& kernel : decode) {
    EXPECT_EQ(kernel.graph_node, 0U);
    EXPECT_TRUE(launches.insert(kernel.correlation).second) << "one launch, one kernel";
  }
  expect_sound(timeline, "decode_all");
}

}  // namespace
}  // namespace profgate::test
