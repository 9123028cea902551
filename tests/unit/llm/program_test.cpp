#include <cmath>
#include <map>
#include <vector>

#include "child_program.h"
#include "llm/json_file.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

constexpr int prompt_tokens = 5;
constexpr int decode_tokens = 3;
constexpr int layers = 3;

const std::map<std::string, int> stages = {{"0 LLM:generate", 1},
                                           {"1 LLM:prefill", 1},
                                           {"1 LLM:decode_all", 1},
                                           {"2 LLM:decode_step", decode_tokens}};

void expect_in_both(std::map<std::string, int>& ranges, const std::string& name, int a_pass) {
  ranges["2 LLM:" + name] = a_pass;                  // in prefill
  ranges["3 LLM:" + name] = a_pass * decode_tokens;  // in a decode step
}

class program : public ::testing::Test {
 protected:
  std::string config(const std::string& model, const std::string& device = "cpu") const {
    return m_directory.write("config.yaml", "workload: {device: " + device +
                                                ", prompt_tokens: 5, decode_tokens: 3, threads: 2" +
                                                m_workload + "}\nstage1: {repetitions: 2, warmup: 1" +
                                                m_stage1 + "}\nmodel: " + model + "\n");
  }

  static std::string checkpoint_model(const std::string& reference_file) {
    return "{name: m, dtype: float32, weights: checkpoint, checkpoint: " + reference_dir() +
           "/checkpoints/llama, reference: llama, reference_file: " + reference_file + "}";
  }

  finished_program run(const std::string& config_path, const std::string& mode,
                       const std::map<std::string, std::string>& environment = {}) const {
    return run_program(
        m_directory.path(),
        {PROFGATE_LLM_PROGRAM, "--config", config_path, "--mode", mode, "--result", result_path()},
        environment);
  }

  /// How often a profiled run opens each range, by "<depth> <domain>:<name>".
  std::map<std::string, int> opened_ranges(const std::string& model) const {
    const std::string record = m_directory.file("ranges.txt");
    const auto finished = run(config(model), "profile",
                              {{"NVTX_INJECTION64_PATH", PROFGATE_RANGE_RECORDER}, {"RANGE_RECORD", record}});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::map<std::string, int> opened;
    std::istringstream lines(read_text(record));
    for (std::string line; std::getline(lines, line);) ++opened[line];
    return opened;
  }

  std::string result_path() const { return m_directory.file("result.json"); }

  temporary_directory m_directory;
  std::string m_workload;  ///< more keys of these groups: ", key: value"
  std::string m_stage1;
  std::string m_reference = reference_dir() + "/checkpoints/llama/reference.json";
};

TEST_F(program, bench_writes_the_result_and_google_benchmarks_report) {
  const auto finished = run(config(checkpoint_model(m_reference)), "bench");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("GB/s measured memory bandwidth = "));

  const auto result = read_json_file(result_path());
  EXPECT_EQ(result.at("schema_version"), 1);
  EXPECT_EQ(result.at("mode"), "bench");
  EXPECT_EQ(result.at("device").at("kind"), "cpu");
  EXPECT_FALSE(result.at("device").at("name").get<std::string>().empty());
  EXPECT_EQ(result.at("device").at("threads"), 2);
  EXPECT_EQ(result.at("model").at("architecture"), "llama");
  EXPECT_EQ(result.at("model").at("weights"), "checkpoint");
  EXPECT_EQ(result.at("model").at("parameters"), 198080);
  EXPECT_EQ(result.at("model").at("active_parameters"), 198080 - 511 * 64);
  EXPECT_EQ(result.at("model").at("dims").at("num_hidden_layers"), layers);
  EXPECT_EQ(result.at("tokens"),
            (nlohmann::json{{"prompt", prompt_tokens}, {"decode", decode_tokens}, {"batch", 1}}));
  EXPECT_EQ(result.at("samples_ns").at("prefill").size(), 2U);
  EXPECT_EQ(result.at("samples_ns").at("decode_all").size(), 2U);
  EXPECT_EQ(result.at("decode_step_ns").size(), 2U * decode_tokens);
  EXPECT_GT(result.at("work").at("prefill").at("flops"), 0);
  EXPECT_GT(result.at("work").at("decode_all").at("bytes"), 0);
  EXPECT_FALSE(result.at("work_assumptions").empty());
  EXPECT_GT(result.at("ceilings").at("flops_per_s"), 0);
  EXPECT_GT(result.at("ceilings").at("memory_bytes_per_s"), 0);
  EXPECT_GT(result.at("memory_peak_bytes"), 0);
  EXPECT_EQ(result.at("logits_hash").get<std::string>().size(), 18U);
  EXPECT_EQ(result.at("greedy").size(), 1U + decode_tokens);
  EXPECT_EQ(result.at("reference").at("name"), "llama");
  EXPECT_LT(result.at("reference_distance"), 1e-3);
  EXPECT_TRUE(result.at("telemetry").is_null());
  EXPECT_EQ(result.at("telemetry_reason"), "the device is not an NVIDIA GPU");

  std::map<std::string, std::vector<std::int64_t>> reported;
  const auto report = read_json_file(m_directory.file("benchmark.json"));
  for (const auto& row : report.at("benchmarks")) {
    if (row.at("run_type") != "iteration") continue;
    for (const char* stage : {"prefill", "decode_all"})
      reported[stage].push_back(std::llround(row.at(std::string(stage) + "_ns").get<double>()));
  }
  EXPECT_EQ(reported, (result.at("samples_ns").get<decltype(reported)>()));
}

