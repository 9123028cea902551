#include <algorithm>
#include <csignal>
#include <fstream>

#include "cubin_image.h"
#include "traced_program.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// The collector's GPU part, with the fake libcupti in the place of CUPTI.
class gpu_trace : public traced_program {
 protected:
  gpu_trace() {
    m_environment["CUDA_INJECTION64_PATH"] = COLLECTOR_LIBRARY;
    m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  }
  parsers::embedded_facts facts(const std::string& file = "out.timeline") {
    parsers::embedded_facts told;
    parsers::read_embedded_timeline(m_folder / file, told);
    return told;
  }
  /// The word that loads a module with this image.
  std::string load_of(const std::string& name, const std::string& image) {
    std::ofstream(m_folder / name, std::ios::binary) << image;
    return "module:" + (m_folder / name).string();
  }
  std::string absent_reason() { return timeline().kernels_absent_reason.value_or(""); }
};

TEST_F(gpu_trace, records_kernels_with_shape_name_and_launch) {
  ASSERT_TRUE(trace({"cuda", "push:LLM:prefill", "kernel:_Z4gemmILi2EEvPf:1", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(recorded.kernels_absent_reason, std::nullopt);
  EXPECT_EQ(recorded.dropped_records, 0U);
  ASSERT_EQ(recorded.kernels.size(), 1U);
  const core::kernel_execution& kernel = recorded.kernels[0];
  EXPECT_EQ(kernel.shape->mangled_name, "_Z4gemmILi2EEvPf");
  EXPECT_EQ(kernel.shape->name, "void gemm<2>(float*)");
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.stream, 7U);
  EXPECT_EQ(kernel.shape->grid, (std::array<std::uint32_t, 3>{2, 3, 4}));
  EXPECT_EQ(kernel.shape->block, (std::array<std::uint32_t, 3>{128, 1, 1}));
  EXPECT_EQ(kernel.shape->registers_per_thread, 40U);
  EXPECT_EQ(kernel.shape->shared_bytes, 1536U);
  EXPECT_EQ(kernel.shape->dynamic_shared_bytes, 512U);
  EXPECT_EQ(kernel.shape->local_bytes, 24U);
  EXPECT_EQ(kernel.shape->cluster, (std::array<std::uint32_t, 3>{2, 1, 4}));
  EXPECT_EQ(kernel.graph_node, 0U);
  EXPECT_EQ(kernel.end_ns - kernel.start_ns, 1000);
  const core::range_record& range = recorded.ranges.at(0);
  EXPECT_EQ(kernel.thread_id, range.thread_id) << "CUPTI's thread ids must be those of NVTX";
  EXPECT_EQ(kernel.process_id, range.process_id);
  EXPECT_LE(range.start_ns, kernel.launched_ns) << "one clock";
  EXPECT_LE(kernel.launched_ns, *range.end_ns);
  EXPECT_EQ(facts().cupti_version, 424242U);
}

TEST_F(gpu_trace, keeps_the_outer_of_two_nested_calls) {
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "kernel:_Z1av:2", "graph:_Z1bv:3", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(names_of(recorded.calls),
            (std::vector<std::string>{"cudaLaunchKernel", "cudaLaunchKernel", "cudaGraphLaunch"}));
  ASSERT_EQ(recorded.kernels.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::size_t call = std::min<std::size_t>(i, 2);
    EXPECT_EQ(recorded.kernels[i].correlation, recorded.calls[call].correlation);
    EXPECT_EQ(recorded.kernels[i].launched_ns, recorded.calls[call].start_ns);
    EXPECT_EQ(recorded.kernels[i].graph_node, i < 2 ? 0 : i - 1) << "each node of a graph is seen";
  }
}

TEST_F(gpu_trace, records_copies_and_memsets) {
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "copy:4096", "memset:12", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  ASSERT_EQ(recorded.copies.size(), 2U);
  EXPECT_EQ(recorded.copies[0].kind, core::copy_kind::host_to_device);
  EXPECT_EQ(recorded.copies[0].bytes, 4096);
  EXPECT_EQ(recorded.copies[0].end_ns - recorded.copies[0].start_ns, 200);
  EXPECT_EQ(recorded.copies[1].kind, core::copy_kind::memset);
  EXPECT_EQ(recorded.copies[1].bytes, 12);
  EXPECT_EQ(recorded.copies[1].thread_id, recorded.ranges.at(0).thread_id);
}

TEST_F(gpu_trace, works_whichever_entry_comes_first) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "nvtx_first").string();
  ASSERT_TRUE(trace({"push:LLM:a", "cuda", "kernel:_Z1av:1", "cuda", "pop:LLM"}).is_good());
  const core::timeline recorded = parsers::read_embedded_timeline(m_folder / "nvtx_first");
  EXPECT_EQ(recorded.kernels.size(), 1U) << "a second call must not record twice";
  EXPECT_EQ(recorded.ranges.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(m_folder / "nvtx_first.2")) << "one file a process";
}

