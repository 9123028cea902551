#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "llm/checkpoint.h"
#include "llm/json_file.h"
#include "llm/thread_pool.h"
#include "vision/position_tables.h"
#include "vision/vision_weights.h"
#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using namespace testing_support;
using llm::testing_support::expect_bad_input;
using llm::testing_support::reference_dir;
using llm::testing_support::safetensors_text;
using llm::testing_support::temporary_directory;

constexpr std::int64_t unused_patch_embedding = 1024 * 3 * 14 * 14;

TEST(vision_tensors, are_those_of_the_published_model) {
  std::map<std::string, std::vector<std::int64_t>> ours;
  std::map<std::string, std::int64_t> parameters;
  for (const auto& spec : tensors_of(vision_shape{})) {
    ours[spec.name] = spec.dims;
    parameters[spec.name.substr(0, spec.name.find('.', 6))] += spec.elements();
  }
  const auto published = read_json_file(reference_dir() + "/synthetic_reference.json").at("vision_names");
  const std::pair<const char*, const char*> parts[] = {
      {"sam", "model.sam_model."}, {"clip", "model.vision_model."}, {"proj", "model.projector."}};
  for (const auto& [part, prefix] : parts) {
    for (const auto& row : published.at(part)) {
      const std::string name = prefix + row[0].get<std::string>();
      if (name.ends_with("patch_embedding.weight")) continue;
      EXPECT_EQ(ours[name], row[1].get<std::vector<std::int64_t>>()) << name;
    }
  }
  EXPECT_EQ(parameters["model.sam_model"], published.at("sam_params").get<std::int64_t>());
  EXPECT_EQ(parameters["model.vision_model"] + unused_patch_embedding,
            published.at("clip_params").get<std::int64_t>());
  EXPECT_EQ(ours["model.image_newline"], std::vector<std::int64_t>{1280});
  EXPECT_EQ(ours["model.view_seperator"], std::vector<std::int64_t>{1280});
}

TEST(vision_shape, sides_of_the_published_sizes) {
  const vision_shape shape;
  EXPECT_EQ(shape.feature_side(512), 8);
  EXPECT_EQ(shape.feature_side(640), 10);
  EXPECT_EQ(shape.feature_side(1024), 16);
  EXPECT_EQ(shape.feature_side(1280), 20);
}

TEST(vision_shape, names_what_cannot_be) {
  auto shape = small_shape();
  shape.sam.heads = 4;
  expect_bad_input("sam.width is no multiple of sam.heads", [&] { validate(shape); });
  shape = small_shape();
  shape.clip.width = 28;
  expect_bad_input("sam.compressed_widths[1]", [&] { validate(shape); });
  shape = small_shape();
  shape.sam.window = 0;
  expect_bad_input("sam.window is 0", [&] { validate(shape); });
  shape = small_shape();
  shape.sam.global_layers = {shape.sam.layers};
  expect_bad_input("sam.global_layers has ", [&] { validate(shape); });
  shape = small_shape();
  shape.sam.image_size = 25;
  expect_bad_input("25 pixels a side", [&] { validate(shape); });
}

/// A checkpoint with all tensors of the small shape, zeros, but for one.
std::string checkpoint_text(const std::string& left_out, const std::string& reshaped) {
  nlohmann::ordered_json header;
  std::int64_t offset = 0;
  for (const auto& spec : tensors_of(small_shape())) {
    if (spec.name == left_out) continue;
    auto dims = spec.dims;
    if (spec.name == reshaped) dims.insert(dims.begin(), 1);
    header[spec.name] = {
        {"dtype", "F32"}, {"shape", dims}, {"data_offsets", {offset, offset + 4 * spec.elements()}}};
    offset += 4 * spec.elements();
  }
  return safetensors_text(header.dump(), std::string(static_cast<std::size_t>(offset), '\0'));
}

