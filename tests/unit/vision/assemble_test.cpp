#include "vision/assemble.h"

#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using llm::testing_support::expect_bad_input;

/// Patches of 1: a square of 8 pixels has 2 x 2 features, one of 16 has 4 x 4. Features are 2 wide.
vision_shape shape_of_few() {
  vision_shape shape;
  shape.sam.patch_size = 1;
  shape.hidden_size = 2;
  return shape;
}

constexpr float newline[] = {-1, -1};
constexpr float separator[] = {-2, -2};

/// side x side features: feature i is (first + i, first + i).
std::vector<float> numbered(int first, int side) {
  std::vector<float> features;
  for (int i = 0; i < side * side; ++i) features.insert(features.end(), 2, static_cast<float>(first + i));
  return features;
}

/// The first number of each row.
std::vector<float> firsts(const std::vector<float>& rows) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    numbers.push_back(rows[i]);
    EXPECT_EQ(rows[i], rows[i + 1]);
  }
  return numbers;
}

TEST(assemble, a_newline_after_each_row_and_a_separator) {
  const view_layout layout{.global_size = 8, .tile_size = 0, .grid = {}};
  EXPECT_EQ(firsts(assemble(shape_of_few(), layout, {{}, numbered(10, 2)}, newline, separator)),
            (std::vector<float>{10, 11, -1, 12, 13, -1, -2}));
}

TEST(assemble, tiles_are_one_picture_before_the_global_view) {
  const view_layout layout{.global_size = 16, .tile_size = 8, .grid = {.columns = 3, .rows = 2}};
  view_features features{{}, numbered(0, 4)};
  for (int tile = 1; tile <= 6; ++tile) features.tiles.push_back(numbered(100 * tile, 2));
  const auto rows = assemble(shape_of_few(), layout, features, newline, separator);
  EXPECT_EQ(firsts(rows), (std::vector<float>{100, 101, 200, 201, 300, 301, -1,  //
                                              102, 103, 202, 203, 302, 303, -1,  //
                                              400, 401, 500, 501, 600, 601, -1,  //
                                              402, 403, 502, 503, 602, 603, -1,  //
                                              0,   1,   2,   3,   -1,            //
                                              4,   5,   6,   7,   -1,            //
                                              8,   9,   10,  11,  -1,            //
                                              12,  13,  14,  15,  -1,  -2}));
  EXPECT_EQ(rows.size() / 2, static_cast<std::size_t>(token_count(shape_of_few(), layout)));
}

TEST(assemble, refuses_features_of_another_layout) {
  const auto with = [](const view_layout& layout, const view_features& features) {
    return [=] { assemble(shape_of_few(), layout, features, newline, separator); };
  };
  const view_layout tiled{16, 8, {2, 1}};
  expect_bad_input("1 tiles of a grid of 2 x 1", with(tiled, {{numbered(0, 2)}, numbered(0, 4)}));
  expect_bad_input("8 values of a global view with 4 x 4", with({16, 0, {}}, {{}, numbered(0, 2)}));
  expect_bad_input("32 values of a tile with 2 x 2 features of 2",
                   with(tiled, {{numbered(0, 2), numbered(0, 4)}, numbered(0, 4)}));
}

}  // namespace
}  // namespace profgate::llm::vision
