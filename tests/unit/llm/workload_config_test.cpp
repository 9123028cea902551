#include "llm/workload_config.h"

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

constexpr const char* complete = R"(workload:
  device: cpu
  prompt_tokens: 37
  decode_tokens: 24
  batch: 1
  threads: 0
  seed_tag: null
  nvtx_domain: LLM
  decode_step_ranges: false
stage1: {repetitions: 5, warmup: 1}
model:
  name: llama-tiny
  dtype: float32
  weights: synthetic
  checkpoint: null
  reference: null
  reference_file: null
  shape:
    architecture: llama
    vocab_size: 512
    hidden_size: 64
    intermediate_size: 176
    num_hidden_layers: 3
    num_attention_heads: 8
    num_key_value_heads: 2
    head_dim: 8
    rms_norm_eps: 1.0e-5
    rope_theta: 10000.0
    tie_word_embeddings: false
    attention_bias: false
    qk_norm: false
)";

workload_config read_config(const std::string& text) {
  const temporary_directory directory;
  return read_workload_config(directory.write("config.yaml", text));
}

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = complete;
  const auto at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return text.replace(at, old_text.size(), new_text);
}

void expect_change_refused(const std::string& words, const std::string& old_text,
                           const std::string& new_text) {
  expect_bad_input(words, [&] { read_config(with(old_text, new_text)); });
}

TEST(workload_config, reads_every_key) {
  const auto config = read_config(complete);
  EXPECT_EQ(config.prompt_tokens, 37);
  EXPECT_EQ(config.decode_tokens, 24);
  EXPECT_EQ(config.seed_tag, "llama-tiny");
  EXPECT_FALSE(config.decode_step_ranges);
  EXPECT_EQ(config.repetitions, 5);
  EXPECT_EQ(config.warmup, 1);
  EXPECT_TRUE(config.measure_ceilings);
  EXPECT_EQ(config.planted_delay_ns, 0);
  EXPECT_FALSE(config.checkpoint);
  EXPECT_FALSE(config.reference);
  ASSERT_TRUE(config.shape);
  EXPECT_EQ(config.shape->intermediate_size, 176);
  EXPECT_EQ(config.shape->rms_norm_eps, 1e-5);
}

