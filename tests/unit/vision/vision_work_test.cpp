#include "vision/vision_work.h"

#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

/// Small enough to count by hand: images of 8 pixels in patches of 2.
vision_shape by_hand() {
  vision_shape shape;
  shape.sam = {.image_size = 8,
               .patch_size = 2,
               .width = 4,
               .layers = 2,
               .heads = 2,
               .mlp_width = 5,
               .window = 3,
               .global_layers = {1},
               .neck_width = 3,
               .compressed_widths = {6, 8}};
  shape.clip = {.width = 8, .layers = 1, .heads = 2, .mlp_width = 7, .position_side = 1};
  shape.hidden_size = 10;
  return shape;
}

// 16 patches of 3 x 2 x 2 values, 48 multiply-adds each. A layer's products: qkv 4 x 12, out 4 x 4, MLP twice
// 4 x 5: 104. Attention, twice 4 for each position seen: 9 in a window, 16 in the global layer. Relative
// positions, 4 for each row and each column: 6 and 8 of them.
constexpr std::int64_t sam_by_hand = 16 * (48 + (104 + 8 * 9 + 4 * 6) + (104 + 8 * 16 + 4 * 8));
// 1x1 to 3 channels and 3x3 on 16 places, 3x3 to 6 on 4, 3x3 to 8 on 1.
constexpr std::int64_t compressor_by_hand = 16 * (4 * 3 + 9 * 3 * 3) + 4 * 9 * 3 * 6 + 9 * 6 * 8;
// The class token and one feature: qkv 8 x 24, out 8 x 8, MLP twice 8 x 7; twice 8 for each of the two
// tokens.
constexpr std::int64_t clip_by_hand = 2 * (8 * 24 + 8 * 8 + 2 * 8 * 7 + 16 * 2);
constexpr std::int64_t projector_by_hand = 16 * 10;

constexpr std::int64_t sam_weights_by_hand = 4 * 4 * 4 + (48 + 4) +  // positions, patches
                                             2 * (4 * 4 + 48 + 12 + 16 + 4 + 20 + 5 + 20 + 4) +  // two layers
                                             (2 * 5 * 2) + (2 * 7 * 2) +   // relative positions
                                             12 + 6 + 81 + 6 + 162 + 432;  // neck and compressor
constexpr std::int64_t clip_weights_by_hand = 8 + 2 * 8 + 16 + (192 + 24 + 64 + 8 + 56 + 7 + 56 + 8 + 32);
constexpr std::int64_t weights_by_hand = sam_weights_by_hand + clip_weights_by_hand + 160 + 10;

TEST(vision_work, one_view_by_hand) {
  EXPECT_EQ(parameter_count(by_hand()), weights_by_hand);
  const auto counted = vision_work(by_hand(), {.global_size = 8, .tile_size = 0, .grid = {}}, 4);
  EXPECT_EQ(counted.flops, 2 * (sam_by_hand + compressor_by_hand + clip_by_hand + projector_by_hand));
  EXPECT_EQ(counted.bytes, 4 * (weights_by_hand + 3 * 8 * 8 + 10));
}

TEST(vision_work, tiles_share_their_weights) {
  const auto one = vision_work(by_hand(), {8, 0, {}}, 2);
  const auto tiled = vision_work(by_hand(), {8, 8, {3, 2}}, 2);
  EXPECT_EQ(tiled.flops, 7 * one.flops);
  EXPECT_EQ(tiled.bytes, 2 * (2 * weights_by_hand + 7 * (3 * 8 * 8 + 10)));
}

TEST(vision_work, of_the_published_size) {
  // SAM and CLIP as PyTorch counts them, without CLIP's patch embedding; the projector.
  EXPECT_EQ(parameter_count(vision_shape{}), 95569152 + 303177728 - 1024 * 3 * 14 * 14 + 2048 * 1280 + 1280);
  const auto base = vision_work(vision_shape{}, layout_of(vision_mode::base, 1, 1), 2);
  EXPECT_NEAR(static_cast<double>(base.flops), 1.15e12, 0.05e12);
}

TEST(vision_work, says_how_it_was_counted) {
  EXPECT_THAT(vision_work_assumptions(2), ::testing::Contains(::testing::HasSubstr("weight of 2 bytes")));
}

}  // namespace
}  // namespace profgate::llm::vision
