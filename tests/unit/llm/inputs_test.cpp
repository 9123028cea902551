#include "llm/inputs.h"

#include "support.h"
#include "vision/vision_work.h"

namespace profgate::llm {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* vision_yaml =
    "vision: {sam: {image_size: 1024, patch_size: 64, width: 16, layers: 1, heads: 2, mlp_width: 16, window: "
    "5, global_layers: [], neck_width: 8, compressed_widths: [8, 16]}, clip: {width: 16, layers: 1, heads: "
    "2, mlp_width: 16, position_side: 4}}, ";

/// A config beside a manifest.
class inputs : public ::testing::Test {
 protected:
  workload_config config(const std::string& keys, const std::string& vision = vision_yaml) const {
    return read_workload_config(m_directory.write(
        "config.yaml",
        "workload: {device: cpu, prompt_tokens: 5, decode_tokens: 3" + m_workload +
            "}\nstage1: {repetitions: 1, warmup: 0}\nmodel: {name: m, dtype: float32, weights: synthetic, " +
            vision +
            "shape: {architecture: llama, vocab_size: 512, hidden_size: 64, intermediate_size: 176, "
            "num_hidden_layers: 3, num_attention_heads: 8, rms_norm_eps: 1.0e-5, rope_theta: 1.0e+4}}\n" +
            "inputs: {" + keys + "}\n"));
  }

  run_request request(const std::string& manifest, const std::string& vision = vision_yaml) const {
    return request_of(config("manifest: " + m_directory.write("pages.yaml", manifest), vision));
  }

  void expect_refused(const std::string& words, const std::string& manifest) const {
    expect_bad_input(m_directory.path() + "/" + words, [&] { request(manifest); });
  }