TEST_F(gpu_trace, a_program_without_nvtx_still_leaves_its_kernels) {
  ASSERT_TRUE(trace({"cuda", "kernel:_Z1av:3"}).is_good());
  EXPECT_EQ(timeline().kernels.size(), 3U);
  EXPECT_TRUE(timeline().ranges.empty());
}

TEST_F(gpu_trace, tells_which_gpus_the_process_sees) {
  m_environment["CUDA_VISIBLE_DEVICES"] = "3, GPU-12ab";
  ASSERT_TRUE(trace({"cuda", "kernel:_Z1av:1"}).is_good());
  const auto visible = timeline().visible_gpus;
  ASSERT_EQ(visible.size(), 1U);
  EXPECT_THAT(visible.begin()->second, ElementsAre("3", "GPU-12ab"));
  m_environment["CUDA_VISIBLE_DEVICES"] = std::string(1024, '1');
  ASSERT_TRUE(trace({"cuda", "kernel:_Z1av:1"}).is_good());
  const core::timeline cut_off = parsers::read_embedded_timeline(m_folder / "out.timeline.2");
  EXPECT_TRUE(cut_off.visible_gpus.empty()) << "a list that is cut off would name another GPU";
}

TEST_F(gpu_trace, keeps_what_was_launched_inside_the_gate) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  ASSERT_TRUE(trace({"cuda", "kernel:before:5", "copy:1", "push:LLM:decode_all", "kernel:inside:2", "copy:2",
                     "queue:late", "pop:LLM", "run", "kernel:after:5", "copy:3", "push:LLM:decode_all",
                     "kernel:again:1", "pop:LLM", "memset:4"})
                  .is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(names_of(recorded.kernels), (std::vector<std::string>{"inside", "inside", "late", "again"}))
      << "late ran after the gate had closed, but was launched inside";
  ASSERT_EQ(recorded.copies.size(), 1U);
  EXPECT_EQ(recorded.copies[0].bytes, 2);
  EXPECT_EQ(recorded.calls.size(), 5U);
  EXPECT_EQ(recorded.dropped_records, 0U);
}

TEST_F(gpu_trace, tells_who_made_the_nodes_of_a_graph_under_which_ranges) {
  ASSERT_TRUE(trace({"cuda", "push:LLM:attn", "node:101", "pop:LLM", "clone:1:101", "push:LLM:decode_all",
                     "graph:_Z1bv:1", "pop:LLM"})
                  .is_good());
  const core::timeline recorded = timeline();
  ASSERT_EQ(recorded.graph_nodes.size(), 2U);
  const core::range_record& attn = recorded.ranges.at(0);
  EXPECT_EQ(recorded.graph_nodes[0].node, 101U);
  EXPECT_EQ(recorded.graph_nodes[0].original, 0U);
  EXPECT_EQ(recorded.graph_nodes[0].thread_id, attn.thread_id);
  EXPECT_EQ(recorded.graph_nodes[0].process_id, attn.process_id);
  EXPECT_GE(recorded.graph_nodes[0].made_ns, attn.start_ns) << "one clock";
  EXPECT_LE(recorded.graph_nodes[0].made_ns, *attn.end_ns);
  EXPECT_EQ(recorded.graph_nodes[1].node, recorded.kernels.at(0).graph_node);
  EXPECT_EQ(recorded.graph_nodes[1].original, 101U);
}

