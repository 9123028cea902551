// The PyTorch adapter (workloads/pytorch) in CPU-only PyTorch: which ranges it opens in programs as people
// write them (tests/integration/pytorch), and what comes of them through `profgate run --adapter pytorch`.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/stage_operations.h"
#include "analysis/stage_rules.h"
#include "pair_fixture.h"
#include "parsers/adapter_report.h"
#include "parsers/timeline.h"

namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Debian's python3-torch is for this one. PROFGATE_TEST_PYTHON names another, with another version of torch.
const std::string python = [] {
  const char* const other = std::getenv("PROFGATE_TEST_PYTHON");
  return std::string(other != nullptr ? other : "/usr/bin/python3");
}();

/// Ranges of one thread as nested words: "prefill(embed head) forward".
std::string nested(const std::vector<core::range_record>& ranges) {
  std::string text;
  std::vector<std::int64_t> open_until_ns;
  for (const core::range_record& range : ranges) {
    bool is_first_inside = !text.empty() && text.back() == '(';
    for (; !open_until_ns.empty() && open_until_ns.back() <= range.start_ns; open_until_ns.pop_back()) {
      if (is_first_inside) text.pop_back();  // there was nothing in it
      if (!is_first_inside) text += ')';
      is_first_inside = false;
    }
    if (!text.empty() && text.back() != '(') text += ' ';
    text += std::string(range.name) + (range.end_ns ? "" : " never closed") + "(";
    open_until_ns.push_back(range.end_ns.value_or(range.start_ns));
  }
  for (std::size_t i = 0; i < open_until_ns.size(); ++i) {
    if (text.back() == '(') {
      text.pop_back();
    } else {
      text += ')';
    }
  }
  return text;
}

class pytorch_adapter : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    const std::string looks_for_torch =
        "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)";
    if (run({python, "-c", looks_for_torch}).exit_code != 0)
      GTEST_SKIP() << python << " has no torch: apt-get install python3-torch";
    m_environment["PROFGATE_OVERRIDES"] = "timeline=embedded";
  }

  static std::string program(const std::string& name) { return PROFGATE_PYTORCH_PROGRAMS "/" + name; }

  /// With the adapter and the collector alone, without profgate around them.
  command_result run_adapted(const std::string& mode, const std::vector<std::string>& argv,
                             const std::string& python_path = "") {
    m_environment["PYTHONPATH"] = PROFGATE_PYTORCH_ADAPTER + (python_path.empty() ? "" : ":" + python_path);
    m_environment["PROFGATE_PYTORCH_MODE"] = mode;
    m_environment["PROFGATE_PYTORCH_LIBRARY"] = PROFGATE_PYTORCH_RANGES;
    m_environment["PROFGATE_PYTORCH_REPORT"] = (m_project / parsers::adapter_report_name).string();
    m_environment["NVTX_INJECTION64_PATH"] = PROFGATE_COLLECTOR;
    m_environment["PROFGATE_COLLECTOR_OUTPUT"] = (m_project / "recorded.timeline").string();
    return run(argv);
  }

  /// What was recorded, a text for each thread, in the order in which they began.
  std::vector<std::string> recorded() const {
    const core::timeline timeline = parsers::read_embedded_timeline(m_project / "recorded.timeline");
    std::vector<core::range_record> ranges = timeline.ranges;
    std::sort(ranges.begin(), ranges.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    std::vector<std::uint32_t> threads;
    std::map<std::uint32_t, std::vector<core::range_record>> by_thread;
    for (const core::range_record& range : ranges) {
      EXPECT_EQ(range.domain, "LLM");
      if (!by_thread.contains(range.thread_id)) threads.push_back(range.thread_id);
      by_thread[range.thread_id].push_back(range);
    }
    std::vector<std::string> texts;
    for (const std::uint32_t thread : threads) texts.push_back(nested(by_thread.at(thread)));
    return texts;
  }

  std::vector<parsers::adapter_report> reports() const {
    return parsers::read_adapter_reports(parsers::adapter_report_files(m_project));
  }

  parsers::adapter_report report() const {
    const std::vector<parsers::adapter_report> reports = this->reports();
    EXPECT_THAT(reports, SizeIs(1));
    return reports.empty() ? parsers::adapter_report{} : reports.front();
  }

  /// "prefill 2x5 once"
  static std::vector<std::string> told_stages(const parsers::adapter_report& report) {
    std::vector<std::string> texts;
    for (const auto& each : report.stages) {
      texts.push_back(each.stage +
                      (each.batch ? " " + std::to_string(*each.batch) + "x" + std::to_string(*each.tokens)
                                  : std::string()) +
                      ": " + std::to_string(each.calls));
    }
    return texts;
  }
};