TEST_F(program, count_tells_the_work_of_a_model_that_it_need_not_be_able_to_run) {
  m_workload = ", batch: 300";
  const std::string model =
      "{name: m, dtype: float16, weights: checkpoint, checkpoint: " + reference_dir() + "/checkpoints/llama}";
  const auto finished = run(config(model, "cuda"), "count");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto counted = read_json_file(result_path());
  EXPECT_EQ(counted.at("mode"), "count");
  EXPECT_TRUE(counted.at("samples_ns").empty());
  EXPECT_EQ(counted.at("model").at("parameters"), 198080);
  EXPECT_EQ(counted.at("tokens").at("batch"), 300);
  EXPECT_FALSE(counted.at("work_assumptions").empty());
  EXPECT_EQ(run(config(model, "cuda"), "bench").exit_code, 2) << "it cannot run that one";

  m_workload = "";
  ASSERT_EQ(run(config(checkpoint_model(m_reference)), "profile").exit_code, 0);
  const auto ran = read_json_file(result_path());
  ASSERT_EQ(run(config(checkpoint_model(m_reference)), "count").exit_code, 0);
  EXPECT_EQ(read_json_file(result_path()).at("work"), ran.at("work")) << "the same as of one that runs";
}

TEST_F(program, profile_opens_each_stage_once_and_every_operator_inside) {
  const auto opened = opened_ranges(checkpoint_model(m_reference));
  std::map<std::string, int> expected = stages;
  for (const char* name : {"embed", "lm_head", "sample"}) expect_in_both(expected, name, 1);
  for (const char* name : {"attn.norm", "attn.qkv", "attn.rope", "attn.core", "attn.out", "mlp.norm",
                           "mlp.gate_up", "mlp.act", "mlp.down"})
    expect_in_both(expected, name, layers);
  EXPECT_EQ(opened, expected);

  const auto result = read_json_file(result_path());
  EXPECT_EQ(result.at("mode"), "profile");
  EXPECT_EQ(result.at("samples_ns").at("prefill").size(), 1U);
  EXPECT_EQ(result.at("decode_step_ns").size(), std::size_t{decode_tokens});
  EXPECT_TRUE(result.at("ceilings").is_null());
  EXPECT_EQ(result.at("ceilings_reason"), "they are measured only in --mode bench");
  EXPECT_TRUE(result.at("telemetry").is_null());
  EXPECT_EQ(result.at("telemetry_reason"), "it is recorded only in --mode bench");
}

TEST_F(program, a_planted_delay_lengthens_every_decode_step_and_changes_no_result) {
  constexpr std::int64_t delay_ns = 20'000'000;  // many times a step of this model
  m_stage1 = ", ceilings: false";
  const std::string model = checkpoint_model(m_reference);
  ASSERT_EQ(run(config(model), "bench").exit_code, 0);
  const auto without = read_json_file(result_path());
  m_workload = ", planted_delay_ns: " + std::to_string(delay_ns);
  ASSERT_EQ(run(config(model), "bench").exit_code, 0);
  const auto with = read_json_file(result_path());
  for (const char* unchanged : {"logits_hash", "greedy", "work"})
    EXPECT_EQ(with.at(unchanged), without.at(unchanged)) << unchanged;
  ASSERT_EQ(with.at("decode_step_ns").size(), 2U * decode_tokens);
  for (const auto& step_ns : with.at("decode_step_ns")) EXPECT_GE(step_ns, delay_ns);
  for (const auto& sample_ns : with.at("samples_ns").at("decode_all"))
    EXPECT_GE(sample_ns, decode_tokens * delay_ns);
}

TEST_F(program, a_planted_delay_has_a_range_in_decode_steps_only) {
  m_workload = ", planted_delay_ns: 1000";
  const auto opened = opened_ranges(checkpoint_model(m_reference));
  EXPECT_EQ(opened.count("2 LLM:planted"), 0U) << "none in the prefill";
  ASSERT_EQ(opened.count("3 LLM:planted"), 1U);
  EXPECT_EQ(opened.at("3 LLM:planted"), decode_tokens);
}