TEST_F(gpu_trace, keeps_the_ranges_around_a_node_also_outside_the_gate) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  ASSERT_TRUE(trace({"cuda", "push:LLM:warm_up", "push:LLM:unused", "pop:LLM", "push:LLM:attn", "node:101",
                     "node:102", "pop:LLM", "pop:LLM", "push:LLM:decode_all", "pop:LLM"})
                  .is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(names_of(recorded.ranges), (std::vector<std::string>{"warm_up", "attn", "decode_all"}));
  ASSERT_EQ(recorded.graph_nodes.size(), 2U);
  for (const core::graph_node& node : recorded.graph_nodes) {
    EXPECT_GE(node.made_ns, recorded.ranges[1].start_ns);
    EXPECT_LE(node.made_ns, *recorded.ranges[1].end_ns);
  }
}

TEST_F(gpu_trace, does_without_nodes_where_cupti_does_not_tell_them) {
  m_environment["FAKE_CUPTI_FAIL"] = "cuptiEnableCallback:2";
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "node:101", "kernel:_Z1av:1", "pop:LLM"}).is_good());
  EXPECT_EQ(timeline().kernels.size(), 1U);
  EXPECT_TRUE(timeline().graph_nodes.empty());
}

TEST_F(gpu_trace, tells_the_machine_code_of_every_kernel_that_was_loaded) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  const std::string first =
      load_of("first", cubin_image(cubin_sections{{".text._Z1av", "a"}, {".text._Z1bv", "x"}}).bytes());
  const std::string second = load_of("second", cubin_image(cubin_sections{{".text._Z1bv", "y"}}).bytes());
  const auto hashes_after = [&](const std::vector<std::string>& loads) {
    std::vector<std::string> script = {"cuda"};
    script.insert(script.end(), loads.begin(), loads.end());
    script.insert(script.end(), {"push:LLM:decode_all", "kernel:_Z1av:1", "pop:LLM"});
    std::filesystem::remove(m_folder / "out.timeline");
    EXPECT_TRUE(trace(script).is_good());
    EXPECT_EQ(facts().dropped_code_hashes, 0U);
    const core::timeline recorded = timeline();
    return std::map<std::string, std::uint64_t>(recorded.code_hashes.begin(), recorded.code_hashes.end());
  };
  const auto alone = hashes_after({first});
  EXPECT_EQ(alone.size(), 2U) << "loaded outside of the gate, and _Z1bv never ran";
  EXPECT_EQ(alone.at("_Z1av"), 0xaf63dc4c8601ec8c) << "FNV-1a of one 'a'";
  EXPECT_EQ(hashes_after({first, first}), alone) << "as where a second context loads it";
  const auto both = hashes_after({first, second});
  EXPECT_EQ(both.at("_Z1av"), alone.at("_Z1av"));
  EXPECT_NE(both.at("_Z1bv"), alone.at("_Z1bv"));
  EXPECT_NE(both.at("_Z1bv"), hashes_after({second}).at("_Z1bv"));
  EXPECT_EQ(hashes_after({second, first}), both) << "who came first makes no difference";
}

