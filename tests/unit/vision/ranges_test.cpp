#include <cstdlib>
#include <filesystem>
#include <memory>

#include "../llm/child_program.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/image.h"
#include "vision/preprocess.h"
#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using namespace testing_support;

constexpr const char* is_recorded = "PROFGATE_TEST_IS_RECORDED";

/// This test starts itself again, under a tool that writes ranges down.
TEST(vision_ranges, name_the_parts_and_their_operators) {
  if (std::getenv(is_recorded) != nullptr) {
    thread_pool pool(2);
    stage_ranges ranges("LLM");
    const auto weights = load_weights(small_shape(), std::make_unique<synthetic_source>(pool));
    const std::int64_t sizes[] = {24};
    cpu_vision_encoder encoder(small_shape(), weights, sizes, pool, ranges);
    encoder.encode(synthetic_pixels(24), 24);  // as a warm-up: unseen
    ranges.enable(true);
    preprocess(synthetic_image(1, 30, 20), vision_mode::tiny, pool, ranges);
    encoder.encode(synthetic_pixels(24), 24);
    return;
  }
  const llm::testing_support::temporary_directory folder;
  const auto finished =
      llm::testing_support::run_program(folder.path(),
                                        {std::filesystem::read_symlink("/proc/self/exe").string(),
                                         "--gtest_filter=vision_ranges.name_the_parts_and_their_operators"},
                                        {{is_recorded, "1"},
                                         {"NVTX_INJECTION64_PATH", PROFGATE_RANGE_RECORDER},
                                         {"RANGE_RECORD", folder.file("ranges")}});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;

  std::string expected = "0 LLM:vision.preprocess\n0 LLM:vision.sam\n1 LLM:embed\n";
  const std::string layer =
      "1 LLM:attn.norm\n1 LLM:attn.qkv\n1 LLM:attn.core\n1 LLM:attn.out\n"
      "1 LLM:mlp.norm\n1 LLM:mlp.gate_up\n1 LLM:mlp.act\n1 LLM:mlp.down\n";
  for (int i = 0; i < 3; ++i) expected += layer;
  expected += "0 LLM:vision.compress\n0 LLM:vision.clip\n1 LLM:embed\n";
  for (int i = 0; i < 2; ++i) expected += layer;
  expected += "0 LLM:vision.project\n";
  EXPECT_EQ(llm::testing_support::read_text(folder.file("ranges")), expected);
}

}  // namespace
}  // namespace profgate::llm::vision