TEST_F(program, ceilings_that_are_not_wanted_are_null_with_the_reason) {
  m_stage1 = ", ceilings: false";
  const auto finished = run(config(checkpoint_model(m_reference)), "bench");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("ms a step"));
  const auto result = read_json_file(result_path());
  EXPECT_TRUE(result.at("ceilings").is_null());
  EXPECT_EQ(result.at("ceilings_reason"), "stage1.ceilings is false");
  EXPECT_EQ(result.at("samples_ns").at("decode_all").size(), 2U);
}

TEST_F(program, layers_with_experts_open_ranges_of_their_own) {
  const auto opened = opened_ranges(
      "{name: deepseek-moe-tiny, dtype: float32, weights: synthetic, reference: deepseek-moe-tiny, "
      "reference_file: " +
      reference_dir() +
      "/synthetic_reference.json, shape: {architecture: deepseek_v2, vocab_size: 512, hidden_size: 64, "
      "intermediate_size: 176, num_hidden_layers: 3, num_attention_heads: 4, rms_norm_eps: 1.0e-6, "
      "rope_theta: 1.0e+4, num_experts: 8, num_experts_per_tok: 3, moe_intermediate_size: 48, "
      "shared_intermediate_size: 96, first_dense_layers: 1}}");
  std::map<std::string, int> expected = stages;
  for (const char* name : {"embed", "lm_head", "sample", "mlp.gate_up", "mlp.act", "mlp.down"})
    expect_in_both(expected, name, 1);
  for (const char* name : {"attn.norm", "attn.qkv", "attn.rope", "attn.core", "attn.out", "mlp.norm"})
    expect_in_both(expected, name, layers);
  for (const char* name : {"moe.route", "moe.experts", "moe.shared"})
    expect_in_both(expected, name, layers - 1);
  EXPECT_EQ(opened, expected);

  const auto model = read_json_file(result_path()).at("model");
  EXPECT_EQ(model.at("parameters"), 334'272);
  EXPECT_EQ(model.at("active_parameters"), 334'272 - 2 * 5 * 3 * 64 * 48 - 511 * 64);
  EXPECT_EQ(model.at("dims").at("num_experts_per_tok"), 3);
}

TEST_F(program, bench_tells_how_full_the_experts_of_each_layer_were) {
  const std::string model =
      "{name: deepseek-moe-tiny, dtype: float32, weights: synthetic, shape: {architecture: deepseek_v2, "
      "vocab_size: 512, hidden_size: 64, intermediate_size: 176, num_hidden_layers: 3, num_attention_heads: "
      "4, "
      "rms_norm_eps: 1.0e-6, rope_theta: 1.0e+4, num_experts: 8, num_experts_per_tok: 3, "
      "moe_intermediate_size: 48, shared_intermediate_size: 96, first_dense_layers: 1}}";
  ASSERT_EQ(run(config(model), "bench").exit_code, 0);
  const auto result = read_json_file(result_path());
  for (const char* stage : {"prefill", "decode_all"}) {
    const auto& told = result.at("experts").at(stage);
    const double tokens = result.at("tokens").at(std::string(stage) == "prefill" ? "prompt" : "decode");
    EXPECT_EQ(told.at("tokens"), tokens) << stage;
    EXPECT_EQ(told.at("top_k"), 3);
    EXPECT_EQ(told.at("experts"), 8);
    ASSERT_EQ(told.at("layers").size(), 2U) << "the first is dense";
    for (const auto& layer : told.at("layers")) {
      EXPECT_DOUBLE_EQ(layer.at("mean_rows"), tokens * 3 / 8) << "each token goes to three of eight";
      EXPECT_GE(layer.at("largest_rows"), layer.at("mean_rows"));
      EXPECT_LE(layer.at("largest_rows"), tokens) << "and to each of them once";
    }
    EXPECT_EQ(told.at("layers").at(0).at("layer"), 1);
  }
  std::int64_t unused = 0;
  for (const auto& layer : result.at("experts").at("prefill").at("layers"))
    unused += layer.at("unused").get<std::int64_t>();
  ASSERT_EQ(run(config(model), "profile").exit_code, 0);
  const auto profiled = read_json_file(result_path());
  EXPECT_FALSE(profiled.contains("experts")) << "a profiler's run only runs";
  const double evenly = 8 * (1 - std::pow(5.0 / 8, result.at("tokens").at("prompt").get<double>()));
  EXPECT_NEAR(result.at("work").at("prefill").at("bytes").get<double>() -
                  profiled.at("work").at("prefill").at("bytes").get<double>(),
              (16 - static_cast<double>(unused) - 2 * evenly) * 3 * 64 * 48 * 4, 1)
      << "bytes are those of the experts that got tokens";
  EXPECT_EQ(result.at("work_assumptions").size(), profiled.at("work_assumptions").size() + 1);
  ASSERT_EQ(run(config(checkpoint_model(m_reference)), "bench").exit_code, 0);
  EXPECT_FALSE(read_json_file(result_path()).contains("experts")) << "a dense model";
}

TEST_F(program, bench_opens_no_range) {
  const std::string record = m_directory.file("ranges.txt");
  const auto finished = run(config(checkpoint_model(m_reference)), "bench",
                            {{"NVTX_INJECTION64_PATH", PROFGATE_RANGE_RECORDER}, {"RANGE_RECORD", record}});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(read_text(record), "");
}

TEST_F(program, a_device_it_lacks_is_a_skip_in_one_line) {
  const auto finished = run(config(checkpoint_model(m_reference), "cuda"), "bench");
  if (finished.exit_code == 0) GTEST_SKIP() << "this machine has the device";
  EXPECT_EQ(finished.exit_code, 77);
  EXPECT_THAT(finished.err, ::testing::MatchesRegex("profgate-llm: [^\n]*no CUDA[^\n]*\n"));
}

TEST_F(program, a_reference_that_differs_fails_before_anything_is_timed) {
  auto reference = read_json_file(m_reference);
  reference["last_logits"][3] = reference["last_logits"][3].get<float>() + 1.0F;
  const auto finished =
      run(config(checkpoint_model(m_directory.write("other.json", reference.dump()))), "bench");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("reference 'llama': the logits are 0.0"));
  EXPECT_THAT(finished.err, HasSubstr("to fix it: "));
  EXPECT_FALSE(std::filesystem::exists(result_path()));
  EXPECT_FALSE(std::filesystem::exists(m_directory.file("benchmark.json")));
}

TEST_F(program, bad_input_exits_2_with_the_reason_and_the_remedy) {
  const auto missing_model =
      run(config("{name: m, dtype: float32, weights: checkpoint, checkpoint: /nonexistent}"), "bench");
  EXPECT_EQ(missing_model.exit_code, 2);
  EXPECT_THAT(missing_model.err, HasSubstr("profgate-llm: /nonexistent/config.json: cannot be read"));
  EXPECT_THAT(missing_model.err, HasSubstr("  to fix it: "));

  const auto misuse = run_program(m_directory.path(), {PROFGATE_LLM_PROGRAM, "--help"});
  EXPECT_EQ(misuse.exit_code, 2);
  EXPECT_THAT(misuse.err, HasSubstr("call it as profgate-llm --config"));
}

TEST_F(program, a_truncated_model_file_is_named) {
  const std::string model = m_directory.path() + "/model";
  std::filesystem::create_directory(model);
  std::filesystem::copy(reference_dir() + "/checkpoints/llama", model);
  std::filesystem::resize_file(model + "/model.safetensors", 400'000);
  const auto finished =
      run(config("{name: m, dtype: float32, weights: checkpoint, checkpoint: " + model + "}"), "profile");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr(model + "/model.safetensors: tensor '"));
  EXPECT_THAT(finished.err, HasSubstr("truncated"));
}

TEST_F(program, a_checkpoint_of_no_numbers_is_named_before_anything_is_timed) {
  const std::string model = m_directory.path() + "/model";
  std::filesystem::create_directory(model);
  std::filesystem::copy(reference_dir() + "/checkpoints/llama", model);
  std::string weights = read_text(model + "/model.safetensors");
  weights.replace(weights.size() - 4, 4, std::string("\0\0\xc0\x7f", 4));  // the last one: NaN
  std::filesystem::remove(model + "/model.safetensors");
  std::ofstream(model + "/model.safetensors", std::ios::binary) << weights;
  for (const char* mode : {"bench", "profile"}) {
    const auto finished =
        run(config("{name: m, dtype: float32, weights: checkpoint, checkpoint: " + model + "}"), mode);
    EXPECT_EQ(finished.exit_code, 2) << mode;
    EXPECT_THAT(finished.err, HasSubstr(model + ": logit "));
    EXPECT_THAT(finished.err, HasSubstr("is nan: its weights hold NaN"));
    EXPECT_THAT(finished.err, HasSubstr("  to fix it: fetch the checkpoint again"));
    EXPECT_FALSE(std::filesystem::exists(result_path()));
  }
}

TEST_F(program, a_result_that_cannot_be_written_is_a_failure) {
  const auto finished = run_program(
      m_directory.path(), {PROFGATE_LLM_PROGRAM, "--config", config(checkpoint_model(m_reference)), "--mode",
                           "profile", "--result", "/nonexistent/result.json"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("/nonexistent/result.json: cannot be written"));
}

}  // namespace
}  // namespace profgate::llm