TEST_F(gpu_trace, code_of_kernels_that_never_run_leaves_room_for_those_that_do) {
  m_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = "500000";
  cubin_sections many;
  for (int i = 0; i < 5000; ++i) many.emplace_back(".text.unused" + std::to_string(i), "code");
  ASSERT_TRUE(trace({"cuda", load_of("many", cubin_image(many).bytes()), "kernel:_Z1av:100"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(recorded.kernels.size(), 100U);
  EXPECT_EQ(recorded.dropped_records, 0U) << "the figures are whole";
  EXPECT_GT(recorded.code_hashes.size(), 1000U);
  EXPECT_GT(facts().dropped_code_hashes, 1000U);
  EXPECT_EQ(recorded.code_hashes.size() + facts().dropped_code_hashes, 5000U);
}

TEST_F(gpu_trace, modules_that_cannot_be_read_are_counted_and_ptx_is_left_out) {
  const std::string whole = cubin_image(cubin_sections{{".text._Z1av", "a"}}).bytes();
  ASSERT_TRUE(trace({"cuda", load_of("cut", whole.substr(0, whole.size() - 1)), load_of("empty", ""),
                     load_of("ptx", ".version 8.0"), "kernel:_Z1av:1"})
                  .is_good());
  EXPECT_EQ(timeline().kernels.size(), 1U);
  EXPECT_TRUE(timeline().code_hashes.empty());
  EXPECT_EQ(facts().dropped_code_hashes, 1U);
}

TEST_F(gpu_trace, what_lies_outside_the_gate_takes_no_room) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  m_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = "500000";
  ASSERT_TRUE(trace({"cuda", "kernel:before:20000", "push:LLM:decode_all", "kernel:inside:100", "pop:LLM"})
                  .is_good());
  EXPECT_EQ(timeline().kernels.size(), 100U);
  EXPECT_EQ(timeline().dropped_records, 0U);
}

TEST_F(gpu_trace, a_crash_after_the_gate_has_closed_loses_nothing_of_it) {
  m_environment["PROFGATE_COLLECTOR_GATE"] = "decode_all@LLM";
  EXPECT_EQ(trace({"cuda", "push:LLM:decode_all", "kernel:_Z1av:1000", "pop:LLM", "abort"}).signal, SIGABRT);
  EXPECT_EQ(timeline().kernels.size(), 1000U);
  EXPECT_EQ(timeline().dropped_records, 0U);
  EXPECT_TRUE(facts().is_activity_whole);
}

TEST_F(gpu_trace, a_crash_before_the_flush_is_told) {
  EXPECT_EQ(trace({"cuda", "push:LLM:a", "kernel:_Z1av:10", "pop:LLM", "abort"}).signal, SIGABRT);
  EXPECT_FALSE(facts().is_activity_whole);
  EXPECT_EQ(timeline().dropped_records, 1U) << "at least one; the figures must not pass as whole";
  EXPECT_EQ(timeline().ranges.size(), 1U);
  m_environment["PROFGATE_COLLECTOR_GATE"] = "a@LLM";
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "open_gate").string();
  EXPECT_EQ(trace({"cuda", "push:LLM:a", "kernel:_Z1av:10", "abort"}).signal, SIGABRT);
  EXPECT_FALSE(facts("open_gate").is_activity_whole);
}

TEST_F(gpu_trace, counts_what_does_not_fit_into_the_file) {
  m_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = "500000";
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "kernel:_Z1av:20000", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_GT(recorded.kernels.size(), 500U);
  // A launch leaves a kernel, a call, and the driver's call inside of it, which the reader folds into one.
  EXPECT_GE(recorded.kernels.size() + recorded.calls.size() * 2 + facts().dropped_activities, 60000U);
  EXPECT_LE(recorded.kernels.size() + recorded.calls.size() + facts().dropped_activities, 60000U);
  EXPECT_LE(std::filesystem::file_size(m_folder / "out.timeline"), 500000U);
  EXPECT_GT(recorded.dropped_records, 0U);
}

TEST_F(gpu_trace, never_waits_for_its_writer_and_counts_what_cupti_dropped) {
  m_environment["FAKE_CUPTI_HOLD"] = "1";  // the writer stands still until a buffer has been refused
  ASSERT_TRUE(trace({"cuda", "kernel:_Z1av:500000"}).is_good());
  const parsers::embedded_facts told = facts();
  EXPECT_GT(told.dropped_activities, 0U);
  const core::timeline recorded = timeline();
  EXPECT_GT(recorded.kernels.size(), 300000U) << "sixteen buffers of 8 MB hold them";
  EXPECT_LE(recorded.kernels.size() + told.dropped_activities, 1500000U);
}

TEST_F(gpu_trace, a_kernel_without_times_is_counted_not_recorded) {
  m_environment["FAKE_CUPTI_NO_TIMES"] = "1";
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "kernel:_Z1av:3", "pop:LLM"}).is_good());
  EXPECT_TRUE(timeline().kernels.empty());
  EXPECT_EQ(facts().dropped_activities, 3U);
}

