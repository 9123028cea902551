// The vision encoder on a GPU: against the CPU's at reduced shapes, against PyTorch at the published one.
#include "cuda_vision_encoder.h"

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "device_weights.h"
#include "llm/failure.h"
#include "llm/json_file.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/image.h"
#include "vision_on_gpu.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;
using vision::prepared_image;
using vision::synthetic_pixels;
using vision::vision_need;
using vision::vision_shape;

std::size_t squared(std::int64_t side) {
  return static_cast<std::size_t>(side * side);
}

/// Features of one view after each part.
struct parts {
  std::vector<float> sam, clip, projected;
};

/// An encoder with synthetic weights and all of its memory.
template <typename T>
class gpu_encoder {
 public:
  gpu_encoder(const vision_need& need, const queue& to) : m_need(need), m_queue(to) {
    memory_layout weights_need;
    place_vision_weights<T>(need.shape, weights_need);
    memory_layout buffers_need;
    place_vision_buffers<T>(need, buffers_need);
    m_weight_memory = device_memory(weights_need.bytes_taken());
    m_buffer_memory = device_memory(buffers_need.bytes_taken());
    // NaN: what is read before it is written shows.
    PROFGATE_CUDA(cudaMemset(m_buffer_memory.bytes(), 0xFF, buffers_need.bytes_taken()));
    PROFGATE_CUDA(cudaDeviceSynchronize());
    memory_layout weights_at(m_weight_memory.bytes());
    memory_layout buffers_at(m_buffer_memory.bytes());
    m_weights = place_vision_weights<T>(need.shape, weights_at);
    m_buffers = place_vision_buffers<T>(need, buffers_at);
    queue one_by_one = to;
    one_by_one.overlap = false;
    fill_weights(one_by_one, vision::tensors_of(need.shape), m_weights.place_of);
    PROFGATE_CUDA(cudaStreamSynchronize(to.stream));
    m_encoder = std::make_unique<cuda_vision_encoder<T>>(need, m_weights, m_buffers, to, m_pool, m_ranges);
  }

  cuda_vision_encoder<T>& operator*() { return *m_encoder; }
  cuda_vision_encoder<T>* operator->() { return m_encoder.get(); }

  /// Into the first view's place.
  parts parts_of(std::span<const float> pixels, std::int64_t image_size) {
    const auto& shape = m_need.shape;
    T* out = m_buffers.slots + m_buffers.slot_rows * shape.hidden_size;
    const device_array<T> on_gpu(pixels);
    m_encoder->encode_view(on_gpu.get(), image_size, out);
    const auto features = squared(shape.feature_side(image_size));
    return {floats_at(m_queue, m_buffers.compressed, features * static_cast<std::size_t>(shape.clip.width)),
            floats_at(m_queue, m_buffers.hidden, (1 + features) * static_cast<std::size_t>(shape.clip.width)),
            floats_at(m_queue, out, features * static_cast<std::size_t>(shape.hidden_size))};
  }

  std::vector<float> rows_of(const prepared_image& prepared) {
    return floats_of(m_encoder->encode_prepared(prepared));
  }
  std::vector<float> rows_of(const vision::image& original, vision::vision_mode mode) {
    return floats_of(m_encoder->encode_image(original, mode));
  }

 private:
  std::vector<float> floats_of(std::span<const std::byte> rows) {
    return floats_at(m_queue, reinterpret_cast<const T*>(rows.data()), rows.size() / sizeof(T));
  }

  vision_need m_need;
  queue m_queue;
  thread_pool m_pool{2};
  stage_ranges m_ranges{"test"};
  device_memory m_weight_memory, m_buffer_memory;
  device_vision_weights<T> m_weights;
  vision_buffers<T> m_buffers;
  std::unique_ptr<cuda_vision_encoder<T>> m_encoder;
};

class cpu_encoder {
 public:
  explicit cpu_encoder(const vision_need& need)
      : m_weights(vision::load_weights(need.shape, std::make_unique<synthetic_source>(m_pool))),
        m_encoder(need.shape, m_weights, need.image_sizes, m_pool, m_ranges) {}

  parts parts_of(std::span<const float> pixels, std::int64_t image_size) {
    const auto copy_of = [](std::span<const float> values) {
      return std::vector<float>(values.begin(), values.end());
    };
    auto projected = copy_of(m_encoder.encode(pixels, image_size));
    return {copy_of(m_encoder.sam_features()), copy_of(m_encoder.clip_features()), std::move(projected)};
  }

  std::vector<float> rows_of(const prepared_image& prepared) {
    const auto bytes = m_encoder.encode_prepared(prepared);
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    return {values, values + bytes.size() / sizeof(float)};
  }

 private:
  thread_pool m_pool{2};
  stage_ranges m_ranges{"test"};
  vision::vision_weights m_weights;
  vision::cpu_vision_encoder m_encoder;
};

