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

workload_config read(const std::string& text) {
  const temporary_directory directory;
  return read_workload_config(directory.write("config.yaml", text));
}

std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = complete;
  const auto at = text.find(old_text);
  EXPECT_NE(at, std::string::npos) << old_text;
  return text.replace(at, old_text.size(), new_text);
}

void expect_refused(const std::string& words, const std::string& old_text, const std::string& new_text) {
  expect_bad_input(words, [&] { read(with(old_text, new_text)); });
}

TEST(workload_config, reads_every_key) {
  const auto config = read(complete);
  EXPECT_EQ(config.prompt_tokens, 37);
  EXPECT_EQ(config.decode_tokens, 24);
  EXPECT_EQ(config.seed_tag, "llama-tiny");
  EXPECT_FALSE(config.decode_step_ranges);
  EXPECT_EQ(config.repetitions, 5);
  EXPECT_EQ(config.warmup, 1);
  EXPECT_FALSE(config.checkpoint);
  EXPECT_FALSE(config.reference);
  ASSERT_TRUE(config.shape);
  EXPECT_EQ(config.shape->intermediate_size, 176);
  EXPECT_EQ(config.shape->rms_norm_eps, 1e-5);
}

TEST(workload_config, takes_the_shape_from_the_checkpoint_where_one_is_named) {
  const auto config =
      read(with("weights: synthetic\n  checkpoint: null", "weights: checkpoint\n  checkpoint: /models/m"));
  EXPECT_EQ(config.checkpoint, "/models/m");
  EXPECT_FALSE(config.shape);
}

TEST(workload_config, a_gpu_takes_more_than_the_cpu) {
  const auto on_gpu = with("device: cpu", "device: cuda");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = on_gpu;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(read(on_gpu).device, "cuda");
  EXPECT_TRUE(read(on_gpu).cuda_graphs);
  EXPECT_EQ(read(changed("dtype: float32", "dtype: bfloat16")).dtype, "bfloat16");
  EXPECT_EQ(read(changed("batch: 1", "batch: 64")).batch, 64);
  EXPECT_FALSE(read(changed("batch: 1", "cuda_graphs: false")).cuda_graphs);
  expect_bad_input("config.yaml:5: workload.batch is 65; the engine decodes up to 64",
                   [&] { read(changed("batch: 1", "batch: 65")); });
  expect_bad_input("model.dtype is 'int4'", [&] { read(changed("dtype: float32", "dtype: int4")); });
}

TEST(workload_config, refuses_with_file_line_and_key) {
  expect_refused("config.yaml:2: workload.device is 'tpu'", "device: cpu", "device: tpu");
  expect_refused("config.yaml:3: workload.prompt_tokens is 0, not between 1 and", "prompt_tokens: 37",
                 "prompt_tokens: 0");
  expect_refused("config.yaml:4: workload.decode_tokens has the wrong type", "decode_tokens: 24",
                 "decode_tokens: many");
  expect_refused("workload.decode_tokens is missing", "  decode_tokens: 24\n", "");
  expect_refused("config.yaml:5: workload.batch is 2; the CPU decodes one sequence at a time", "batch: 1",
                 "batch: 2");
  expect_refused("model.dtype is 'bfloat16'; the CPU computes in float32", "dtype: float32",
                 "dtype: bfloat16");
  expect_refused("model.weights is 'random'", "weights: synthetic", "weights: random");
  expect_refused("model.checkpoint is missing", "weights: synthetic", "weights: checkpoint");
  expect_refused("model.reference_file is missing", "reference: null", "reference: llama-tiny");
  expect_refused("stage1 is missing", "stage1:", "stage_1:");
}

TEST(workload_config, refuses_a_shape_it_does_not_compute) {
  expect_refused("model.shape.num_experts is not supported", "qk_norm: false",
                 "qk_norm: false\n    num_experts: 8");
  expect_refused("model.shape.hidden_act is not silu", "qk_norm: false", "hidden_act: gelu");
  expect_refused("architecture 'mamba' is not supported", "architecture: llama", "architecture: mamba");
  expect_refused("model.shape: head_dim is odd", "head_dim: 8", "head_dim: 7");
}

TEST(workload_config, refuses_what_is_no_config) {
  expect_bad_input("cannot be read", [] { read_workload_config("/nonexistent/config.yaml"); });
  expect_bad_input("config.yaml:1: not YAML", [] { read("a: [1"); });
  expect_bad_input("not a YAML map", [] { read("just text"); });
}

}  // namespace
}  // namespace profgate::llm
