#include <cstdlib>
#include <numeric>

#include "gpu_pair_fixture.h"
#include "parsers/nsys_csv.h"

/// PyTorch programs as people write them (tests/gpu/torch), with the real nsys and ncu, unedited and with the
/// adapter: what the report says against what the program says of itself, and what nsys sums up.
namespace profgate::integration {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class torch_program : public gpu_pair_fixture {
 protected:
  void SetUp() override {
    gpu_pair_fixture::SetUp();
    if (IsSkipped()) return;
    const command_result imports = run({"python3", "-c", "import torch, transformers"});
    if (imports.exit_code != 0) GTEST_SKIP() << "there is no PyTorch: " << imports.last_line();
  }

  static std::vector<std::string> script(const std::string& name,
                                         const std::vector<std::string>& words = {}) {
    std::vector<std::string> argv = {"python3", PROFGATE_TORCH_PROGRAMS "/" + name};
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  }

  nlohmann::json profile() const { return nlohmann::json::parse(text_of("profile.json")); }

  static nlohmann::json stage_in(const nlohmann::json& profile, const std::string& name) {
    for (const nlohmann::json& stage : profile["stages"]) {
      if (stage["name"] == name) return stage;
    }
    ADD_FAILURE() << "no stage " << name;
    return {};
  }

  void expect_whole_bundle() const {
    for (const char* file : {"report.md", "report.html", "stakeholder_summary.md", "kernels.md",
                             "operators.md", "nsys/run.sqlite", "ncu/raw.csv", "ncu/selection.json"}) {
      EXPECT_TRUE(fs::exists(latest_run() / file)) << file;
    }
  }

  void expect_kernels_as_nsys_stats_has_them() const {
    std::int64_t nsys_ns = 0;
    std::int64_t nsys_calls = 0;
    for (const auto& kernel : parsers::read_kernel_sum_csv(latest_run() / "nsys/run_cuda_gpu_kern_sum.csv")) {
      nsys_ns += kernel.total_ns;
      nsys_calls += kernel.calls;
    }
    std::int64_t own_calls = 0;
    const nlohmann::json kernels = profile()["kernels"];
    for (const nlohmann::json& kernel : kernels["overall"])
      own_calls += kernel["calls_count"].get<std::int64_t>();
    EXPECT_GT(nsys_ns, 0);
    EXPECT_EQ(kernels["total_ns"].get<std::int64_t>(), nsys_ns);
    EXPECT_EQ(own_calls, nsys_calls);
  }

  /// How often each tool's log holds the program's closing words.
  std::size_t starts(const std::string& words) const {
    std::size_t count = 0;
    for (const char* log : {"stage1/log.txt", "nsys/log.txt", "ncu/log.txt"}) {
      const std::string text = text_of(log);
      for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    }
    return count;
  }

  void expect_steps_as_the_script_timed_them() const {
    const std::string log = text_of("stage1/log.txt");
    const std::size_t start = log.rfind("{\"prefill\"");
    ASSERT_NE(start, std::string::npos) << log;
    const nlohmann::json own = nlohmann::json::parse(log.substr(start, log.find('\n', start) - start));
    for (const char* stage : {"prefill", "decode"}) {
      const nlohmann::json bare = stage_in(profile(), stage)["bare"];
      const double seconds = own[stage]["median_s"].get<double>();
      EXPECT_EQ(bare["samples_count"], own[stage]["count"]) << stage;
      EXPECT_NEAR(bare["median_ns"].get<double>() * 1e-9 / seconds, 1, 0.03) << stage;
    }
  }