TEST_F(gpu_trace, a_record_that_cupti_cannot_read_is_counted) {
  m_environment["FAKE_CUPTI_FAIL"] = "cuptiActivityGetNextRecord:21";
  ASSERT_TRUE(trace({"cuda", "kernel:_Z1av:3"}).is_good());
  EXPECT_EQ(facts().dropped_activities, 1U);
}

TEST_F(gpu_trace, drops_calls_that_the_analysis_does_not_need) {
  m_environment["FAKE_CUPTI_FAIL"] = "cuptiActivityEnableRuntimeApi:8";  // so that all are recorded
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "copy:1", "pop:LLM"}).is_good());
  EXPECT_EQ(names_of(timeline().calls), (std::vector<std::string>{"cudaMemcpyAsync"}));
}

TEST_F(gpu_trace, many_buffers_arrive_whole_and_in_order) {
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "kernel:_Z1av:150000", "pop:LLM"}).is_good());
  const core::timeline recorded = timeline();
  EXPECT_EQ(recorded.dropped_records, 0U);
  ASSERT_EQ(recorded.kernels.size(), 150000U);
  for (std::size_t i = 1; i < recorded.kernels.size(); ++i) {
    ASSERT_EQ(recorded.kernels[i].correlation, recorded.kernels[i - 1].correlation + 1);
  }
}

TEST_F(gpu_trace, a_child_that_is_forked_before_cuda_has_its_own_kernels_or_says_why_not) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "out.%p.timeline").string();
  const auto told_by_both = [&](const std::vector<std::string>& after_the_fork) {
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path()))
      std::filesystem::remove(entry.path());
    std::vector<std::string> script = {"push:LLM:early", "pop:LLM", "fork"};
    script.insert(script.end(), after_the_fork.begin(), after_the_fork.end());
    EXPECT_TRUE(trace(script).is_good());
    std::vector<std::pair<std::size_t, std::string>> told;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
      parsers::embedded_facts facts;
      const core::timeline recorded = parsers::read_embedded_timeline(entry.path(), facts);
      EXPECT_EQ(recorded.copies.size() * 2, recorded.kernels.size());
      EXPECT_EQ(recorded.dropped_records, 0U);
      EXPECT_EQ(facts.cupti_version, recorded.kernels_absent_reason ? 0U : 424242U);
      told.emplace_back(recorded.kernels.size(), recorded.kernels_absent_reason.value_or("none"));
    }
    return told;
  };
  EXPECT_THAT(told_by_both({"cuda", "copy:4096", "push:LLM:step", "kernel:_Z1av:2", "pop:LLM"}),
              ElementsAre(Pair(2U, "none"), Pair(2U, "none")));
  EXPECT_THAT(told_by_both({"cuda"}), ElementsAre(Pair(0U, "none"), Pair(0U, "none")));
  m_environment["PROFGATE_CUPTI_LIBRARY"] = "none";
  EXPECT_THAT(told_by_both({"cuda", "push:LLM:step", "pop:LLM"}),
              ElementsAre(Pair(0U, HasSubstr("is hidden")), Pair(0U, HasSubstr("is hidden"))));
}

