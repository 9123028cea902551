// The CUDA decoder against references, against the CPU's, and against itself: every path that a batch or a
// length takes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "llm/backend.h"
#include "llm/failure.h"
#include "llm/hf_config.h"
#include "llm/reference.h"
#include "llm/synthetic_weights.h"

namespace profgate::llm {
namespace {

const std::string reference_dir = PROFGATE_TEST_DATA "/reference";

std::unique_ptr<backend> make_on(const std::string& device, const model_shape& shape,
                                 const decoder_capacity& capacity, const std::string& dtype,
                                 const std::string& checkpoint = "", bool graphs = true) {
  static const stage_ranges ranges("test");
  workload_config config;
  config.device = device;
  config.dtype = dtype;
  config.measure_ceilings = false;  // products of 8192 x 8192 x 8192: hours under racecheck
  config.cuda_graphs = graphs;
  if (!checkpoint.empty()) config.checkpoint = checkpoint;
  return device == "cuda" ? make_cuda_backend(config, shape, capacity, ranges)
                          : make_cpu_backend(config, shape, capacity, ranges);
}

/// On a GPU, or the test is skipped.
class cuda_decoder : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      make_on("cuda", small_shape(), {1, 8, 8}, "float32");
    } catch (const failure& problem) {
      if (problem.code() != exit_code::not_possible) throw;
      GTEST_SKIP() << problem.what();
    }
  }

  static model_shape small_shape() {
    return {.architecture = "llama",
            .vocab_size = 1000,
            .hidden_size = 64,
            .intermediate_size = 176,
            .num_hidden_layers = 2,
            .num_attention_heads = 8,
            .num_key_value_heads = 2,
            .head_dim = 8,
            .rms_norm_eps = 1e-5,
            .rope_theta = 10000};
  }
};

std::vector<float> logits_of(decoder& engine) {
  engine.finish();
  return {engine.logits().begin(), engine.logits().end()};
}