TEST(vision_weights, name_what_a_checkpoint_lacks) {
  const temporary_directory folder;
  thread_pool pool(1);
  const auto load = [&] {
    return load_weights(small_shape(), std::make_unique<checkpoint_source>(folder.path(), pool));
  };
  folder.write("model.safetensors", checkpoint_text("", ""));
  EXPECT_EQ(load().view_separator[10], 0.0F);
  folder.write("model.safetensors", checkpoint_text("model.sam_model.net_2.weight", ""));
  expect_bad_input(folder.path() + ": tensor 'model.sam_model.net_2.weight' is missing", load);
  folder.write("model.safetensors", checkpoint_text("", "model.vision_model.pre_layrnorm.bias"));
  expect_bad_input(
      "model.safetensors: tensor 'model.vision_model.pre_layrnorm.bias' has the shape [1, 14], config.json "
      "asks for [14]",
      load);
}

TEST(position_tables, keep_what_has_the_right_size_and_the_class_token) {
  thread_pool pool(1);
  const auto weights = load_weights(small_shape(), std::make_unique<synthetic_source>(pool));
  const auto same = make_position_tables(small_shape(), weights, 24);
  EXPECT_TRUE(std::equal(same.sam.begin(), same.sam.end(), weights.sam_positions));
  EXPECT_TRUE(std::equal(same.clip.begin(), same.clip.end(), weights.clip_positions));
  const auto larger = make_position_tables(small_shape(), weights, 40);
  EXPECT_EQ(larger.sam.size(), 10U * 10U * 15U);
  EXPECT_EQ(larger.clip.size(), (1U + 3U * 3U) * 14U);
  EXPECT_TRUE(std::equal(larger.clip.begin(), larger.clip.begin() + 14, weights.clip_positions));
  EXPECT_EQ(larger.sam_layers[0].h.size(), 7U * 5U);
  EXPECT_EQ(larger.sam_layers[1].h.size(), 19U * 5U);
}

/// The squares of the first numbers, modulo 17: neither smooth nor even.
std::vector<float> uneven(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i * i % 17));
  return values;
}

void expect_begins_with(const std::vector<float>& values, const std::vector<float>& expected) {
  ASSERT_GE(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 2e-5) << i;
}

TEST(position_tables, equal_pytorch) {
  // F.interpolate of PyTorch 1.13: mode='bicubic', antialias=True; mode='linear'.
  expect_begins_with(resize_square(uneven(36), 6, 4, 1),
                     {2.2257F, 6.95609F, 12.86916F, 9.8486F, 8.9097F, 12.42883F, 7.39132F, 2.22597F, 6.56504F,
                      10.28762F, 11.84163F, 4.01551F, 14.53969F, 8.3845F, 3.86348F, 2.32005F});
  expect_begins_with(resize_square(uneven(36), 6, 10, 1),
                     {-0.15806F, -0.26908F, -0.0566F, 1.66823F, 4.23623F, 7.46264F, 12.22506F, 16.07547F,
                      11.45677F, 7.87753F, 0.02281F, 2.27256F, 5.86567F, 6.79397F, 7.86985F, 9.95194F});
  expect_begins_with(resize_rows(uneven(7), 7, 10, 1),
                     {0.0F, 0.55F, 1.75F, 3.85F, 7.25F, 11.45F, 15.6F, 10.0F, 5.3F, 2.0F});
  expect_begins_with(resize_rows(uneven(7), 7, 4, 1), {0.375F, 4.625F, 15.125F, 4.25F});
}

TEST(position_tables, linear_by_hand) {
  // Target i lies at (i + 0.5) * from / to - 0.5: at 0.25 and 1.75.
  EXPECT_EQ(resize_rows(std::vector<float>{0, 4, 8}, 3, 2, 1), (std::vector<float>{1, 7}));
  // At -0.25, where the first one is held, 0.25, 0.75, and 1.25, where the last one is.
  EXPECT_EQ(resize_rows(std::vector<float>{0, 4}, 2, 4, 1), (std::vector<float>{0, 1, 3, 4}));
}

}  // namespace
}  // namespace profgate::llm::vision