template <typename T>
void expect_parts(const parts& actual, const parts& expected) {
  {
    SCOPED_TRACE("SAM");
    expect_close<T>(actual.sam, expected.sam, 1e-3, 0.998);
  }
  {
    SCOPED_TRACE("CLIP");
    expect_close<T>(actual.clip, expected.clip, 1e-3, 0.998);
  }
  SCOPED_TRACE("projected");
  expect_close<T>(actual.projected, expected.projected, 1e-3, 0.998);
}

/// Heads of 64, for the tensor cores: windows of 14 in grids of 20, 14 and 11, the last one odd.
vision_need with_wide_heads() {
  vision_shape shape;
  shape.sam = {.image_size = 160,
               .patch_size = 8,
               .width = 128,
               .layers = 3,
               .heads = 2,
               .mlp_width = 200,
               .window = 14,
               .global_layers = {1},
               .neck_width = 24,
               .compressed_widths = {40, 128}};
  shape.clip = {.width = 128, .layers = 2, .heads = 2, .mlp_width = 264, .position_side = 5};
  shape.hidden_size = 72;
  return {.shape = shape, .image_sizes = {160, 112, 88}, .most_tiles = 6, .most_rows = 200, .pictures = {}};
}

/// Small ones, which it has no code for: windows of 5 in grids of 12 and 9.
vision_need with_small_heads() {
  auto need = with_wide_heads();
  need.shape.sam.image_size = 48;
  need.shape.sam.patch_size = 4;
  need.shape.sam.width = 72;
  need.shape.sam.heads = 9;
  need.shape.sam.window = 5;
  need.shape.sam.compressed_widths = {16, 48};
  need.shape.clip = {.width = 48, .layers = 2, .heads = 3, .mlp_width = 88, .position_side = 3};
  need.image_sizes = {48, 36};
  return need;
}

template <typename T>
class cuda_vision_encoder_of : public vision_on_gpu {};
TYPED_TEST_SUITE(cuda_vision_encoder_of, both_types, type_names);

TYPED_TEST(cuda_vision_encoder_of, small_shapes_agrees_with_the_cpu) {
  for (const auto& need : {with_wide_heads(), with_small_heads()}) {
    gpu_encoder<TypeParam> on_gpu(need, this->m_queue);
    cpu_encoder on_cpu(need);
    for (const auto size : need.image_sizes) {
      SCOPED_TRACE(std::to_string(size) + " pixels, heads of " + std::to_string(need.shape.sam.head_dim()));
      const auto pixels = synthetic_pixels(size);
      expect_parts<TypeParam>(on_gpu.parts_of(pixels, size), on_cpu.parts_of(pixels, size));
    }
  }
}

TYPED_TEST(cuda_vision_encoder_of, small_shapes_lays_out_the_rows_of_an_image) {
  const auto need = with_wide_heads();
  gpu_encoder<TypeParam> on_gpu(need, this->m_queue);
  cpu_encoder on_cpu(need);
  prepared_image tiled{
      .layout = {.global_size = 160, .tile_size = 112, .grid = {3, 2}}, .tiles = {}, .global = {}};
  tiled.global = synthetic_pixels(160);
  for (unsigned tile = 0; tile < 6; ++tile) tiled.tiles.push_back(noise(3 * squared(112), 0.5F, tile));
  const prepared_image plain{
      .layout = {.global_size = 88, .tile_size = 0, .grid = {}}, .tiles = {}, .global = synthetic_pixels(88)};
  for (const auto& image : {tiled, plain, tiled})
    expect_close<TypeParam>(on_gpu.rows_of(image), on_cpu.rows_of(image), 1e-3, 0.998);
}

TYPED_TEST(cuda_vision_encoder_of, small_shapes_refuses_images_that_it_was_not_made_for) {
  const auto need = with_wide_heads();
  gpu_encoder<TypeParam> on_gpu(need, this->m_queue);
  const auto refusal = [&](const prepared_image& image) -> std::string {
    try {
      on_gpu->encode_prepared(image);
    } catch (const failure& problem) {
      EXPECT_EQ(problem.code(), exit_code::bad_input);
      return problem.what();
    }
    return "nothing was refused";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal({{.global_size = 96, .tile_size = 0, .grid = {}}, {}, synthetic_pixels(96)}),
              HasSubstr("an image of 96 pixels a side"));
  EXPECT_THAT(refusal({{.global_size = 160, .tile_size = 0, .grid = {}}, {}, synthetic_pixels(88)}),
              HasSubstr("values for an image of 3 x 160 x 160"));
  EXPECT_THAT(refusal({{.global_size = 160, .tile_size = 112, .grid = {2, 1}}, {}, synthetic_pixels(160)}),
              HasSubstr("0 tiles of a grid of 2 x 1"));
  const std::vector<std::vector<float>> eight(8, synthetic_pixels(88));
  EXPECT_THAT(refusal({{.global_size = 88, .tile_size = 88, .grid = {8, 1}}, eight, synthetic_pixels(88)}),
              HasSubstr("8 tiles"));
}