std::string layer(const std::string& path) {
  return path + "(" + path + ".attn(" + path + ".attn.qkv " + path + ".attn.out) " + path + ".mlp(" + path +
         ".mlp.0 " + path + ".mlp.1))";
}

TEST_F(pytorch_adapter, names_modules_by_path_and_stages_by_inputs) {
  const command_result result = run_adapted("traced", {python, program("calls.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "");
  const std::string inside = "(embed " + layer("layers.0") + " head)";
  const std::string embedded = "(" + layer("layers.0") + " head)";
  const std::string main_thread =
      "prefill" + inside + " decode_step" + inside + " prefill" + inside + " prefill" +
      inside +  // by position
      " prefill" + inside + " prefill" + inside + " decode_step" + inside + " prefill" +
      embedded +                                       // by keyword
      " prefill" + inside + " decode_step" + inside +  // by transformers' cache
      " forward(patches layers(" + layer("layers.0") + " " + layer("layers.1") + "))" + " forward" +
      inside +  // of token ids, too
      " profgate: the call raised(failing(failing.inner(failing.inner.qkv failing.inner.out)) profgate: the "
      "call raised)" +
      " forward(Softmax) forward(late Softmax) forward(late Softmax)" +  // one in no tree, one added later
      " Softmax forward(qkv out)";                                       // torch.jit.trace
  const std::vector<std::string> threads = recorded();
  ASSERT_THAT(threads, SizeIs(3));
  EXPECT_EQ(threads[0].substr(0, main_thread.size()), main_thread);
  EXPECT_EQ(threads[1], "prefill" + inside);
  EXPECT_EQ(threads[2], "prefill" + inside);
  const parsers::adapter_report told = report();
  EXPECT_THAT(told.errors, IsEmpty());
  EXPECT_THAT(told.roots, Contains("models.Decoder"));
  EXPECT_THAT(told_stages(told),
              AllOf(Contains("prefill 1x4: 1"), Contains("decode_step 1x1: 2"), Contains("prefill 1x1: 2"),
                    Contains("prefill 2x1: 2"), Contains("decode_step 2x1: 1"), Contains("prefill 3x7: 1"),
                    Contains("prefill 1x3: 3")));
}

TEST_F(pytorch_adapter, takes_a_sequence_that_is_fed_again_with_one_token_more_for_a_decode_step) {
  const command_result result = run_adapted("bare", {python, program("without_cache.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(report().errors, IsEmpty());
  const std::string three_steps = "prefill decode_step decode_step decode_step ";
  EXPECT_THAT(recorded(), ElementsAre(three_steps + three_steps + "prefill decode_step prefill " +
                                      "prefill decode_step decode_step " +
                                      "prefill decode_step decode_step decode_step decode_step"));
  EXPECT_THAT(told_stages(report()),
              AllOf(Contains("prefill 2x5: 2"), Contains("decode_step 2x1: 7"), Contains("prefill 3x14: 1"),
                    Contains("prefill 1x1: 1"), Contains("decode_step 1x1: 6")));
  const auto seen = parsers::steps_without_cache_of({report()});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->calls, 13);
  EXPECT_EQ(seen->decode_calls, 13);
  EXPECT_EQ(seen->shortest_tokens, 2);
  EXPECT_EQ(seen->longest_tokens, 13);
}

TEST_F(pytorch_adapter, takes_the_replay_of_a_cuda_graph_for_the_stage_that_was_captured) {
  const std::string inside = "(embed " + layer("layers.0") + " head)";
  ASSERT_EQ(run_adapted("traced", {python, program("cuda_graph.py")}).output, "");
  const std::string encoder = "(patches layers(" + layer("layers.0") + " " + layer("layers.1") + "))";
  EXPECT_THAT(recorded(),
              ElementsAre("prefill" + inside + " capture" + inside + " decode_step decode_step prefill" +
                          inside + " capture" + encoder + " capture" + inside + " capture" + inside +
                          " decode_step decode_step"));
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(told_stages(report()),
              ElementsAre("prefill 1x4: 2", "decode_step 1x1: 2", "forward: 2", "decode_step 1x2: 2"))
      << "two steps of one graph have one range";
  EXPECT_THAT(parsers::unknown_tokens_words({report()}), HasSubstr("several decode steps at once"));
}

/// Which layer an operator's time is in outlives the name that all layers share: the gate names the odd one.
TEST_F(pytorch_adapter, tells_the_layers_of_one_operator_apart) {
  const command_result result = run_adapted("traced", {python, program("slow_layer.py"), "2"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  core::timeline timeline = parsers::read_embedded_timeline(m_project / "recorded.timeline");
  analysis::name_stages(timeline, {{"prefill", "prefill", "LLM", "here"}}, "LLM", analysis::layers::together);
  const analysis::labelled_traces traces = analysis::label_operations(timeline, "prefill", {"LLM"});
  EXPECT_THAT(traces.occurrences, SizeIs(6));
  std::map<std::string, std::vector<std::int64_t>> launches;  // of each layer, by operator
  const analysis::stage_operations sums = analysis::sum_up(traces.occurrences);
  for (const analysis::operation_sum& sum : sums.operations) {
    for (const analysis::layer_sum& layer : sum.layers) {
      EXPECT_EQ(layer.layer, static_cast<std::int32_t>(launches[sum.name].size()));
      EXPECT_GT(layer.cost_ns, 0);
      launches[sum.name].push_back(layer.launches);
    }
  }
  const std::int64_t n = sums.times->occurrences;  // that count: how many depends on how the times spread
  EXPECT_THAT(launches["layers.*.norm"], ElementsAre(n, n, n, n));
  EXPECT_THAT(launches["layers.*.mlp.up"], ElementsAre(n, n, 4 * n, n));
  EXPECT_FALSE(launches.contains("head")) << "is of no layer";
}

TEST_F(pytorch_adapter, leaves_compiled_regions_alone) {
  m_environment["PROFGATE_ADAPTER"] = PROFGATE_PYTORCH_ADAPTER;
  const command_result result = run({python, program("dynamo.py")});
  EXPECT_EQ(result.output, "as without the adapter\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(pytorch_adapter, leaves_only_the_roots_class_wrapped_in_bare_runs) {
  const command_result result = run_adapted("bare", {python, program("unwrapped.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(recorded(), ElementsAre("forward prefill decode_step forward"));
  EXPECT_THAT(told_stages(report()), ElementsAre("forward: 2", "prefill 2x4: 1", "decode_step 2x1: 1"));
}

/// A program may have any number of models, and more of them later.
TEST_F(pytorch_adapter, sees_models_that_come_after_the_first_in_bare_runs) {
  const command_result result = run_adapted("bare", {python, program("further_models.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "");
  const std::string raised = " profgate: the call raised(profgate: the call raised)";
  EXPECT_THAT(recorded(), ElementsAre("prefill forward forward forward forward decode_step prefill forward" +
                                      raised + raised + raised));
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(report().raised_calls, ElementsAre(::testing::Pair("MemoryError", 3)));
  EXPECT_THAT(told_stages(report()),
              ElementsAre("prefill 1x4: 1", "forward: 5", "decode_step 1x1: 1", "prefill 1x6: 1"));
}

/// Programs put functions of their own where the adapter does, change their path and pickle their classes.
TEST_F(pytorch_adapter, leaves_what_a_program_puts_around_it_in_place) {
  const command_result result = run_adapted("bare", {python, program("patches.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(told_stages(report()),
              ElementsAre("prefill 1x4: 1", "decode_step 1x1: 4", "prefill 1x3: 1", "forward: 1"));
}

/// As transformers' generate() does: the first text's steps are those of the function that it took before.
TEST_F(pytorch_adapter, sees_the_calls_of_a_function_that_was_taken_before_the_first) {
  const command_result result = run_adapted("bare", {python, program("taken_calls.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(told_stages(report()),
              ElementsAre("prefill 1x4: 1", "decode_step 1x1: 3", "prefill 1x6: 1", "decode_step 2x1: 2"));
}

/// As transformers' generate_batch() calls it, which packs the sequences of a batch into one row.
TEST_F(pytorch_adapter, takes_a_row_of_one_token_of_each_sequence_for_a_decode_step) {
  const command_result result = run_adapted("bare", {python, program("packed.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(told_stages(report()), ElementsAre("forward: 2", "decode_step 3x1: 2"));
}

TEST_F(pytorch_adapter, knows_the_prompts_of_a_decoder_beside_its_encoder) {
  const command_result result = run_adapted("bare", {python, program("beside_encoder.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(told_stages(report()), ElementsAre("prefill 1x1: 2", "decode_step 1x1: 5"));
}

TEST_F(pytorch_adapter, knows_a_model_inside_of_torchs_own_wrappers) {
  const command_result result = run_adapted("traced", {python, program("around_models.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(report().errors, IsEmpty());
  EXPECT_THAT(told_stages(report()), ElementsAre("prefill 1x6: 1", "prefill 1x2: 1", "decode_step 1x1: 1",
                                                 "forward: 3", "prefill 1x3: 1"))
      << "the last one has a `module` of its own, and the copies of DataParallel are none of the program's";
  ASSERT_THAT(report().prompts, SizeIs(2));
  EXPECT_EQ(report().prompts.front().chunks, 2) << "whatever is around it";
}

TEST_F(pytorch_adapter, that_cannot_be_loaded_leaves_the_program_alone) {
  const std::string script =
      "import sys; sys.modules['profgate_pytorch'] = None; import torch; print('it runs')";
  const command_result result = run_adapted("bare", {python, "-c", script});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("it runs\n"),
                                   HasSubstr("profgate: the program runs without the PyTorch adapter: ")));
}

TEST_F(pytorch_adapter, knows_guesses_from_chunks_and_from_a_chats_next_turn) {
  m_environment["PROFGATE_ADAPTER"] = PROFGATE_PYTORCH_ADAPTER;
  const command_result result = run({python, program("guesses.py")});
  EXPECT_EQ(result.output, "as it is\n");
  EXPECT_EQ(result.exit_code, 0);
}

TEST_F(pytorch_adapter, tells_no_tokens_of_a_model_that_checks_guesses) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("prompt_lookup.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const nlohmann::json& throughput = profile["throughput"];
  for (const char* figure : {"prompt_tokens_count", "decode_tokens_count", "tokens_median_per_s"})
    EXPECT_EQ(throughput[figure], nullptr) << figure;
  EXPECT_THAT(throughput["ttft"].dump(), HasSubstr("Decoder checks guesses of its next tokens"));
  EXPECT_EQ(throughput["tpot"]["p50_ns"], nullptr);
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_count"], 6) << "the times of stages stay";
  EXPECT_THAT(status_of("stage1").notes, ElementsAre(HasSubstr("tokens are not told: Decoder checks")));
}

TEST_F(pytorch_adapter, that_fails_stops_and_says_so_while_the_program_goes_on) {
  const command_result result = run_adapted("traced", {python, program("fault.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "the program is done\n");
  EXPECT_THAT(recorded(), ElementsAre("prefill"));
  EXPECT_THAT(report().errors, ElementsAre(HasSubstr("nobody looks into me")));
}

TEST_F(pytorch_adapter, leaves_the_users_own_sitecustomize_and_programs_without_torch_alone) {
  fs::create_directory(m_project / "own");
  std::ofstream(m_project / "own/sitecustomize.py") << "print('the own one ran')\nvalue = 7\n";
  const std::vector<std::string> argv = {python, "-c", "import sitecustomize; print(sitecustomize.value)"};
  EXPECT_EQ(run_adapted("traced", argv, (m_project / "own").string()).output, "the own one ran\n7\n");
  // Where the user has none it is the system's, or none.
  const std::string file = "import sys; print(getattr(sys.modules.get('sitecustomize'), '__file__', 'none'))";
  const std::string adapted = run_adapted("traced", {python, "-c", file}).output;
  m_environment.erase("PYTHONPATH");
  const std::string plain = run({python, "-c", file}).output;
  EXPECT_EQ(adapted, plain == "none\n" ? adapted : plain);
  EXPECT_THAT(parsers::adapter_report_files(m_project), IsEmpty());
}

TEST_F(pytorch_adapter, leaves_a_report_of_a_process_that_is_killed) {
  const std::string script = "import sys, os; sys.path.insert(0, '" PROFGATE_PYTORCH_PROGRAMS
                             "'); import importlib.util; assert "
                             "importlib.util.find_spec('torch').loader.exec_module; "  // as
                                                                                       // transformers
                                                                                       // does
                             "from models import *; Decoder()(ids(2, 3)); os.kill(os.getpid(), 9)";
  const command_result result = run_adapted("bare", {python, "-c", script});
  EXPECT_EQ(result.exit_code, -1) << result.output;
  EXPECT_THAT(told_stages(report()), ElementsAre("prefill 2x3: 1"));
}

TEST_F(pytorch_adapter, gives_an_unedited_program_its_stages_operators_and_tokens) {
  // In a virtual environment, as people have them.
  const fs::path environment = m_project / "venv";
  const command_result made =
      run({python, "-m", "venv", "--system-site-packages", "--without-pip", environment.string()});
  if (made.exit_code != 0) GTEST_SKIP() << "no virtual environment: apt-get install python3-venv";
  const command_result result = run_program(
      {"--adapter", "pytorch"}, {(environment / "bin/python3").string(), program("decoder_loop.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  ASSERT_THAT(profile["stages"], SizeIs(2)) << text_of("report.md");
  EXPECT_EQ(profile["stages"][0]["name"], "prefill");
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_count"], 1);
  EXPECT_EQ(profile["stages"][1]["name"], "decode_all");
  EXPECT_EQ(profile["stages"][1]["bare"]["samples_count"], 1);
  EXPECT_EQ(profile["stages"][1]["traced"]["occurrences_count"], 1);
  EXPECT_EQ(profile["stages"][1]["traced"]["decode_steps"]["calls_count"], 3);
  const nlohmann::json& throughput = profile["throughput"];
  EXPECT_EQ(throughput["batch_count"], 2);
  EXPECT_EQ(throughput["prompt_tokens_count"], 5);
  EXPECT_EQ(throughput["decode_tokens_count"], 3);
  EXPECT_GT(throughput["tokens_mean_per_s"], 0);
  EXPECT_EQ(throughput["tokens_samples_count"], 1) << "a text";
  EXPECT_EQ(throughput["tpot"]["samples_count"], 2) << "from each of three steps to the next";
  EXPECT_THAT(text_of("operators.md"), HasSubstr("layers.\\*.attn.qkv"));
  EXPECT_THAT(status_of("stage1").notes, IsEmpty());
  EXPECT_THAT(text_of("report.md"), Not(HasSubstr("| forward"))) << "it is no stage of a decoder";
  EXPECT_THAT(text_of("report.md"), HasSubstr(" for 3 decode steps (n = 1; ranges of the PyTorch adapter)"));
  // Its model's shape is known, so is the work of two sequences of five tokens.
  EXPECT_EQ(profile["model"]["dtype"], "float32");
  EXPECT_EQ(profile["model"]["architecture"], "llama");
  EXPECT_EQ(profile["model"]["weights"], nullptr) << "an adapter cannot know where they come from";
  EXPECT_THAT(text_of("stakeholder_summary.md"), Not(HasSubstr("checkpoint")));
  EXPECT_GT(profile["stages"][0]["utilisation"]["work_flops"], 1'000'000);
  EXPECT_GT(profile["stages"][1]["utilisation"]["achieved_bytes_per_s"], 0);
  EXPECT_THAT(profile["model"]["work_assumptions"], Not(IsEmpty()));
}

TEST_F(pytorch_adapter, takes_the_length_of_most_texts_where_warm_ups_have_another) {
  const command_result result = run_program({"--adapter", "pytorch", "timeline=none"},
                                            {python, program("texts.py"), "2", "8", "8", "8"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile["throughput"]["decode_tokens_count"], 8) << "the warm-up decodes nothing";
  EXPECT_THAT(text_of("report.md"), HasSubstr(" for 8 decode steps (median of 3; "));
  EXPECT_EQ(nlohmann::json::parse(text_of("stage1/work.yaml"))["workload"]["decode_tokens"], 8)
      << "its FLOPs are those of as many";
  EXPECT_EQ(profile["stages"][1]["bare"]["samples_count"], 3);
  EXPECT_EQ(profile["stages"][1]["other_lengths"], "1 of its 4 texts has 2 decode steps, the others 8");
  EXPECT_EQ(profile["throughput"]["tpot"]["by_token_ns"].size(), 7U);
  EXPECT_THAT(text_of("stakeholder_summary.md"),
              HasSubstr("1 of its 4 texts has 2 decode steps, the others 8"));
}

TEST_F(pytorch_adapter, leaves_out_the_text_in_which_a_program_failed) {
  const command_result result = run_program({"--adapter", "pytorch", "timeline=none"},
                                            {python, program("texts.py"), "8", "8", "8", "8", "fails"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile["throughput"]["decode_tokens_count"], 8);
  EXPECT_EQ(profile["stages"][1]["bare"]["samples_count"], 4);
  EXPECT_EQ(profile["stages"][1]["other_lengths"], "1 of its 5 texts has 2 decode steps, the others 8");
  EXPECT_EQ(profile["throughput"]["tpot"]["samples_count"], 4 * 7) << "from each step to the next";
}

TEST_F(pytorch_adapter, takes_the_chunks_of_a_prompt_for_one_text) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("chunks.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const nlohmann::json& throughput = profile["throughput"];
  EXPECT_EQ(throughput["prompt_tokens_count"], 12);
  EXPECT_EQ(throughput["decode_tokens_count"], 3);
  EXPECT_EQ(throughput["total_median_ns"], nullptr) << "a prefill is a chunk";
  EXPECT_EQ(throughput["ttft"]["samples_count"], 4);
  EXPECT_GT(throughput["ttft"]["p50_ns"], 30'000'000) << "from the first chunk's start";
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_count"], 12);
  EXPECT_EQ(profile["stages"][0]["utilisation"]["work_flops"], nullptr);
  EXPECT_THAT(text_of("report.md"), AllOf(HasSubstr(" a chunk, 3 chunks a text (median of 12; "),
                                          HasSubstr("12, in 3 chunks, read off the model's inputs")));
}

TEST_F(pytorch_adapter, says_what_ttft_leaves_out) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("two_models.py"), "encoder"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const std::string words = profile["throughput"]["ttft"].value("leaves_out", "");
  EXPECT_THAT(words, ::testing::MatchesRegex("the forward of Tower before each prefill, [0-9.]+ (ms|s)"));
  const auto forward = std::find_if(profile["stages"].begin(), profile["stages"].end(),
                                    [](const nlohmann::json& stage) { return stage["name"] == "forward"; });
  ASSERT_NE(forward, profile["stages"].end());
  EXPECT_LT(profile["throughput"]["ttft"]["p50_ns"], (*forward)["bare"]["median_ns"]) << "which sleeps";
  for (const char* file : {"report.md", "stakeholder_summary.md", "report.html", "stage1/metrics.json"})
    EXPECT_THAT(text_of(file), HasSubstr(words)) << file;
}

TEST_F(pytorch_adapter, tells_no_tokens_where_two_models_decode_in_turns) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("two_models.py"), "draft"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const nlohmann::json& throughput = profile["throughput"];
  const std::string reason =
      "two models decode in turns: Decoder and Draft; which of their tokens count is not known";
  EXPECT_EQ(throughput.value("decoding_in_turns", ""), reason);
  for (const char* figure : {"prompt_tokens_count", "decode_tokens_count", "tokens_median_per_s"}) {
    EXPECT_EQ(throughput[figure], nullptr) << figure;
    EXPECT_EQ(throughput["not_measured"].value(figure, ""), reason) << figure;
  }
  EXPECT_EQ(throughput["ttft"]["p50_ns"], nullptr);
  EXPECT_EQ(throughput["tpot"]["not_measured"].value("p50_ns", ""), reason);
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_count"], 15) << "the times of stages stay";
  EXPECT_THAT(text_of("report.md"), Not(HasSubstr("Quiet the machine")));
}

TEST_F(pytorch_adapter, knows_a_decoder_whose_prefill_and_decode_are_modules_of_their_own) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("two_models.py"), "split"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile["throughput"]["decode_tokens_count"], 3);
  EXPECT_GT(profile["throughput"]["ttft"]["p50_ns"], 0);
}

TEST_F(pytorch_adapter, says_of_a_program_without_a_cache_that_it_computes_sequences_again) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("without_cache.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile["throughput"]["prompt_tokens_count"], nullptr);
  EXPECT_THAT(profile["throughput"]["lengths_that_differ"], HasSubstr(" to 14 prompt tokens"));
  EXPECT_EQ(profile["throughput"]["ttft"]["samples_count"], 5) << "prefills that a step follows";
  EXPECT_THAT(text_of("report.md"),
              AllOf(HasSubstr("It decodes without a KV cache"),
                    HasSubstr("13 of 13 decode steps were fed 2 to 13 tokens a sequence and no cache"),
                    HasSubstr("Use the KV cache")));
}

TEST_F(pytorch_adapter, counts_the_work_of_texts_of_one_length_as_with_a_cache) {
  const command_result result = run_program({"--adapter", "pytorch", "timeline=none"},
                                            {python, program("without_cache.py"), "--one-length"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile["throughput"]["prompt_tokens_count"], 5);
  EXPECT_EQ(profile["throughput"]["decode_tokens_count"], 3);
  EXPECT_THAT(profile["model"]["work_assumptions"], Contains(HasSubstr("counted as with a KV cache")));
}

TEST_F(pytorch_adapter, calls_what_is_no_decoder_forward_and_what_has_no_model_a_process) {
  const command_result encoder =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("encoder.py")});
  ASSERT_EQ(encoder.exit_code, 0) << encoder.output;
  auto profile = nlohmann::json::parse(text_of("profile.json"));
  ASSERT_THAT(profile["stages"], SizeIs(1));
  EXPECT_EQ(profile["stages"][0]["name"], "forward");
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_count"], 2);

  const command_result layer_alone = run_program(
      {"--adapter", "pytorch"}, {python, "-c", "import torch; torch.nn.Linear(2, 2)(torch.zeros(1, 2))"});
  ASSERT_EQ(layer_alone.exit_code, 0) << layer_alone.output;
  profile = nlohmann::json::parse(text_of("profile.json"));
  ASSERT_THAT(profile["stages"], SizeIs(1));
  EXPECT_EQ(profile["stages"][0]["name"], "process");
  EXPECT_EQ(profile["stages"][0]["operators"][0]["op_name"], "Linear");
}

TEST_F(pytorch_adapter, tells_no_first_token_of_a_model_that_takes_token_ids_and_never_decodes) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("text_encoder.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, Not(HasSubstr("TTFT")));
  EXPECT_THAT(text_of("stakeholder_summary.md"),
              AllOf(HasSubstr(" a forward (median of 3; "), Not(HasSubstr("| TTFT")),
                    Not(HasSubstr("decoded ones")), HasSubstr("no decode step was seen")));
}

TEST_F(pytorch_adapter, is_the_first_thing_that_a_report_without_it_names) {
  const command_result result = run_program({}, {python, program("decoder_loop.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("report.md"),
              HasSubstr("To see its steps apart from its start, add --adapter pytorch before the --"));
  EXPECT_THAT(text_of("report.md"), Not(HasSubstr("torch.cuda.nvtx")));
}

TEST_F(pytorch_adapter, times_stages_on_the_gpu_where_one_is_in_use) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("device_clock.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(status_of("stage1").notes, IsEmpty());
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const std::vector<int> once = {250'000'000};
  const std::vector<int> both_steps = {750'000'000};  // and what lies between them
  EXPECT_EQ(profile["stages"][0]["bare"]["samples_ns"], once) << "the captured one did nothing";
  EXPECT_EQ(profile["stages"][1]["bare"]["samples_ns"], both_steps);
  EXPECT_EQ(profile["stages"][1]["step"]["source"], "events on the GPU");
  // The host calls more often than that: what tokens wait for is the GPU.
  EXPECT_EQ(profile["throughput"]["tpot"]["p50_ns"], 250'000'000) << profile["throughput"];
}

/// A stage is what its rule says, whatever it is called.
TEST_F(pytorch_adapter, times_stages_of_other_names_on_the_gpu_too) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none",
                   "workload.stages=[{name: first, range: prefill}, {name: prefill, range: decode_step}]"},
                  {python, program("device_clock.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto samples = nlohmann::json::parse(text_of("stage1/process_samples.json"));
  EXPECT_THAT(samples["stages_ns"]["first"].get<std::vector<int>>(), ElementsAre(250'000'000));
  EXPECT_THAT(samples["stages_ns"]["prefill"].get<std::vector<int>>(), ElementsAre(250'000'000, 250'000'000));
  EXPECT_EQ(samples["stage_sources"]["first"], "events on the GPU");
}

TEST_F(pytorch_adapter, times_each_model_on_the_gpu_that_it_is_on) {
  const command_result result = run_adapted("bare", {python, program("gpus.py")});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const parsers::adapter_report told = report();
  EXPECT_THAT(told.errors, IsEmpty());
  EXPECT_EQ(parsers::several_gpus_words({told}),
            "Spread lies on 2 GPUs: its stages are timed by the host, which does not wait for them");
  EXPECT_THAT(told.samples_ns.at("prefill"), ElementsAre(250'000'000, 250'000'000));
  ASSERT_THAT(told.samples_ns.at("forward"), SizeIs(4)) << "two of them the host's";
  EXPECT_EQ(told.samples_ns.at("forward")[2], 250'000'000);
  EXPECT_THAT(told.samples_ns.at("decode_step"), SizeIs(206)) << "of all threads";
}

TEST_F(pytorch_adapter, sees_processes_that_end_without_exit_handlers_and_those_that_are_killed) {
  const command_result result = run_adapted("bare", {python, program("processes.py"), "killed"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::vector<parsers::adapter_report> all = reports();
  ASSERT_THAT(all, SizeIs(3)) << "the first only starts the others";
  EXPECT_EQ(parsers::device_samples_ns(all).at("prefill").size(), 2U);
  std::vector<std::size_t> steps;
  for (const parsers::adapter_report& each : all)
    if (each.samples_ns.contains("decode_step")) steps.push_back(each.samples_ns.at("decode_step").size());
  std::sort(steps.begin(), steps.end());
  EXPECT_THAT(steps, ElementsAre(3, 4)) << "of one that is killed, those that the GPU had done";
}

TEST_F(pytorch_adapter, leaves_the_times_of_a_process_without_a_gpu_to_the_host) {
  const command_result result =
      run_program({"--adapter", "pytorch", "timeline=none"}, {python, program("processes.py"), "host"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto samples = nlohmann::json::parse(text_of("stage1/process_samples.json"));
  const auto prefills_ns = samples["stages_ns"]["prefill"].get<std::vector<std::int64_t>>();
  EXPECT_THAT(prefills_ns, ::testing::UnorderedElementsAre(250'000'000, ::testing::Ne(250'000'000)));
  EXPECT_THAT(samples["stage_processes"]["prefill"].get<std::vector<int>>(), ElementsAre(0, 1));
  EXPECT_THAT(samples["decode_steps"].get<std::vector<int>>(), ElementsAre(4, 4));
  EXPECT_THAT(status_of("stage1").notes,
              Contains("1 process told no times of the GPU: its times of prefill are the host's"));
}

TEST_F(pytorch_adapter, that_was_not_loaded_is_told_and_the_process_is_measured_as_a_whole) {
  const command_result result =
      run_program({"--adapter", "pytorch"}, {python, "-I", program("decoder_loop.py")});
  // -I keeps the program's own folder from its path, too: it ends with an error, and the note is there still.
  EXPECT_NE(result.exit_code, 0);
  const command_result isolated = run_program({"--adapter", "pytorch"}, {python, "-I", "-c", "print(1)"});
  ASSERT_EQ(isolated.exit_code, 0) << isolated.output;
  EXPECT_THAT(status_of("stage1").notes, ElementsAre(HasSubstr("the PyTorch adapter never reported in")));
  EXPECT_THAT(text_of("report.md"), AllOf(HasSubstr("python -I"), HasSubstr("| process "),
                                          Not(HasSubstr("no decode step was seen"))));
}

TEST_F(pytorch_adapter, judges_two_commands_by_its_stages) {
  const command_result silent =
      profgate({"ab", "--adapter", "pytorch", "--", python, "-I", "-c", "1", "--", python, "-I", "-c", "2"});
  EXPECT_EQ(silent.exit_code, 2) << silent.output;
  EXPECT_THAT(silent.output, HasSubstr("the PyTorch adapter never reported in"));
}

TEST_F(pytorch_adapter, compares_a_model_without_tokens_and_a_program_without_a_model_by_what_they_have) {
  const auto compared = [&](const std::vector<std::string>& words) {
    std::vector<std::string> argv = {
        "ab", "--adapter", "pytorch", "gate.screen_ratio=1", "gate.confirm_ratio=1", "gate.unchanged_ratio=1",
        "--"};
    argv.insert(argv.end(), words.begin(), words.end());
    argv.emplace_back("--");
    argv.insert(argv.end(), words.begin(), words.end());
    return profgate(argv);
  };
  const command_result encoder = compared({python, program("encoder.py")});
  EXPECT_THAT(encoder.output, HasSubstr("its stages are forward"));
  // A busy machine may be too noisy to say.
  EXPECT_THAT(encoder.output, ::testing::ContainsRegex("(unchanged|inconclusive): forward is"));
  EXPECT_THAT(encoder.exit_code, ::testing::AnyOf(0, 77)) << encoder.output;
  EXPECT_THAT(encoder.output, HasSubstr("look deeper: profgate run --adapter pytorch -- "));
  const command_result layer =
      compared({python, "-c", "import torch; torch.nn.Linear(2, 2)(torch.zeros(1, 2))"});
  EXPECT_THAT(layer.output, HasSubstr("its stages are process"));
}

TEST_F(pytorch_adapter, is_refused_where_there_is_none_of_that_name) {
  const command_result result = run_program({"--adapter", "pytroch"}, {python, "-c", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("did you mean 'pytorch'?"));
}

}  // namespace
}  // namespace profgate::integration