  temporary_directory m_directory;
  std::string m_workload;
};

TEST_F(inputs, without_any_are_the_workloads_tokens) {
  const auto asked = request_of(config("manifest: null, synthetic_image: {width: null}, mode: base"));
  ASSERT_EQ(asked.inputs.size(), 1U);
  EXPECT_FALSE(asked.vision) << "nothing to see, no encoder";
  EXPECT_EQ(asked.prompt_tokens(), 5);
  EXPECT_EQ(prompts_for(asked.inputs[0], 1, 512).size(), 5U);
}

TEST_F(inputs, an_image_stands_behind_the_first_token) {
  const auto asked = request_of(config("synthetic_image: {width: 90, height: 60}, mode: tiny"));
  const auto& input = asked.inputs.at(0);
  ASSERT_TRUE(input.picture);
  EXPECT_EQ(input.picture->rows, 2 * 3 + 1);
  EXPECT_EQ(input.prompt_tokens, 5 + 7);
  const auto text = prompts_for(request_of(config("mode: tiny")).inputs[0], 1, 512);
  const auto prompt = prompts_for(input, 1, 512);
  EXPECT_THAT(prompt, ElementsAre(text[0], 0, 0, 0, 0, 0, 0, 0, text[1], text[2], text[3], text[4]));
  ASSERT_TRUE(asked.vision);
  EXPECT_THAT(asked.vision->image_sizes, ElementsAre(512));
  EXPECT_EQ(asked.vision->most_rows, 7);
  EXPECT_EQ(asked.vision->shape.hidden_size, 64);
}

TEST_F(inputs, of_a_manifest_are_read_with_the_settings_for_what_they_leave_open) {
  m_directory.write("question.txt", "7 8\n9\n");
  m_directory.write("page.ppm", "P6 2 1 255\nabcdef");
  const auto asked = request(
      "- {name: page, image: page.ppm, tokens_file: question.txt, decode_tokens: 9}\n"
      "- {synthetic_image: {seed: 2, width: 1300, height: 650}, mode: gundam}\n"
      "- {name: text, prompt_tokens: 2}\n");
  ASSERT_EQ(asked.inputs.size(), 3U);
  const auto& page = asked.inputs[0];
  EXPECT_EQ(page.request.name, "page");
  EXPECT_EQ(page.picture->mode, vision::vision_mode::base);
  EXPECT_EQ(page.picture->rows, 4 * 5 + 1);
  EXPECT_EQ(page.prompt_tokens, 3 + 21);
  const auto prompt = prompts_for(page, 1, 512);
  EXPECT_EQ(prompt.front(), 7);
  EXPECT_EQ(prompt.back(), 9);
  EXPECT_EQ(asked.inputs[1].request.name, "input-2");
  EXPECT_EQ(asked.inputs[1].picture->layout.grid.tiles(), 2);
  EXPECT_EQ(asked.inputs[1].request.decode_tokens, 3);
  EXPECT_FALSE(asked.inputs[2].picture);
  EXPECT_NE(prompts_for(asked.inputs[2], 1, 512), std::vector<token_id>(2)) << "its own synthetic tokens";
  EXPECT_EQ(asked.decode_tokens(), 9 + 3 + 3);
  EXPECT_THAT(asked.vision->image_sizes, ElementsAre(640, 1024));
  EXPECT_EQ(asked.vision->most_tiles, 2);
  EXPECT_EQ(asked.vision->most_rows, asked.inputs[1].picture->rows);
}

TEST_F(inputs, work_is_that_of_all_with_their_images) {
  const auto both = request("- {name: a, synthetic_image: {width: 9, height: 9}}\n- {name: b}\n");
  const auto text = request("- {name: b}\n");
  const auto image = request("- {name: a, synthetic_image: {width: 9, height: 9}}\n");
  EXPECT_EQ(both.prefill().flops, text.prefill().flops + image.prefill().flops);
  EXPECT_EQ(both.decode().bytes, text.decode().bytes + image.decode().bytes);
  const auto long_text = request("- {name: b, prompt_tokens: 26}\n");
  ASSERT_EQ(long_text.prompt_tokens(), image.prompt_tokens());
  const auto seen = vision::vision_work(image.vision->shape, image.inputs[0].picture->layout, 4);
  EXPECT_EQ(image.prefill().flops, long_text.prefill().flops + seen.flops);
  EXPECT_EQ(image.prefill().bytes, long_text.prefill().bytes + seen.bytes);
  EXPECT_EQ(image.parameters(), text.parameters() + vision::parameter_count(image.vision->shape));
  EXPECT_GT(image.assumptions().size(), text.assumptions().size());
}

TEST_F(inputs, a_bad_manifest_is_refused_by_its_line) {
  expect_refused("pages.yaml:1: not a list of inputs", "inputs: []\n");
  expect_refused("pages.yaml:1: not a list", "");
  expect_refused("pages.yaml:2: input 2 is no map of keys", "- {name: a}\n- page.png\n");
  expect_refused("pages.yaml:3: not YAML", "- {name: a}\n- {name: b\n");
  expect_refused("pages.yaml:3: input 2.imagee is not supported", "- {name: a}\n- name: b\n  imagee: x\n");
  expect_refused("pages.yaml:2: there are two inputs of the name 'a'", "- {name: a}\n- {name: a}\n");
  expect_refused("pages.yaml:1: input 1.name is empty", "- {name: ''}\n");
  expect_refused("pages.yaml:1: no vision mode 'huge'", "- {image: x.png, mode: huge}\n");
  expect_refused("pages.yaml:1: input 1.mode stands without an image", "- {mode: base}\n");
  expect_refused("pages.yaml:1: input 1.prompt_tokens is 0, not between 1 and", "- {prompt_tokens: 0}\n");
  expect_refused("pages.yaml:1: input 1.decode_tokens must be a whole number, not 'many'",
                 "- {decode_tokens: many}\n");
  expect_refused("pages.yaml:1: input 1.decode_tokens must be a whole number, not a list",
                 "- {decode_tokens: [1]}\n");
  expect_refused("pages.yaml:1: input 1.image is no path, but empty", "- {image: ''}\n");
  expect_refused("pages.yaml:1: input 1.tokens_file must be a text, not a map", "- {tokens_file: {a: b}}\n");
  expect_refused("pages.yaml:1: input 1.prompt_tokens stands beside tokens_file",
                 "- {prompt_tokens: 3, tokens_file: t}\n");
  expect_refused("pages.yaml:1: input 1.synthetic_image stands beside image",
                 "- {image: a.png, synthetic_image: {width: 1, height: 1}}\n");
  expect_refused("pages.yaml:1: input 1.synthetic_image.height is missing",
                 "- {synthetic_image: {width: 9}}\n");
  expect_refused("pages.yaml:1: input 1.synthetic_image must be a map with seed, width, height, not '7'",
                 "- {synthetic_image: 7}\n");
  expect_refused("pages.yaml:1: input 1.synthetic_image has more pixels",
                 "- {synthetic_image: {width: 60000, height: 60000}}\n");
  expect_bad_input("/nonexistent.yaml: no such file", [&] { config("manifest: /nonexistent.yaml"); });
}

TEST_F(inputs, a_bad_entry_is_told_what_was_meant) {
  const auto remedy_of = [&](const std::string& manifest) {
    return failure_of([&] { request(manifest); }).remedy();
  };
  EXPECT_EQ(remedy_of("- {promt_tokens: 4}\n"), "did you mean prompt_tokens?");
  EXPECT_EQ(remedy_of("- {synthetic_image: {width: 4, heigth: 5}}\n"), "did you mean height?");
  EXPECT_EQ(
      remedy_of("- {colour: 4}\n"),
      "remove it; there are name, image, synthetic_image, mode, prompt_tokens, tokens_file, decode_tokens");
  EXPECT_EQ(remedy_of("- {synthetic_image: {width: 9}}\n"),
            "set input 1.synthetic_image.height in the manifest");
  EXPECT_FALSE(request("- {image: null, prompt_tokens: 4}\n").vision) << "null counts as absent";
}

TEST_F(inputs, there_are_a_thousand_at_most) {
  std::string manifest;
  for (int i = 0; i < 1000; ++i) manifest += "- {prompt_tokens: 1}\n";
  EXPECT_EQ(request(manifest).inputs.size(), 1000U);
  expect_refused("pages.yaml: has 1001 inputs, at most 1000", manifest + "- {prompt_tokens: 1}\n");
}

TEST_F(inputs, what_a_manifest_names_is_refused_where_it_is_broken) {
  const auto expect_named = [&](const std::string& words, const std::string& manifest) {
    const failure refused = failure_of([&] { request(manifest); });
    EXPECT_EQ(refused.code(), exit_code::bad_input);
    EXPECT_THAT(refused.what(), HasSubstr(m_directory.path() + "/pages.yaml:2: input 'b': "));
    EXPECT_THAT(refused.what(), HasSubstr(words));
    EXPECT_FALSE(refused.remedy().empty());
  };
  m_directory.write("cut.ppm", "P6 20 10 255\nabc");
  m_directory.write("words.txt", "1 2\n3 four\n");
  m_directory.write("large.txt", "511\n512\n");
  m_directory.write("none.txt", " \n");
  expect_named("gone.png", "- {name: a}\n- {name: b, image: gone.png}\n");
  expect_named("cut.ppm", "- {name: a}\n- {name: b, image: cut.ppm}\n");
  expect_named("an image of 9000 x 4 pixels, of which nothing is left in a square of 1024",
               "- {name: a}\n- {name: b, synthetic_image: {width: 9000, height: 4}, mode: base}\n");
  expect_named("words.txt:2: 'four' is no token id from 0 to 511",
               "- {name: a}\n- {name: b, tokens_file: words.txt}\n");
  expect_named("large.txt:2: '512' is no token id", "- {name: a}\n- {name: b, tokens_file: large.txt}\n");
  expect_named("none.txt: holds no token", "- {name: a}\n- {name: b, tokens_file: none.txt}\n");
  expect_named("gone.txt: cannot be read", "- {name: a}\n- {name: b, tokens_file: gone.txt}\n");
}

TEST_F(inputs, an_image_is_refused_where_nothing_can_see_it) {
  const std::string manifest = "- {name: a}\n- {name: b, synthetic_image: {width: 9, height: 9}}\n";
  expect_bad_input("pages.yaml:2: input 'b': the model m has no vision encoder",
                   [&] { request(manifest, ""); });
  EXPECT_EQ(request("- {name: a}\n", "").inputs.size(), 1U) << "text needs none";
}

}  // namespace
}  // namespace profgate::llm
