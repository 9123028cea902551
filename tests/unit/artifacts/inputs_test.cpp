#include "artifacts/inputs.h"

#include <gmock/gmock.h>

#include "artifacts/sha256.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class inputs : public folder_test {};

const std::string header = std::string("\x04\0\0\0\0\0\0\0", 8) + "{  }";

TEST_F(inputs, hashes_a_checkpoint_by_header_and_size_and_the_rest_as_a_whole) {
  put(folder() / "config.json", "{}");
  put(folder() / "model.safetensors", header + "weights");
  const auto files = describe_inputs(folder(), false);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].sha256, sha256_hex("{}"));
  EXPECT_EQ(files[0].scope, hash_scope::whole_file);
  EXPECT_EQ(files[1].size_bytes, 19U);
  EXPECT_EQ(files[1].sha256, sha256_hex(header + "19"));
  EXPECT_EQ(files[1].scope, hash_scope::header_and_size);
  EXPECT_EQ(describe_input(folder() / "model.safetensors", true).sha256, sha256_hex(header + "weights"));
}

TEST_F(inputs, samples_other_large_files) {
  put(folder() / "big.bin", std::string((16 << 20) + 1, 'x'));
  const input_file file = describe_input(folder() / "big.bin", false);
  EXPECT_EQ(file.scope, hash_scope::header_and_size);
  EXPECT_EQ(file.sha256, sha256_hex(std::string(1 << 20, 'x') + "16777217"));
}

TEST_F(inputs, refuses_a_checkpoint_with_an_absurd_or_cut_header) {
  for (const std::string& contents :
       {std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10), std::string("abc"), std::string(),
        header.substr(0, 10), std::string(8, '\0')}) {
    put(folder() / "a.safetensors", contents);
    EXPECT_THAT(
        error_of([&] { describe_input(folder() / "a.safetensors", false); }),
        AllOf(StartsWith("2: "), HasSubstr("no whole safetensors file"), HasSubstr("fetch it again")));
  }
}

TEST_F(inputs, says_which_file_is_missing) {
  EXPECT_THAT(error_of([&] { describe_inputs(folder() / "none", false); }),
              AllOf(StartsWith("2: "), HasSubstr("none")));
}

TEST(inputs_yaml, quotes_hostile_text_and_gives_reasons_for_nulls) {
  run_inputs given;
  given.model = "a: \"b\"\n\\ # c";
  given.model_variant = "8B";
  given.weights = "checkpoint";
  given.files = {{"/m/x.safetensors", 19, "abc", hash_scope::header_and_size}};
  given.prompt_tag = "prompt";
  given.prompt_tokens = 32;
  EXPECT_EQ(inputs_yaml(given),
            "schema_version: \"1.0\"\n"
            "model: \"a: \\\"b\\\"\\x0A\\\\ # c\"\n"
            "variant: \"8B\"\n"
            "weights: \"checkpoint\"\n"
            "files:\n"
            "  - path: \"/m/x.safetensors\"\n"
            "    size_bytes: 19\n"
            "    sha256: \"abc\"\n"
            "    sha256_over: \"header and size\"\n"
            "prompt_tag: \"prompt\"\n"
            "prompt_tokens: 32\n"
            "decode_tokens: null\n"
            "batch: null\n"
            "not_measured:\n"
            "  decode_tokens: \"the workload's configuration does not give it\"\n"
            "  batch: \"the workload's configuration does not give it\"\n");
}

TEST(inputs_yaml, tells_of_an_image_made_by_formula_and_of_a_manifest_s_tokens) {
  run_inputs given;
  given.synthetic_image = "20 x 30, seed 1";
  given.image_mode = "tiny";
  given.tokens_absent_reason = "the manifest has those of each input";
  EXPECT_THAT(inputs_yaml(given),
              AllOf(HasSubstr("synthetic_image: \"20 x 30, seed 1\"\nimage_mode: \"tiny\"\n"),
                    HasSubstr("  prompt_tokens: \"the manifest has those of each input\"\n")));
}

}  // namespace
}  // namespace profgate::artifacts