  void expect_counters_of(const std::string& stage) const {
    const nlohmann::json counters = stage_in(profile(), stage)["counters"];
    const std::string log = text_of("ncu/log.txt");
    ASSERT_TRUE(counters.is_object()) << stage << ": " << text_of("ncu/status.json") << "\n"
                                      << log.substr(log.size() - std::min<std::size_t>(log.size(), 3000));
    EXPECT_GT(counters["launches_count"], 0);
    EXPECT_EQ(counters["unmatched_launches_count"], 0) << counters.dump(1).substr(0, 4000);
  }
};

const std::vector<std::string> small_llama = {"--layers", "8", "--hidden", "1024",
                                              "--rounds", "5", "--steps",  "16"};

TEST_F(torch_program, with_ranges_of_its_own_is_started_three_times_and_timed_as_it_times_itself) {
  const command_result result =
      run_program({"workload.stages=[prefill, decode]"}, script("llama_steps.py", small_llama));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_whole_bundle();
  expect_steps_as_the_script_timed_them();
  expect_kernels_as_nsys_stats_has_them();
  expect_counters_of("prefill");
  expect_counters_of("decode");
  EXPECT_EQ(starts("{\"prefill\""), 3U);
  EXPECT_THAT(text_of("report.md"), HasSubstr("CUDA graph")) << "decode waits for launches";
}

TEST_F(torch_program, registered_as_a_pair_gives_the_same) {
  const command_result result = run_pair(register_command(script("llama_steps.py", small_llama)),
                                         {"workload.device=cuda", "workload.stages=[prefill, decode]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_whole_bundle();
  expect_steps_as_the_script_timed_them();
  expect_kernels_as_nsys_stats_has_them();
}

/// The last line of the unprofiled run's output that begins so, as JSON.
nlohmann::json told(const std::string& log, const std::string& beginning) {
  const std::size_t start = log.rfind(beginning);
  if (start == std::string::npos) return {};
  return nlohmann::json::parse(log.substr(start, log.find('\n', start) - start));
}

/// The share of a stage's kernel time whose launches lie under a module below the root.
double share_under_modules(const nlohmann::json& stage) {
  double all_ns = 0;
  double named_ns = 0;
  for (const nlohmann::json& group : stage["kernel_groups"]) {
    const auto own_ns = group["own_ns"].get<double>();
    all_ns += own_ns;
    if (!group["op_name"].is_null()) named_ns += own_ns;
  }
  return all_ns > 0 ? named_ns / all_ns : 0;
}

/// What the program timed in each round, a number or a list of them, against a figure of the report, which
/// leaves the first rounds out where they warm up. Means, for a host that runs at two speeds has a median of
/// either.
void expect_mean_of_last(std::size_t rounds, const nlohmann::json& own_s, const nlohmann::json& figure) {
  ASSERT_GT(rounds, 0U);
  ASSERT_LE(rounds, own_s.size());
  std::vector<double> all_ns;
  for (std::size_t round = own_s.size() - rounds; round < own_s.size(); ++round)
    for (const nlohmann::json& seconds : own_s[round].flatten())
      all_ns.push_back(seconds.get<double>() * 1e9);
  const double mean_ns =
      std::accumulate(all_ns.begin(), all_ns.end(), 0.0) / static_cast<double>(all_ns.size());
  EXPECT_NEAR(figure["mean_ns"].get<double>() / mean_ns, 1, 0.03) << own_s << '\n' << figure;
}

const std::vector<std::string> with_adapter = {"--adapter", "pytorch"};

TEST_F(torch_program, generating_unedited_has_its_modules_its_tokens_and_its_work) {
  const command_result result =
      run_program(with_adapter, script("generate.py", {"--hidden", "4096", "--layers", "16", "--prompt",
                                                       "8192", "--rounds", "5", "--tokens", "16"}));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_whole_bundle();
  expect_kernels_as_nsys_stats_has_them();
  for (const char* stage : {"prefill", "decode_all"}) {
    EXPECT_GE(share_under_modules(stage_in(profile(), stage)), 0.95) << stage;
    EXPECT_GT(stage_in(profile(), stage)["utilisation"]["mbu_over_vendor_ratio"], 0) << stage;
    expect_counters_of(stage);
  }
  const nlohmann::json throughput = profile()["throughput"];
  EXPECT_EQ(throughput["prompt_tokens_count"], 8192);
  EXPECT_EQ(throughput["decode_tokens_count"], 15) << "the first token is the prefill's";
  const nlohmann::json own = told(text_of("stage1/log.txt"), "{\"ttft_s\"");
  ASSERT_TRUE(own.is_object());
  const auto decoded_texts = stage_in(profile(), "decode_all")["bare"]["samples_count"].get<std::size_t>();
  expect_mean_of_last(throughput["ttft"]["samples_count"].get<std::size_t>(), own["ttft_s"],
                      throughput["ttft"]);
  expect_mean_of_last(decoded_texts, own["tpot_s"], throughput["tpot"]);
}

TEST_F(torch_program, out_of_a_cuda_graph_has_the_modules_of_its_capture) {
  const command_result result =
      run_program(with_adapter, script("decode_loop.py", {"--graph", "--rounds", "3"}));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_kernels_as_nsys_stats_has_them();
  const nlohmann::json decode = stage_in(profile(), "decode_all");
  EXPECT_GE(share_under_modules(decode), 0.95);
  EXPECT_LT(decode["idle"]["idle_ratio"], 0.1) << "the device runs behind the host, without a pause";
}

TEST_F(torch_program, compiled_is_compiled_as_without_the_adapter_and_profiled_whole) {
  const std::string words = "compiled graphs: ";
  const std::vector<std::string> program =
      script("decode_loop.py", {"--compile", "--full-graph", "--rounds", "1", "--steps", "8"});
  const command_result plain = run(program);
  ASSERT_EQ(plain.exit_code, 0) << plain.output;
  const std::size_t at = plain.output.find(words);
  ASSERT_NE(at, std::string::npos) << plain.output;
  const command_result adapted = run_program(with_adapter, program);
  ASSERT_EQ(adapted.exit_code, 0) << adapted.output;
  for (const char* log : {"stage1/log.txt", "nsys/log.txt", "ncu/log.txt"}) {
    EXPECT_THAT(text_of(log), HasSubstr(plain.output.substr(at, words.size() + 1))) << log;
  }
  for (const char* stage : {"prefill", "decode_all"}) {
    EXPECT_EQ(stage_in(profile(), stage)["bare"]["samples_count"], 1) << "the first compiles";
    EXPECT_GT(stage_in(profile(), stage)["warm_up_ns"], 0) << stage;
  }
  expect_whole_bundle();
  expect_kernels_as_nsys_stats_has_them();
  for (const char* stage : {"prefill", "decode_all"}) expect_counters_of(stage);
}

TEST_F(torch_program, that_serves_is_counted_while_its_client_asks_and_stopped) {
  const std::string port = "8765";
  const std::vector<std::string> server = script("server.py", {"serve", port});
  const std::vector<std::string> client = script("server.py", {"ask", port});
  std::vector<std::string> words = {"run", "--ready-port", port, "workload.stages=[prefill, decode]", "--"};
  words.insert(words.end(), server.begin(), server.end());
  words.emplace_back("--");
  words.insert(words.end(), client.begin(), client.end());
  const command_result result = profgate(words);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.left_behind, ::testing::IsEmpty());
  expect_whole_bundle();
  expect_kernels_as_nsys_stats_has_them();
  EXPECT_EQ(stage_in(profile(), "prefill")["bare"]["samples_count"], 12);
  EXPECT_EQ(stage_in(profile(), "decode")["bare"]["samples_count"], 12 * 16);
  expect_counters_of("prefill");
  expect_counters_of("decode");
}

class torch_program_both_ways : public torch_program, public ::testing::WithParamInterface<bool> {
 protected:
  /// Typed, or registered as a pair.
  command_result run_either_way(const std::string& name, const std::string& stages) {
    const bool is_registered = GetParam();
    return is_registered ? run_pair(register_command(script(name)), {"workload.device=cuda", stages})
                         : run_program({stages}, script(name));
  }
};
INSTANTIATE_TEST_SUITE_P(as, torch_program_both_ways, ::testing::Bool(), [](const auto& way) {
  return std::string(way.param ? "a_registered_pair" : "it_is_typed");
});

TEST_P(torch_program_both_ways, without_any_range_is_one_process) {
  const command_result result = run_either_way("generate.py", "workload.stages=[process]");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_whole_bundle();
  expect_kernels_as_nsys_stats_has_them();
  expect_counters_of("process");
  EXPECT_EQ(starts("generate took"), 6U) << "twice a start";
}

TEST_P(torch_program_both_ways, of_two_processes_has_both) {
  const command_result result = run_either_way("two_processes.py", "workload.stages=[step]");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_whole_bundle();
  expect_kernels_as_nsys_stats_has_them();
  EXPECT_EQ(stage_in(profile(), "step")["bare"]["samples_count"], 40);
}

}  // namespace
}  // namespace profgate::integration
