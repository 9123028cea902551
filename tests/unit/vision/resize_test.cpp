#include "vision/resize.h"

#include <cmath>

#include "llm/fnv1a.h"
#include "vision/preprocess.h"
#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using llm::testing_support::expect_bad_input;

// All checksums here are of Pillow's output (9.4), printed by record_with_pillow.py.

std::uint64_t checksum(const std::vector<std::uint8_t>& bytes) {
  return fnv1a_64(std::as_bytes(std::span(bytes)));
}

struct resized_case {
  std::int64_t width, height, to_width, to_height;
  std::uint64_t checksum;
};

constexpr resized_case resized_cases[] = {
    {37, 23, 64, 64, 0x02053CC4D788F92FU},   {200, 150, 31, 17, 0x7135E93C01ACF7A1U},
    {100, 50, 100, 20, 0xCCD8A7DD581B3E62U}, {50, 100, 20, 100, 0xD3CDEC02B117B628U},
    {1, 1, 7, 5, 0x92EE77C588994C7EU},       {301, 7, 3, 40, 0x67F5A30788711ABFU},
    {64, 64, 65, 63, 0xB7ABFB6923230569U},
};

constexpr resized_case padded_cases[] = {
    {90, 60, 64, 64, 0x192BDF53C3352F83U}, {61, 90, 64, 64, 0x27BC91F7B5CB94A2U},
    {33, 33, 50, 50, 0xD1F658E2EDB16E03U}, {300, 3, 64, 64, 0x831A06C528C4B852U},
    {64, 64, 64, 64, 0xDF3F6203962C5311U}, {129, 64, 64, 64, 0x04FFA44A181AD7E8U},
    {64, 67, 65, 65, 0x1550456B672EC7A6U},
};

TEST(resize, equals_pillow) {
  thread_pool pool(2);
  for (const auto& [width, height, to_width, to_height, expected] : resized_cases) {
    const auto resized = resize(synthetic_image(1, width, height), to_width, to_height, pool);
    EXPECT_EQ(resized.width, to_width);
    EXPECT_EQ(resized.height, to_height);
    EXPECT_EQ(checksum(resized.rgb), expected) << width << " x " << height;
  }
}

TEST(fit_into_square, equals_pillow) {
  thread_pool pool(2);
  for (const auto& [width, height, side, height_too, expected] : padded_cases) {
    const auto padded = fit_into_square(synthetic_image(2, width, height), side, pool);
    EXPECT_EQ(padded.width, side);
    EXPECT_EQ(padded.height, height_too);
    EXPECT_EQ(checksum(padded.rgb), expected) << width << " x " << height;
  }
}

TEST(fit_into_square, refuses_what_would_vanish) {
  thread_pool pool(1);
  expect_bad_input("nothing is left in a square of 64",
                   [&] { fit_into_square(synthetic_image(2, 1000, 3), 64, pool); });
}

/// A view's checksum as of the bytes that it was made from, which tells of the normalisation, too.
std::uint64_t view_checksum(const std::vector<float>& pixels, std::size_t side) {
  std::vector<std::uint8_t> bytes(pixels.size());
  EXPECT_EQ(pixels.size(), 3 * side * side);
  double farthest = 0;  // from a byte
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const double value = (pixels[i] * 0.5 + 0.5) * 255.0;
    farthest = std::max(farthest, std::abs(value - std::round(value)));
    bytes[i % (side * side) * 3 + i / (side * side)] = static_cast<std::uint8_t>(std::lround(value));
  }
  EXPECT_LT(farthest, 1e-4);
  return checksum(bytes);
}

