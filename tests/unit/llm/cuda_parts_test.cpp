// What the CUDA engine decides without a GPU: what it refuses.
#include "cuda/cuda_limits.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

constexpr std::int64_t hopper_shared_bytes = 226 * 1024;

void expect_unsupported(const std::string& words, void (*change)(model_shape&)) {
  model_shape shape = llama_tiny_shape();
  change(shape);
  expect_bad_input(words, [&] { cuda::require_supported(shape, hopper_shared_bytes); });
}

TEST(cuda_limits, names_the_field_that_has_no_code) {
  cuda::require_supported(llama_tiny_shape(), hopper_shared_bytes);
  expect_unsupported("model.shape.head_dim is 80; the CUDA engine needs 8, 16, 32, 64 or 128",
                     [](model_shape& s) { s.head_dim = 80; });
  expect_unsupported("model.shape.hidden_size is 60; the CUDA engine needs a multiple of 8",
                     [](model_shape& s) { s.hidden_size = 60; });
  expect_unsupported(
      "model.shape.intermediate_size is 131072; the CUDA engine needs at most 57856 on this GPU",
      [](model_shape& s) { s.intermediate_size = 131072; });
  expect_unsupported("model.shape.num_experts is 2048", [](model_shape& s) { s.num_experts = 2048; });
  expect_unsupported("model.shape.num_experts_per_tok is 40",
                     [](model_shape& s) { s.num_experts_per_tok = 40; });
  expect_unsupported("model.shape.moe_intermediate_size is 44",
                     [](model_shape& s) { s.moe_intermediate_size = 44; });
}

void expect_unsupported_vision(const std::string& words, void (*change)(vision::vision_need&)) {
  vision::vision_need need;
  need.image_sizes = {1024, 640};
  change(need);
  expect_bad_input(words, [&] { cuda::require_supported(need); });
}

TEST(cuda_limits, names_the_field_of_a_vision_encoder_that_has_no_code) {
  vision::vision_need published;
  published.image_sizes = {512, 640, 1024, 1280};
  cuda::require_supported(published);
  expect_unsupported_vision("model.vision.sam.mlp_width is 3070; the CUDA engine needs a multiple of 8",
                            [](vision::vision_need& n) { n.shape.sam.mlp_width = 3070; });
  expect_unsupported_vision(
      "model.vision.clip.width / clip.heads is 256; the CUDA engine needs a multiple of 8, at most 128",
      [](vision::vision_need& n) { n.shape.clip.heads = 4; });
  expect_unsupported_vision("model.vision.sam.width / sam.heads is 4",
                            [](vision::vision_need& n) { n.shape.sam.heads = 192; });
  expect_unsupported_vision("sam.width is no multiple of sam.heads",
                            [](vision::vision_need& n) { n.shape.sam.heads = 7; });
  expect_unsupported_vision("an image of 1000 pixels a side",
                            [](vision::vision_need& n) { n.image_sizes.push_back(1000); });
  expect_unsupported_vision("no size of images", [](vision::vision_need& n) { n.image_sizes.clear(); });
}

TEST(cuda_limits, says_the_sum_of_what_does_not_fit) {
  const cuda::memory_need need{16'000'000'000, 4'500'000'000, 300'000'000};
  cuda::require_room(need, 20'800'000'000);
  expect_bad_input(
      "weights 16.00 GB + KV cache 4.50 GB + activations 0.30 GB = 20.80 GB do not fit the 20.70 GB that are "
      "free",
      [&] { cuda::require_room(need, 20'700'000'000); });
}

}  // namespace
}  // namespace profgate::llm
