#include <map>
#include <numeric>
#include <vector>

#include "child_program.h"
#include "llm/json_file.h"
#include "llm/synthetic_weights.h"
#include "llm/thread_pool.h"
#include "support.h"
#include "vision/vision_shape.h"
#include "vision_config.h"

namespace profgate::llm {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;

/// What DeepSeek-OCR's code fixes (patches of 16, windows of 14, a neck of 256) and the least of all else.
vision::vision_shape thin_vision() {
  vision::vision_shape shape;
  shape.sam.image_size = 512;
  shape.sam.width = 8;
  shape.sam.layers = 2;
  shape.sam.heads = 2;
  shape.sam.mlp_width = 32;
  shape.sam.global_layers = {1};
  shape.sam.compressed_widths = {4, 8};
  shape.clip = {.width = 8, .layers = 1, .heads = 2, .mlp_width = 32, .position_side = 16};
  shape.hidden_size = 64;
  return shape;
}

/// A checkpoint as its publisher leaves it, of the formula's weights.
class checkpoint_writer {
 public:
  void add(const std::vector<tensor_spec>& specs) {
    for (const auto& spec : specs) {
      std::vector<float> values(static_cast<std::size_t>(spec.elements()));
      fill_synthetic(spec, values, m_pool);
      const std::size_t begin = m_data.size();
      m_data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
      m_header[spec.name] = {
          {"dtype", "F32"}, {"shape", spec.dims}, {"data_offsets", {begin, m_data.size()}}};
    }
  }
  json& header() { return m_header; }
  void write(const temporary_directory& directory) const {
    directory.write("model.safetensors", safetensors_text(m_header.dump(), m_data));
  }

 private:
  thread_pool m_pool{1};
  json m_header;
  std::string m_data;
};

json published_config() {
  json vision = vision_config();
  vision["width"]["clip-l-14-224"].update({{"image_size", 224}, {"patch_size", 14}});
  return {{"language_config",
           {{"model_type", "llama"},
            {"vocab_size", 512},
            {"hidden_size", 64},
            {"intermediate_size", 176},
            {"num_hidden_layers", 3},
            {"num_attention_heads", 8},
            {"num_key_value_heads", 2},
            {"head_dim", 8},
            {"rms_norm_eps", 1e-5},
            {"rope_theta", 10000.0}}},
          {"vision_config", vision}};
}

constexpr const char* synthetic_model =
    "{name: m, dtype: float32, weights: synthetic, vision: {sam: {image_size: 512, patch_size: 16, width: 8, "
    "layers: 2, heads: 2, mlp_width: 32, window: 14, global_layers: ['1'], neck_width: 256, "
    "compressed_widths: ['4', '8']}, clip: {width: 8, layers: 1, heads: 2, mlp_width: 32, position_side: "
    "16}}, shape: {architecture: llama, vocab_size: 512, hidden_size: 64, intermediate_size: 176, "
    "num_hidden_layers: 3, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 8, rms_norm_eps: "
    "1.0e-5, rope_theta: 1.0e+4}}";

class images : public ::testing::Test {
 protected:
  finished_program run(const std::string& model, const std::string& inputs, const std::string& mode,
                       const std::map<std::string, std::string>& environment = {}) const {
    const std::string config =
        m_directory.write("config.yaml",
                          "workload: {device: cpu, prompt_tokens: 4, decode_tokens: 3, threads: 2}\n"
                          "stage1: {repetitions: 2, warmup: 0, ceilings: false}\nmodel: " +
                              model + "\ninputs: {" + inputs + "}\n");
    return run_program(m_directory.path(),
                       {PROFGATE_LLM_PROGRAM, "--config", config, "--mode", mode, "--result", result_path()},
                       environment);
  }
  std::string checkpoint_model() const {
    return "{name: m, dtype: float32, weights: checkpoint, checkpoint: " + m_directory.path() + "}";
  }
  std::string result_path() const { return m_directory.file("result.json"); }
  json result() const { return read_json_file(result_path()); }

