#include "label_places.h"

#include <gmock/gmock.h>

#include <set>
#include <utility>

namespace profgate::render {
namespace {

constexpr box plot{0, 900, 0, 400};

TEST(label_places, a_dot_alone_has_its_label_to_its_right) {
  const std::vector<label_place> places = place_labels({{100, 200, 5, 60}}, plot);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].x, 108);
  EXPECT_EQ(places[0].y, 200);
  EXPECT_FALSE(places[0].is_left_of);
}

TEST(label_places, a_label_covers_no_other_dot) {
  // The second dot stands where the first one's label would.
  const std::vector<label_place> places = place_labels({{100, 200, 5, 60}, {130, 200, 5, 60}}, plot);
  EXPECT_TRUE(places[0].is_left_of);
  EXPECT_EQ(places[0].x, 92);
  EXPECT_FALSE(places[1].is_left_of);
}

TEST(label_places, a_label_covers_no_other_label) {
  const std::vector<label_place> places =
      place_labels({{100, 200, 5, 60}, {100, 204, 5, 60}, {100, 208, 5, 60}}, plot);
  EXPECT_FALSE(places[0].is_left_of);
  EXPECT_TRUE(places[1].is_left_of);
  EXPECT_GE(places[2].y - places[0].y, 13) << "both sides are taken at that height";
}

TEST(label_places, labels_of_one_line_are_apart) {
  // The first one's ends at 168; the second one's, left of its dot, would begin at 170.
  const std::vector<label_place> places =
      place_labels({{100, 200, 5, 60}, {238, 200, 5, 60}, {250, 200, 5, 60}}, plot);
  EXPECT_NE(places[1].y, places[0].y);
}

TEST(label_places, a_label_covers_nothing_that_is_drawn_already) {
  const box to_the_right{110, 120, 190, 210};
  EXPECT_TRUE(place_labels({{100, 200, 5, 60}}, plot, {to_the_right})[0].is_left_of);
}

TEST(label_places, a_label_stays_in_the_plot) {
  EXPECT_TRUE(place_labels({{880, 200, 5, 60}}, plot)[0].is_left_of);
  EXPECT_GE(place_labels({{100, 2, 1, 60}}, plot)[0].y, 6.5);
  EXPECT_LE(place_labels({{100, 398, 1, 60}}, plot)[0].y, 393.5);
}

TEST(label_places, labels_of_many_dots_in_one_place_cover_no_other_label) {
  const std::vector<labelled_dot> dots(30, {400, 200, 5, 60});
  const std::vector<label_place> places = place_labels(dots, plot);
  std::set<std::pair<double, bool>> taken;
  for (const label_place& place : places)
    EXPECT_TRUE(taken.insert({place.y, place.is_left_of}).second) << place.y;
}

TEST(label_places, a_label_without_any_place_stands_to_the_right) {
  const std::vector<label_place> places = place_labels({{100, 200, 5, 5000}}, plot);
  EXPECT_FALSE(places[0].is_left_of);
  EXPECT_EQ(places[0].y, 200);
}

TEST(fitting_label, is_whole_cut_or_left_out) {
  EXPECT_EQ(fitting_label("attn.core", 100, 7), "attn.core");
  EXPECT_EQ(fitting_label("attn.core", 8 + 6 * 7, 7), "…core");
  EXPECT_EQ(fitting_label("blocks.*.mlp.down", 8 + 10 * 7, 7), "…mlp.down") << "where it differs from others";
  EXPECT_EQ(fitting_label("attn.qkv", 8 + 5 * 7, 7), "…qkv") << "and no dot behind the ellipsis";
  EXPECT_EQ(fitting_label("gemv<float, 0.5>", 8 + 6 * 7, 7), "gemv<…");
  EXPECT_EQ(fitting_label("attn.core", 8 + 4 * 7, 7), "") << "nobody recognises three letters";
  EXPECT_EQ(fitting_label("mlp", 8 + 3 * 7, 7), "mlp") << "unless they are all";
  EXPECT_EQ(fitting_label("aaaµµµµµ", 8 + 5 * 7, 7), "aaa…") << "no half of a character";
}

}  // namespace
}  // namespace profgate::render