TEST(preprocess, equals_pillow) {
  thread_pool pool(2);
  const stage_ranges ranges("test");
  const auto page = synthetic_image(3, 700, 500);
  const auto tiny = preprocess(page, vision_mode::tiny, pool, ranges);
  EXPECT_EQ(view_checksum(tiny.global, 512), 0xD7EF36F57EFF74F3U);
  EXPECT_TRUE(tiny.tiles.empty());
  const auto gundam = preprocess(page, vision_mode::gundam, pool, ranges);
  EXPECT_EQ(view_checksum(gundam.global, 1024), 0xFE24CC435F0090AFU);
  EXPECT_EQ(gundam.layout.grid.columns, 3);
  EXPECT_EQ(gundam.layout.grid.rows, 2);
  constexpr std::uint64_t tiles[] = {0x4F4771AD40AF8A27U, 0xCD15CCFB73D91F9AU, 0x1D2DCB2C988AE6D8U,
                                     0x67570B56179A4B60U, 0x289B9CF56841FEFAU, 0xD4380BE7E4967F91U};
  ASSERT_EQ(gundam.tiles.size(), std::size(tiles));
  for (std::size_t i = 0; i < std::size(tiles); ++i)
    EXPECT_EQ(view_checksum(gundam.tiles[i], 640), tiles[i]) << i;
}

TEST(preprocess, small_images_get_no_tiles) {
  thread_pool pool(2);
  const stage_ranges ranges("test");
  const auto small = preprocess(synthetic_image(4, 640, 33), vision_mode::gundam, pool, ranges);
  EXPECT_TRUE(small.tiles.empty());
  EXPECT_EQ(small.global, preprocess(synthetic_image(4, 640, 33), vision_mode::base, pool, ranges).global);
  EXPECT_EQ(layout_of(vision_mode::gundam, 640, 640).grid.tiles(), 0);
  EXPECT_EQ(layout_of(vision_mode::gundam, 641, 640).grid.tiles(), 4);
}

TEST(choose_grid, as_published) {
  std::vector<std::uint8_t> chosen;
  for (std::int64_t width = 1; width < 4000; width += 37) {
    for (std::int64_t height = 1; height < 4000; height += 41) {
      const auto grid = choose_grid(width, height);
      chosen.push_back(static_cast<std::uint8_t>(grid.columns));
      chosen.push_back(static_cast<std::uint8_t>(grid.rows));
    }
  }
  EXPECT_EQ(checksum(chosen), 0x43A608A7DF3522ABU);
}

TEST(choose_grid, of_equal_proportions_the_one_that_the_image_fills) {
  const auto grid = [](std::int64_t width, std::int64_t height) {
    const auto chosen = choose_grid(width, height);
    return std::pair(chosen.columns, chosen.rows);
  };
  EXPECT_EQ(grid(900, 900), std::pair(2L, 2L));  // 3 x 3 wants more than 0.5 * 640^2 * 9 pixels
  EXPECT_EQ(grid(1357, 1357), std::pair(2L, 2L));
  EXPECT_EQ(grid(1358, 1358), std::pair(3L, 3L));
  EXPECT_EQ(grid(5000, 100), std::pair(9L, 1L));
  EXPECT_EQ(grid(1000, 4000), std::pair(1L, 4L));
}

TEST(token_count, of_the_published_modes) {
  const vision_shape shape;
  const auto tokens = [&](vision_mode mode, std::int64_t width, std::int64_t height) {
    return token_count(shape, layout_of(mode, width, height));
  };
  EXPECT_EQ(tokens(vision_mode::tiny, 5, 5), 73);
  EXPECT_EQ(tokens(vision_mode::small, 2000, 2000), 111);
  EXPECT_EQ(tokens(vision_mode::base, 2000, 2000), 273);
  EXPECT_EQ(tokens(vision_mode::large, 2000, 2000), 421);
  EXPECT_EQ(tokens(vision_mode::gundam, 640, 640), 273);
  EXPECT_EQ(tokens(vision_mode::gundam, 700, 500), 2 * 10 * (3 * 10 + 1) + 273);
}

TEST(vision_mode, has_a_name) {
  for (const auto mode :
       {vision_mode::tiny, vision_mode::small, vision_mode::base, vision_mode::large, vision_mode::gundam})
    EXPECT_EQ(vision_mode_of(text_of(mode)), mode);
  expect_bad_input("no vision mode 'huge'", [] { vision_mode_of("huge"); });
  EXPECT_EQ(image_sizes_of(vision_mode::gundam), (std::vector<std::int64_t>{1024, 640}));
  EXPECT_EQ(image_sizes_of(vision_mode::large), std::vector<std::int64_t>{1280});
}

}  // namespace
}  // namespace profgate::llm::vision