std::vector<token_id> prompts(std::int64_t batch, std::int64_t length, std::int64_t vocab) {
  std::vector<token_id> all;
  for (std::int64_t sequence = 0; sequence < batch; ++sequence) {
    const auto one = synthetic_tokens("sequence " + std::to_string(sequence), length, vocab);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

reference as_reference(std::span<const float> logits) {
  reference expected;
  for (std::size_t token = 0; token < logits.size(); ++token)
    expected.last_logits.push_back({token, logits[token]});
  return expected;
}

struct closeness {
  double largest_distance = 0;
  double least_cosine = 1;
  double mean_cosine = 0;
};

/// Prefill of every sequence, then steps that are given their tokens: the logits after each, against the
/// CPU's, a sequence at a time.
closeness compare(decoder& on_gpu, decoder& on_cpu, std::int64_t length, int steps,
                  const model_shape& shape) {
  const auto batch = on_gpu.batch();
  const auto vocab = static_cast<std::size_t>(shape.vocab_size);
  const auto tokens = prompts(batch, length + steps, shape.vocab_size);
  const auto token_at = [&](std::int64_t sequence, std::int64_t position) {
    return tokens[static_cast<std::size_t>(sequence * (length + steps) + position)];
  };
  std::vector<token_id> first;
  for (std::int64_t sequence = 0; sequence < batch; ++sequence)
    for (std::int64_t position = 0; position < length; ++position)
      first.push_back(token_at(sequence, position));
  on_gpu.reset();
  on_gpu.prefill(first);
  std::vector<std::vector<float>> gpu_logits = {logits_of(on_gpu)};
  for (int step = 0; step < steps; ++step) {
    std::vector<token_id> forced;
    for (std::int64_t sequence = 0; sequence < batch; ++sequence)
      forced.push_back(token_at(sequence, length + step));
    on_gpu.choose(forced);
    on_gpu.decode_step();
    gpu_logits.push_back(logits_of(on_gpu));
  }
  closeness found;
  for (std::int64_t sequence = 0; sequence < batch; ++sequence) {
    on_cpu.reset();
    for (int step = 0; step <= steps; ++step) {
      if (step == 0) {
        on_cpu.prefill(std::span(first).subspan(static_cast<std::size_t>(sequence * length),
                                                static_cast<std::size_t>(length)));
      } else {
        const token_id forced = token_at(sequence, length + step - 1);
        on_cpu.choose({&forced, 1});
        on_cpu.decode_step();
      }
      const auto expected = as_reference(on_cpu.logits());
      const auto actual = std::span(gpu_logits[static_cast<std::size_t>(step)])
                              .subspan(static_cast<std::size_t>(sequence) * vocab, vocab);
      // fmax and fmin forget a NaN, so it is looked for.
      const double angle = cosine(actual, expected);
      found.largest_distance = std::fmax(found.largest_distance, relative_distance(actual, expected));
      found.least_cosine = std::isnan(angle) ? -1 : std::fmin(found.least_cosine, angle);
      found.mean_cosine += angle / static_cast<double>(batch * (steps + 1));
    }
  }
  return found;
}

struct agreement_case {
  const char* name;
  model_shape shape;
  friend void PrintTo(const agreement_case& one, std::ostream* out) { *out << one.name; }
};

model_shape with(model_shape shape, const std::function<void(model_shape&)>& change) {
  change(shape);
  return shape;
}

/// Every feature, and widths and groups that no tile divides.
std::vector<agreement_case> agreement_cases() {
  const model_shape base{.architecture = "llama",
                         .vocab_size = 1003,
                         .hidden_size = 200,
                         .intermediate_size = 328,
                         .num_hidden_layers = 2,
                         .num_attention_heads = 4,
                         .num_key_value_heads = 2,
                         .head_dim = 64,
                         .rms_norm_eps = 1e-5,
                         .rope_theta = 10000};
  return {
      {"gqa_64", base},
      {"gqa_7_of_128_with_biases", with(base,
                                        [](model_shape& s) {
                                          s.architecture = "qwen2", s.num_attention_heads = 7,
                                          s.num_key_value_heads = 1, s.head_dim = 128;
                                          s.attention_bias = true;
                                        })},
      {"qk_norm_tied_32", with(base,
                               [](model_shape& s) {
                                 s.architecture = "qwen3", s.head_dim = 32, s.qk_norm = true,
                                 s.tie_word_embeddings = true;
                               })},
      {"as_deep_as_default_shared_memory", with(base, [](model_shape& s) { s.intermediate_size = 12288; })},
      {"one_head_each_128", with(base, [](model_shape& s) { s.num_key_value_heads = 4, s.head_dim = 128; })},
      {"experts", with(base,
                       [](model_shape& s) {
                         s.architecture = "qwen3_moe", s.head_dim = 16, s.qk_norm = true, s.num_experts = 37,
                         s.num_experts_per_tok = 5;
                         s.moe_intermediate_size = 72, s.norm_topk_prob = true;
                       })},
      {"shared_experts", with(base,
                              [](model_shape& s) {
                                s.architecture = "deepseek_v2", s.head_dim = 8, s.num_experts = 8,
                                s.num_experts_per_tok = 3;
                                s.moe_intermediate_size = 48, s.shared_intermediate_size = 96,
                                s.first_dense_layers = 1;
                              })},
  };
}

class cuda_decoder_agrees : public cuda_decoder, public ::testing::WithParamInterface<agreement_case> {};

TEST_P(cuda_decoder_agrees, with_the_cpu_in_float32) {
  const auto& shape = GetParam().shape;
  for (const std::int64_t batch : {1, 3, 20}) {
    for (const std::int64_t length : {1, 5, 150, 1100}) {
      if (length > 1000 && batch > 1) continue;
      SCOPED_TRACE("batch " + std::to_string(batch) + ", length " + std::to_string(length));
      const auto on_gpu = make_on("cuda", shape, {batch, length + 3, length}, "float32");
      const auto on_cpu = make_on("cpu", shape, {1, length + 3, length}, "float32");
      const auto found = compare(on_gpu->engine(), on_cpu->engine(), length, 3, shape);
      EXPECT_LE(found.largest_distance, 1e-4);
      EXPECT_GE(found.least_cosine, 0.9999);
    }
  }
}

TEST_P(cuda_decoder_agrees, with_the_cpu_in_bfloat16) {
  const auto& shape = GetParam().shape;
  for (const std::int64_t batch : {1, 2, 9, 16, 33}) {
    for (const std::int64_t length : {2, 20, 300, 1100}) {
      if (length > 1000 && batch > 2) continue;
      SCOPED_TRACE("batch " + std::to_string(batch) + ", length " + std::to_string(length));
      const auto on_gpu = make_on("cuda", shape, {batch, length + 3, length}, "bfloat16");
      const auto on_cpu = make_on("cpu", shape, {1, length + 3, length}, "float32");
      const auto found = compare(on_gpu->engine(), on_cpu->engine(), length, 3, shape);
      // Random experts have near-ties everywhere; a flipped choice moves the logits of so small a model far.
      EXPECT_GE(found.least_cosine, shape.has_experts() ? 0.5 : 0.998);
      EXPECT_GE(found.mean_cosine, shape.has_experts() ? 0.97 : 0.999);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(shapes, cuda_decoder_agrees, ::testing::ValuesIn(agreement_cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_F(cuda_decoder, takes_long_prompts_in_chunks_and_continues_where_the_cache_ends) {
  auto shape = small_shape();
  shape.head_dim = 64;
  const std::int64_t length = 4500;  // three chunks
  const auto tokens = synthetic_tokens("long", length, shape.vocab_size);
  for (const char* dtype : {"float32", "bfloat16"}) {
    const auto on_gpu = make_on("cuda", shape, {1, length, length}, dtype);
    on_gpu->engine().prefill(tokens);
    const auto at_once = logits_of(on_gpu->engine());
    on_gpu->engine().reset();
    on_gpu->engine().prefill(std::span(tokens).first(1000));
    on_gpu->engine().prefill(std::span(tokens).subspan(1000));
    const double distance = relative_distance(logits_of(on_gpu->engine()), as_reference(at_once));
    EXPECT_LE(distance, std::string(dtype) == "float32" ? 1e-4 : 0.05) << dtype;
  }
}

TEST_F(cuda_decoder, replays_from_a_graph_what_it_launches_without_one) {
  for (const auto& [name, shape] : agreement_cases()) {
    for (const std::int64_t batch : {1, 4, 40}) {
      const auto tokens = prompts(batch, 30, shape.vocab_size);
      std::vector<std::vector<float>> logits;
      std::vector<std::vector<token_id>> choices;
      for (const bool graphs : {false, true}) {
        const auto on_gpu = make_on("cuda", shape, {batch, 40, 30}, "bfloat16", "", graphs);
        on_gpu->engine().prefill(tokens);
        for (int step = 0; step < 8; ++step) on_gpu->engine().decode_step();
        logits.push_back(logits_of(on_gpu->engine()));
        choices.push_back(on_gpu->engine().choices());
      }
      EXPECT_EQ(logits[0], logits[1]) << name << ", batch " << batch;
      EXPECT_EQ(choices[0], choices[1]);
    }
  }
}

TEST_F(cuda_decoder, reproduces_the_checkpoints) {
  for (const char* name : {"llama", "qwen2", "qwen3_moe"}) {
    const std::string directory = reference_dir + "/checkpoints/" + name;
    const auto shape = read_hf_config(directory + "/config.json");
    const auto expected = read_reference(directory + "/reference.json", name, shape.vocab_size);
    for (const char* dtype : {"float32", "bfloat16"}) {
      for (const std::int64_t batch : {1, 5}) {
        const auto on_gpu = make_on("cuda", shape, {batch, 64, 40}, dtype, directory);
        const auto match =
            check_against(on_gpu->engine(), expected, required_agreement(dtype, shape.has_experts()));
        std::printf("%s %s batch %d: distance %.2e, cosine %.6f\n", name, dtype, static_cast<int>(batch),
                    match.distance, match.cosine);
      }
    }
  }
}

/// The shape in conf/model/llm/<name>.yaml, as the workload reads it.
model_shape shipped_shape(const std::string& name) {
  std::ifstream model(PROFGATE_CONF "/model/llm/" + name + ".yaml");
  const std::string path =
      ::testing::TempDir() + "profgate-gpu-" + name + "-" + std::to_string(getpid()) + ".yaml";
  std::ofstream config(path);
  config << "workload: {device: cuda, prompt_tokens: 1, decode_tokens: 1}\nstage1: {repetitions: 1, warmup: "
            "0}\nmodel:\n";
  for (std::string line; std::getline(model, line);) config << "  " << line << "\n";
  config.close();
  const auto shape = *read_workload_config(path).shape;
  std::filesystem::remove(path);
  return shape;
}

void reproduce(const std::string& name, const std::vector<std::int64_t>& batches) {
  const auto shape = shipped_shape(name);
  const auto expected = read_reference(PROFGATE_CONF "/model/llm/reference.json", name, shape.vocab_size);
  const auto prompt = static_cast<std::int64_t>(expected.prompt.size());
  for (const char* dtype : {"float32", "bfloat16"}) {
    for (const std::int64_t batch : batches) {
      const auto on_gpu = make_on("cuda", shape, {batch, prompt + 32, prompt}, dtype);
      const auto match =
          check_against(on_gpu->engine(), expected, required_agreement(dtype, shape.has_experts()));
      std::printf("%s %s batch %d: distance %.2e, cosine %.6f\n", name.c_str(), dtype,
                  static_cast<int>(batch), match.distance, match.cosine);
    }
  }
}

/// Small enough for compute-sanitizer, large enough for tiles, splits and both kinds of thin products.
TEST_F(cuda_decoder, agrees_with_the_cpu_where_work_is_split) {
  auto shape = small_shape();
  shape.head_dim = 64;
  for (const std::int64_t batch : {1, 9}) {
    const auto on_gpu = make_on("cuda", shape, {batch, 303, 300}, "bfloat16");
    const auto on_cpu = make_on("cpu", shape, {1, 303, 300}, "float32");
    EXPECT_GE(compare(on_gpu->engine(), on_cpu->engine(), 300, 3, shape).least_cosine, 0.998)
        << "batch " << batch;
  }
}

/// So little that racecheck gets through it.
TEST_F(cuda_decoder, decodes_a_little_as_the_cpu_does) {
  for (const char* name : {"llama-tiny", "deepseek-moe-tiny"}) {
    const auto shape = shipped_shape(name);
    for (const char* dtype : {"float32", "bfloat16"}) {
      for (const std::int64_t batch : {1, 3}) {
        const auto on_gpu = make_on("cuda", shape, {batch, 16, 12}, dtype);
        const auto on_cpu = make_on("cpu", shape, {1, 16, 12}, "float32");
        const double cosine = compare(on_gpu->engine(), on_cpu->engine(), 12, 2, shape).mean_cosine;
        EXPECT_GE(cosine, 0.97) << name << ", " << dtype << ", batch " << batch;
      }
    }
  }
}

/// Every row of a round: [layer][expert], of the prefill and then of the steps.
std::vector<std::vector<layer_rows>> rows_of_round(decoder& engine, std::span<const token_id> prompt,
                                                   int steps) {
  std::vector<std::vector<layer_rows>> rows;
  engine.reset();
  engine.prefill(prompt);
  engine.finish();
  rows.push_back(engine.take_expert_rows());
  for (int step = 0; step < steps; ++step) engine.decode_step();
  engine.finish();
  rows.push_back(engine.take_expert_rows());
  return rows;
}

TEST_F(cuda_decoder, counts_the_rows_of_experts_as_the_cpu_does_and_only_when_asked) {
  const auto shape = shipped_shape("deepseek-moe-tiny");
  constexpr int steps = 6;
  constexpr std::int64_t length = 150;
  for (const std::int64_t batch : {1, 3}) {
    SCOPED_TRACE(batch);
    const auto on_gpu = make_on("cuda", shape, {batch, length + steps, length}, "float32");
    const auto prompt = prompts(batch, length, shape.vocab_size);
    decoder& engine = on_gpu->engine();
    for (const auto& none : rows_of_round(engine, prompt, steps)) EXPECT_THAT(none, ::testing::IsEmpty());
    const std::vector<token_id> replayed = engine.choices();
    engine.count_expert_rows(true);
    const auto counted = rows_of_round(engine, prompt, steps);
    EXPECT_EQ(engine.choices(), replayed) << "without its graph it does the same";
    engine.count_expert_rows(false);
    for (const auto& none : rows_of_round(engine, prompt, steps)) EXPECT_THAT(none, ::testing::IsEmpty());
    EXPECT_EQ(engine.choices(), replayed);

    std::vector<std::vector<layer_rows>> expected;
    for (std::int64_t sequence = 0; sequence < batch; ++sequence) {
      const auto on_cpu = make_on("cpu", shape, {1, length + steps, length}, "float32");
      const auto rows = rows_of_round(on_cpu->engine(),
                                      std::span(prompt).subspan(static_cast<std::size_t>(sequence * length),
                                                                static_cast<std::size_t>(length)),
                                      steps);
      if (expected.empty()) {
        expected = rows;
        continue;
      }
      for (std::size_t stage = 0; stage < rows.size(); ++stage)
        for (std::size_t layer = 0; layer < rows[stage].size(); ++layer)
          for (std::size_t expert = 0; expert < rows[stage][layer].rows.size(); ++expert)
            expected[stage][layer].rows[expert] += rows[stage][layer].rows[expert];
    }
    ASSERT_EQ(counted.size(), expected.size());
    for (std::size_t stage = 0; stage < counted.size(); ++stage) {
      ASSERT_EQ(counted[stage].size(), expected[stage].size());
      for (std::size_t layer = 0; layer < counted[stage].size(); ++layer) {
        EXPECT_EQ(counted[stage][layer].layer, expected[stage][layer].layer);
        std::int64_t total = 0;
        std::int64_t elsewhere = 0;
        for (std::size_t expert = 0; expert < counted[stage][layer].rows.size(); ++expert) {
          total += counted[stage][layer].rows[expert];
          elsewhere += std::abs(counted[stage][layer].rows[expert] - expected[stage][layer].rows[expert]);
        }
        EXPECT_EQ(total, batch * (stage == 0 ? length : steps) * shape.num_experts_per_tok);
        // A near-tie may go the other way; each such one is missed at one expert and found at another.
        EXPECT_LE(elsewhere, 2 + total / 50) << "layer " << counted[stage][layer].layer;
      }
    }
  }
}

TEST_F(cuda_decoder, reproduces_the_tiny_references) {
  reproduce("llama-tiny", {1, 5});
  reproduce("deepseek-moe-tiny", {1, 5});
}

TEST_F(cuda_decoder, reproduces_the_references_at_full_size) {
  reproduce("llama-3.1-8b", {1, 3});
  reproduce("deepseek-ocr-decoder", {1, 3});
}

TEST_F(cuda_decoder, refuses_what_does_not_fit_before_it_allocates) {
  try {
    make_on("cuda", small_shape(), {64, 200'000'000, 32}, "bfloat16");
    FAIL() << "nothing was thrown";
  } catch (const failure& problem) {
    EXPECT_EQ(problem.code(), exit_code::bad_input);
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("do not fit the"));
  }
}

}  // namespace
}  // namespace profgate::llm