/// Patches of 64, so that the published sizes have few.
TYPED_TEST(cuda_vision_encoder_of, small_shapes_makes_the_views_of_an_image_itself) {
  auto need = with_wide_heads();
  need.shape.sam.patch_size = 64;
  need.shape.sam.image_size = 1024;
  need.image_sizes = {1024, 640};
  const auto page = vision::synthetic_image(1, 700, 500);
  const auto photo = vision::synthetic_image(2, 333, 501);
  need.pictures = {{page.width, page.height, vision::vision_mode::gundam},
                   {photo.width, photo.height, vision::vision_mode::base}};
  gpu_encoder<TypeParam> on_gpu(need, this->m_queue);
  thread_pool pool(2);
  const stage_ranges ranges("test");
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(on_gpu.rows_of(page, vision::vision_mode::gundam),
              on_gpu.rows_of(vision::preprocess(page, vision::vision_mode::gundam, pool, ranges)));
    EXPECT_EQ(on_gpu.rows_of(photo, vision::vision_mode::base),
              on_gpu.rows_of(vision::preprocess(photo, vision::vision_mode::base, pool, ranges)));
  }
}

/// The decoder's work is queued behind the image's: neither waits for the GPU.
TYPED_TEST(cuda_vision_encoder_of, small_shapes_is_queued_without_waiting) {
  auto need = with_wide_heads();
  need.shape.sam.patch_size = 64;
  need.shape.sam.image_size = 1024;
  need.image_sizes = {1024};
  const auto page = vision::synthetic_image(1, 300, 500);
  need.pictures = {{page.width, page.height, vision::vision_mode::base}};
  gpu_encoder<TypeParam> on_gpu(need, this->m_queue);
  const auto expected = on_gpu.rows_of(page, vision::vision_mode::base);  // loads kernels, plans products
  held_stream held(this->m_queue.stream);
  on_gpu->encode_image(page, vision::vision_mode::base);
  EXPECT_TRUE(held.release());
  EXPECT_EQ(on_gpu.rows_of(page, vision::vision_mode::base), expected);
}

/// How far the first values are from those that PyTorch computed, relative to their length.
double distance(std::span<const float> values, const nlohmann::json& expected) {
  const auto wanted = expected.get<std::vector<float>>();
  return compare(values.first(wanted.size()), wanted).distance;
}

void expect_norm(std::span<const float> values, const nlohmann::json& expected) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  const double l2 = expected.at("l2").get<double>();
  EXPECT_NEAR(std::sqrt(squares), l2, 1e-3 * l2);
}

vision_need published(std::vector<std::int64_t> image_sizes, std::int64_t most_rows) {
  vision_need need;
  need.image_sizes = std::move(image_sizes);
  need.most_rows = most_rows;
  return need;
}

class cuda_vision_encoder_of_published_size : public vision_on_gpu {};

TEST_F(cuda_vision_encoder_of_published_size, agrees_with_pytorch) {
  const auto reference = read_json_file(PROFGATE_TEST_DATA "/reference/synthetic_reference.json");
  const auto& expected = reference.at("vision-1024");
  const auto need = published({1024}, 273);
  const auto pixels = synthetic_pixels(1024);
  parts exact;
  {
    gpu_encoder<float> in_float(need, m_queue);
    exact = in_float.parts_of(pixels, 1024);
  }
  // PyTorch has SAM's features channel by channel.
  std::vector<float> first_channel;
  for (std::size_t i = 0; i < 16; ++i) first_channel.push_back(exact.sam[i * 1024]);
  EXPECT_LT(distance(first_channel, expected.at("sam").at("first16")), 1e-3);
  expect_norm(exact.sam, expected.at("sam"));
  EXPECT_LT(distance(exact.clip, expected.at("clip").at("first16")), 1e-3);
  expect_norm(exact.clip, expected.at("clip"));
  EXPECT_LT(distance(exact.projected, expected.at("projected").at("first16")), 1e-3);
  EXPECT_LT(distance(std::span(exact.projected).subspan(std::size_t{255} * 1280),
                     expected.at("last_token_first16")),
            1e-3);
  expect_norm(exact.projected, expected.at("projected"));

  gpu_encoder<bf16> rounded(need, m_queue);
  expect_parts<bf16>(rounded.parts_of(pixels, 1024), exact);
}

TEST_F(cuda_vision_encoder_of_published_size, agrees_in_both_types_at_every_size) {
  const auto need = published({512, 640, 1280}, 421);
  gpu_encoder<float> in_float(need, m_queue);
  gpu_encoder<bf16> rounded(need, m_queue);
  for (const auto size : need.image_sizes) {
    SCOPED_TRACE(size);
    const auto pixels = synthetic_pixels(size);
    expect_parts<bf16>(rounded.parts_of(pixels, size), in_float.parts_of(pixels, size));
  }
}

}  // namespace
}  // namespace profgate::llm::cuda