  temporary_directory m_directory;
};

TEST_F(images, are_seen_inside_of_the_prefill) {
  const std::string record = m_directory.file("ranges.txt");
  const auto finished =
      run(synthetic_model, "synthetic_image: {width: 30, height: 20}, mode: tiny", "profile",
          {{"NVTX_INJECTION64_PATH", PROFGATE_RANGE_RECORDER}, {"RANGE_RECORD", record}});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  std::map<std::string, int> opened;
  std::istringstream lines(read_text(record));
  for (std::string line; std::getline(lines, line);) ++opened[line];
  EXPECT_EQ(opened["1 LLM:prefill"], 1);
  for (const char* part : {"preprocess", "sam", "compress", "clip"})
    EXPECT_EQ(opened["2 LLM:vision." + std::string(part)], 1) << part;
  EXPECT_EQ(opened["2 LLM:vision.project"], 2) << "the projector, and the rows' assembly";
  EXPECT_EQ(opened["3 LLM:sam.attn.core"] + opened["3 LLM:clip.attn.core"], 3);
  EXPECT_EQ(opened["3 LLM:attn.core"], 3 * 3) << "those of decode steps";
  EXPECT_EQ(opened["2 LLM:attn.core"], 3) << "the prompt's";
}

TEST_F(images, are_timed_as_a_part_of_the_prefill) {
  const auto finished = run(synthetic_model, "synthetic_image: {width: 30, height: 20}, mode: tiny", "bench");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const json found = result();
  constexpr int rows = 8 * 9 + 1;
  EXPECT_EQ(found.at("tokens").at("prompt"), 4 + rows);
  ASSERT_EQ(found.at("samples_ns").at("vision").size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(found.at("samples_ns").at("vision")[i], 0);
    EXPECT_LT(found.at("samples_ns").at("vision")[i], found.at("samples_ns").at("prefill")[i]);
  }
  EXPECT_EQ(found.at("model").at("dims").at("vision_sam_width"), 8);
  EXPECT_EQ(found.at("inputs").size(), 1U);
  EXPECT_EQ(found.at("inputs")[0].at("tokens"), (json{{"prompt", 4 + rows}, {"decode", 3}, {"image", rows}}));
  EXPECT_EQ(found.at("inputs")[0].at("image"),
            (json{{"width", 30}, {"height", 20}, {"mode", "tiny"}, {"tiles", 0}}));

  ASSERT_EQ(run(synthetic_model, "synthetic_image: {seed: 2, width: 30, height: 20}, mode: tiny", "bench")
                .exit_code,
            0);
  EXPECT_NE(result().at("logits_hash"), found.at("logits_hash")) << "another image";
}

TEST_F(images, and_texts_of_a_manifest_run_one_after_the_other) {
  m_directory.write("pages.yaml",
                    "- {name: page, synthetic_image: {width: 30, height: 20}, mode: tiny}\n"
                    "- {name: text, prompt_tokens: 6, decode_tokens: 2}\n");
  const std::string manifest = "manifest: " + m_directory.file("pages.yaml");
  const auto finished = run(synthetic_model, manifest, "bench");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const json found = result();
  const json& page = found.at("inputs").at(0);
  const json& text = found.at("inputs").at(1);
  EXPECT_EQ(page.at("name"), "page");
  EXPECT_EQ(text.at("tokens"), (json{{"prompt", 6}, {"decode", 2}}));
  EXPECT_FALSE(text.at("samples_ns").contains("vision"));
  for (const char* stage : {"prefill", "decode_all"})
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(found.at("samples_ns").at(stage)[i].get<std::int64_t>(),
                page.at("samples_ns").at(stage)[i].get<std::int64_t>() +
                    text.at("samples_ns").at(stage)[i].get<std::int64_t>());
  EXPECT_EQ(found.at("samples_ns").at("vision"), page.at("samples_ns").at("vision"));
  EXPECT_EQ(found.at("tokens").at("decode"), 3 + 2);
  EXPECT_EQ(found.at("decode_step_ns").size(), 2U * (3 + 2));
  EXPECT_EQ(found.at("greedy").size(), (1U + 3) + (1 + 2));
  EXPECT_NE(page.at("logits_hash"), text.at("logits_hash"));
}

TEST_F(images, that_are_broken_end_it_before_anything_is_loaded) {
  m_directory.write("page.ppm", "P6 9 9 255\nabc");
  m_directory.write("pages.yaml", "- {name: page, image: page.ppm}\n");
  const auto finished = run(synthetic_model, "manifest: " + m_directory.file("pages.yaml"), "bench");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("pages.yaml:1: input 'page': " + m_directory.file("page.ppm")));
  EXPECT_THAT(finished.err, HasSubstr("to fix it: "));
  EXPECT_EQ(finished.out, "");
}

TEST_F(images, are_seen_with_a_checkpoints_weights) {
  checkpoint_writer weights;
  weights.add(tensors_of(llama_tiny_shape()));
  weights.add(vision::tensors_of(thin_vision()));
  weights.write(m_directory);
  m_directory.write("config.json", published_config().dump());
  const std::string inputs = "synthetic_image: {width: 30, height: 20}, mode: tiny";
  const auto finished = run(checkpoint_model(), inputs, "profile");
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const json loaded = result();
  ASSERT_EQ(run(synthetic_model, inputs, "profile").exit_code, 0);
  EXPECT_EQ(result().at("logits_hash"), loaded.at("logits_hash")) << "the same weights by formula";
  EXPECT_EQ(result().at("work"), loaded.at("work"));

  const std::string missing = "model.projector.layers.bias";
  weights.header().erase(missing);
  weights.write(m_directory);
  const auto incomplete = run(checkpoint_model(), inputs, "profile");
  EXPECT_EQ(incomplete.exit_code, 2);
  EXPECT_THAT(incomplete.err, HasSubstr("tensor '" + missing + "' is missing"));
  EXPECT_EQ(run(checkpoint_model(), "mode: tiny", "profile").exit_code, 0) << "text needs no encoder";
}

TEST_F(images, need_tensors_of_the_right_shape) {
  checkpoint_writer weights;
  weights.add(tensors_of(llama_tiny_shape()));
  weights.add(vision::tensors_of(thin_vision()));
  weights.header()["model.sam_model.net_2.weight"]["shape"] = {4, 256, 9};
  weights.write(m_directory);
  m_directory.write("config.json", published_config().dump());
  const auto finished =
      run(checkpoint_model(), "synthetic_image: {width: 30, height: 20}, mode: tiny", "profile");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("tensor 'model.sam_model.net_2.weight' has the shape [4, 256, 9], "
                                      "config.json asks for [4, 256, 3, 3]"));
}

TEST_F(images, need_a_vision_encoder_that_is_known) {
  checkpoint_writer weights;
  weights.add(tensors_of(llama_tiny_shape()));
  weights.write(m_directory);
  json config = published_config();
  config["vision_config"]["width"].erase("clip-l-14-224");
  m_directory.write("config.json", config.dump());
  const std::string inputs = "synthetic_image: {width: 30, height: 20}, mode: tiny";
  const auto other = run(checkpoint_model(), inputs, "profile");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("vision_config: clip-l-14-224 is missing"));
  config.erase("vision_config");
  m_directory.write("config.json", config.dump());
  const auto none = run(checkpoint_model(), inputs, "profile");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("the model m has no vision encoder for the image"));
}

}  // namespace
}  // namespace profgate::llm