TEST(workload_config, reads_what_a_gate_process_asks_for) {
  const auto config = read_config(
      with("decode_step_ranges: false\nstage1: {repetitions: 5, warmup: 1}",
           "planted_delay_ns: 1000000000\nstage1: {repetitions: 23, warmup: 0, ceilings: false}"));
  EXPECT_EQ(config.planted_delay_ns, 1'000'000'000);
  EXPECT_FALSE(config.measure_ceilings);
  expect_change_refused("workload.planted_delay_ns is -1", "threads: 0", "planted_delay_ns: -1");
  expect_change_refused("workload.planted_delay_ns is 1000000001", "threads: 0",
                        "planted_delay_ns: 1000000001");
}

TEST(workload_config, reads_experts_and_a_rope_scaling) {
  const auto shape =
      *read_config(
           with(
               "architecture: llama",
               "architecture: qwen3_moe\n    num_experts: 8\n    num_experts_per_tok: 3\n"
               "    moe_intermediate_size: 48\n    shared_intermediate_size: null\n    norm_topk_prob: true\n"
               "    rope_scaling: {rope_type: llama3, factor: 8, low_freq_factor: 1, high_freq_factor: 4, "
               "original_max_position_embeddings: 8192}"))
           .shape;
  EXPECT_EQ(shape.num_experts, 8);
  EXPECT_EQ(shape.num_experts_per_tok, 3);
  EXPECT_EQ(shape.moe_intermediate_size, 48);
  EXPECT_EQ(shape.shared_intermediate_size, 0);
  EXPECT_EQ(shape.first_dense_layers, 0);
  EXPECT_TRUE(shape.norm_topk_prob);
  ASSERT_TRUE(shape.rope_scaling);
  EXPECT_EQ(shape.rope_scaling->factor, 8);
  EXPECT_EQ(shape.rope_scaling->original_max_position_embeddings, 8192);
  EXPECT_FALSE(read_config(with("qk_norm: false", "rope_scaling: {rope_type: null, factor: null}"))
                   .shape->rope_scaling);
}

TEST(workload_config, takes_the_shape_from_the_checkpoint_where_one_is_named) {
  const auto config = read_config(
      with("weights: synthetic\n  checkpoint: null", "weights: checkpoint\n  checkpoint: /models/m"));
  EXPECT_EQ(config.checkpoint, "/models/m");
  EXPECT_FALSE(config.shape);
}

TEST(workload_config, a_gpu_takes_more_than_the_cpu) {
  const auto on_gpu = with("device: cpu", "device: cuda");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = on_gpu;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(read_config(on_gpu).device, "cuda");
  EXPECT_TRUE(read_config(on_gpu).cuda_graphs);
  EXPECT_EQ(read_config(changed("dtype: float32", "dtype: bfloat16")).dtype, "bfloat16");
  EXPECT_EQ(read_config(changed("batch: 1", "batch: 64")).batch, 64);
  EXPECT_FALSE(read_config(changed("batch: 1", "cuda_graphs: false")).cuda_graphs);
  expect_bad_input("config.yaml:5: workload.batch is 65; the engine decodes up to 64",
                   [&] { read_config(changed("batch: 1", "batch: 65")); });
  expect_bad_input("model.dtype is 'int4'", [&] { read_config(changed("dtype: float32", "dtype: int4")); });
}

TEST(workload_config, refuses_with_file_line_and_key) {
  expect_change_refused("config.yaml:2: workload.device is 'tpu'", "device: cpu", "device: tpu");
  expect_change_refused("config.yaml:3: workload.prompt_tokens is 0, not between 1 and", "prompt_tokens: 37",
                        "prompt_tokens: 0");
  expect_change_refused("config.yaml:4: workload.decode_tokens must be a whole number, not 'many'",
                        "decode_tokens: 24", "decode_tokens: many");
  expect_change_refused("workload.decode_tokens is missing", "  decode_tokens: 24\n", "");
  expect_change_refused("config.yaml:5: workload.batch is 2; the CPU decodes one sequence at a time",
                        "batch: 1", "batch: 2");
  expect_change_refused("model.dtype is 'bfloat16'; the CPU computes in float32", "dtype: float32",
                        "dtype: bfloat16");
  expect_change_refused("model.weights is 'random'", "weights: synthetic", "weights: random");
  expect_change_refused("model.checkpoint is missing", "weights: synthetic", "weights: checkpoint");
  expect_change_refused("model.reference_file is missing", "reference: null", "reference: llama-tiny");
  expect_change_refused("stage1 is missing", "stage1:", "stage_1:");
}

TEST(workload_config, refuses_a_shape_it_does_not_compute) {
  expect_change_refused("config.yaml:32: model.shape.num_expert is not supported", "qk_norm: false",
                        "qk_norm: false\n    num_expert: 8");
  expect_change_refused("num_experts is set, but the architecture llama has no experts", "qk_norm: false",
                        "num_experts: 8");
  expect_change_refused("config.yaml:31: model.shape.num_experts must be a whole number, not 'many'",
                        "qk_norm: false", "num_experts: many");
  expect_change_refused("config.yaml:31: model.shape.rope_scaling.rope_type is 'yarn'", "qk_norm: false",
                        "rope_scaling: {rope_type: yarn}");
  expect_change_refused("model.shape.rope_scaling.factor is missing", "qk_norm: false",
                        "rope_scaling: {rope_type: llama3}");
  expect_change_refused("model.shape.hidden_act is not silu", "qk_norm: false", "hidden_act: gelu");
  expect_change_refused("architecture 'mamba' is not supported", "architecture: llama",
                        "architecture: mamba");
  expect_change_refused("model.shape: head_dim is odd", "head_dim: 8", "head_dim: 7");
}

TEST(workload_config, refuses_what_is_no_config) {
  expect_bad_input("cannot be read", [] { read_workload_config("/nonexistent/config.yaml"); });
  expect_bad_input("config.yaml:1: not YAML", [] { read_config("a: [1"); });
  expect_bad_input("not a YAML map", [] { read_config("just text"); });
}

}  // namespace
}  // namespace profgate::llm
