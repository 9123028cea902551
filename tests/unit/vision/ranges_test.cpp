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

  const auto layers_of = [](const std::string& part, int layers) {
    std::string opened = "1 LLM:" + part + ".embed\n";
    for (int i = 0; i < layers; ++i)
      for (const char* name : {"attn.norm", "attn.qkv", "attn.core", "attn.out", "mlp.norm", "mlp.gate_up",
                               "mlp.act", "mlp.down"})
        opened += "1 LLM:" + part + "." + name + "\n";
    return opened;
  };
  std::string expected = "0 LLM:vision.preprocess\n0 LLM:vision.sam\n" + layers_of("sam", 3) +
                         "0 LLM:vision.compress\n0 LLM:vision.clip\n" + layers_of("clip", 2);
  expected += "0 LLM:vision.project\n";
  EXPECT_EQ(llm::testing_support::read_text(folder.file("ranges")), expected);
}

}  // namespace
}  // namespace profgate::llm::vision