TEST_F(gpu_trace, a_forked_child_leaves_the_gpu_to_its_parent) {
  m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_folder / "out.%p.timeline").string();
  ASSERT_TRUE(
      trace({"cuda", "push:LLM:a", "kernel:_Z1av:2", "fork", "push:LLM:b", "pop:LLM", "pop:LLM"}).is_good());
  std::vector<std::size_t> kernels;
  std::vector<std::string> reasons;
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
    const core::timeline recorded = parsers::read_embedded_timeline(entry.path());
    kernels.push_back(recorded.kernels.size());
    reasons.push_back(recorded.kernels_absent_reason.value_or("none"));
  }
  EXPECT_THAT(kernels, ::testing::UnorderedElementsAre(2U, 0U));
  EXPECT_THAT(reasons, ::testing::UnorderedElementsAre("none", HasSubstr("never initialised CUDA")));
}

TEST_F(gpu_trace, says_why_there_are_no_kernels) {
  ASSERT_TRUE(trace({"push:LLM:a", "pop:LLM"}).is_good());
  EXPECT_THAT(absent_reason(), HasSubstr("never initialised CUDA"));
  const auto reason_with = [&](const char* variable, const std::string& value) {
    std::filesystem::remove(m_folder / "out.timeline");
    m_environment[variable] = value;
    EXPECT_TRUE(trace({"cuda", "push:LLM:a", "pop:LLM"}).is_good());
    EXPECT_EQ(timeline().ranges.size(), 1U) << "ranges are recorded all the same";
    return absent_reason();
  };
  EXPECT_THAT(reason_with("FAKE_CUPTI_FAIL", "cuptiSubscribe:39"),
              AllOf(HasSubstr("cuptiSubscribe: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)"),
                    HasSubstr("another tool uses CUPTI")));
  for (const char* step : {"cuptiSetThreadIdType", "cuptiActivityRegisterTimestampCallback",
                           "cuptiActivityRegisterCallbacks", "cuptiActivityEnable"}) {
    EXPECT_THAT(reason_with("FAKE_CUPTI_FAIL", std::string(step) + ":8"), HasSubstr("CUPTI_ERROR_FAKE (8)"))
        << step;
  }
  EXPECT_EQ(reason_with("FAKE_CUPTI_FAIL", "cuptiActivitySetAttribute:8"), "") << "it can do without";
  EXPECT_THAT(reason_with("PROFGATE_CUPTI_LIBRARY", "none"), HasSubstr("hidden by PROFGATE_CUPTI_LIBRARY"));
  EXPECT_THAT(reason_with("PROFGATE_CUPTI_LIBRARY", "/no/such/libcupti.so"),
              HasSubstr("/no/such/libcupti.so cannot be loaded"));
  EXPECT_THAT(reason_with("PROFGATE_CUPTI_LIBRARY", COLLECTOR_LIBRARY),
              HasSubstr("it is older than CUDA 12"));
}

TEST_F(gpu_trace, says_that_cuda_was_not_told_to_load_it) {
  m_environment.erase("CUDA_INJECTION64_PATH");
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "pop:LLM"}).is_good());
  EXPECT_THAT(absent_reason(), HasSubstr("CUDA_INJECTION64_PATH was not set"));
}

TEST_F(gpu_trace, the_real_cupti_without_a_driver_is_an_error_and_no_crash) {
  m_environment.erase("PROFGATE_CUPTI_LIBRARY");
  ASSERT_TRUE(trace({"cuda", "push:LLM:a", "pop:LLM"}).is_good());
  const std::string reason = absent_reason();
  if (reason.find("no libcupti.so") != std::string::npos) GTEST_SKIP() << reason;
  if (reason.empty()) GTEST_SKIP() << "there is a driver here";
  EXPECT_THAT(reason, AllOf(HasSubstr("CUPTI_ERROR_"), HasSubstr("libcupti.so")));
}

}  // namespace
}  // namespace profgate::test
