// Each kernel of the vision encoder against the CPU's function, on random data of sizes that nothing divides.
#include "vision/vision_kernels.h"

#include <gmock/gmock.h>

#include <string>

#include "vision/cpu_blocks.h"
#include "vision/cpu_convolution.h"
#include "vision_attention.h"
#include "vision_on_gpu.h"
#include "vision_ops.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;

template <typename T>
class vision_kernels : public vision_on_gpu {};
TYPED_TEST_SUITE(vision_kernels, both_types, type_names);

TYPED_TEST(vision_kernels, norms_rows_in_place) {
  for (const std::size_t width : {8, 40, 256, 768, 1024, 2600}) {
    SCOPED_TRACE(width);
    constexpr std::size_t rows = 13;
    const auto x = noise(rows * width, 2, 1);
    const auto weight = noise(width, 1, 2);
    const auto bias = noise(width, 1, 3);
    std::vector<float> expected(x.size());
    vision::kernels::layer_norm(x.data(), weight.data(), bias.data(), rows, width, 1e-5F, expected.data());
    const device_array<TypeParam> on_gpu(x);
    const device_array<TypeParam> weight_on_gpu(weight);
    const device_array<TypeParam> bias_on_gpu(bias);
    layer_norm<TypeParam>(this->m_queue, on_gpu.get(), weight_on_gpu.get(), bias_on_gpu.get(), 1e-5F, rows,
                          static_cast<int>(width), on_gpu.get());
    expect_close<TypeParam>(floats_at(this->m_queue, on_gpu.get(), x.size()), expected);
  }
}

TYPED_TEST(vision_kernels, activates) {
  for (const bool quick : {false, true}) {
    SCOPED_TRACE(quick ? "quick_gelu" : "gelu");
    const auto x = noise(8 * 1031, 3, 4);
    auto expected = x;
    (quick ? vision::kernels::quick_gelu : vision::kernels::gelu)(expected.data(), expected.size());
    const device_array<TypeParam> on_gpu(x);
    const auto count = static_cast<std::int64_t>(x.size());
    if (quick)
      quick_gelu(this->m_queue, on_gpu.get(), count);
    else
      gelu(this->m_queue, on_gpu.get(), count);
    expect_close<TypeParam>(floats_at(this->m_queue, on_gpu.get(), x.size()), expected);
  }
}

TYPED_TEST(vision_kernels, gathers_patches) {
  thread_pool pool(1);
  for (const auto& [size, patch] : {std::pair<std::size_t, std::size_t>{48, 16}, {28, 4}, {15, 5}}) {
    SCOPED_TRACE(size);
    const auto pixels = noise(3 * size * size, 1, 5);
    std::vector<float> expected(pixels.size());
    vision::gather_patches(pool, pixels, size, patch, expected.data());
    const device_array<TypeParam> out(expected.size());
    const device_array<TypeParam> on_gpu(pixels);
    gather_patches<TypeParam>(this->m_queue, on_gpu.get(), static_cast<int>(size), static_cast<int>(patch),
                              out.get());
    EXPECT_EQ(floats_at(this->m_queue, out.get(), expected.size()), expected);
  }
}

TYPED_TEST(vision_kernels, gathers_neighbours_as_the_convolution_does) {
  thread_pool pool(1);
  constexpr std::size_t channels = 24;
  for (const std::size_t side : {1, 2, 5, 8, 21}) {
    for (const std::size_t stride : {1, 2}) {
      SCOPED_TRACE(std::to_string(side) + " with stride " + std::to_string(stride));
      const auto x = noise(side * side * channels, 1, 6);
      const std::vector<float> weight(channels * 9);
      const vision::convolution_3x3 layer{weight.data(), 1, channels, stride};
      std::vector<float> expected(layer.scratch_floats(side));  // the convolution leaves what it gathered
      std::vector<float> ignored(layer.out_side(side) * layer.out_side(side));
      vision::convolve(pool, layer, x.data(), side, expected, ignored.data());
      const device_array<TypeParam> out(expected.size());
      const device_array<TypeParam> on_gpu(x);
      gather_neighbours<TypeParam>(this->m_queue, on_gpu.get(), static_cast<int>(side), channels,
                                   static_cast<int>(stride), out.get());
      EXPECT_EQ(floats_at(this->m_queue, out.get(), expected.size()), expected);
    }
  }
}

TYPED_TEST(vision_kernels, embeds_features_and_joins_rows) {
  constexpr int features = 9;
  constexpr int width = 24;
  const auto class_token = noise(width, 1, 7);
  const auto x = noise(features * width, 1, 8);
  const auto positions = noise((1 + features) * width, 1, 9);
  std::vector<float> expected = class_token;
  expected.insert(expected.end(), x.begin(), x.end());
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += positions[i];
  const device_array<TypeParam> class_on_gpu(class_token);
  const device_array<TypeParam> x_on_gpu(x);
  const device_array<TypeParam> positions_on_gpu(positions);
  const device_array<TypeParam> out(expected.size());
  embed_features<TypeParam>(this->m_queue, class_on_gpu.get(), x_on_gpu.get(), positions_on_gpu.get(),
                            features, width, out.get());
  expect_close<TypeParam>(floats_at(this->m_queue, out.get(), expected.size()), expected);

  constexpr int right_width = 16;
  const auto right = noise(features * right_width, 1, 10);
  const device_array<TypeParam> right_on_gpu(right);
  const device_array<TypeParam> joined(x.size() + right.size());
  join_rows<TypeParam>(this->m_queue, x_on_gpu.get(), width, right_on_gpu.get(), right_width, features,
                       joined.get());
  const auto found = floats_at(this->m_queue, joined.get(), x.size() + right.size());
  for (std::size_t row = 0; row < features; ++row)
    for (std::size_t i = 0; i < width + right_width; ++i)
      EXPECT_EQ(found[row * (width + right_width) + i],
                i < width ? x[row * width + i] : right[row * right_width + i - width]);
}

struct attention_case {
  const char* name;
  int heads, head_dim;
  int grid, side;  ///< side 0: that many tokens in one window
};

/// Tiles that are full and that are not, padding, tables of one and of several blocks of rows, sides that the
/// tensor cores have no code for.
constexpr attention_case attention_cases[] = {
    {"clip, one block of keys", 2, 64, 17, 0},
    {"clip, a key more than four blocks", 3, 64, 257, 0},
    {"clip, small heads", 3, 24, 70, 0},
    {"clip, heads of 128", 1, 128, 37, 0},
    {"windows of 14 with padding", 2, 64, 20, 14},
    {"windows of 14 that fit", 1, 64, 28, 14},
    {"small windows", 2, 64, 10, 4},
    {"windows of odd side", 2, 64, 12, 5},
    {"small windows and heads", 3, 8, 7, 3},
    {"whole grid of 32", 2, 64, 32, 32},
    {"whole grid of 40: Small's", 2, 64, 40, 40},
    {"whole grid of odd side", 1, 64, 23, 23},
    {"a side of 64 with padding", 1, 64, 66, 64},
    {"whole grid of 64: Base's", 1, 64, 64, 64},
    {"whole grid of 80: Large's", 1, 64, 80, 80},
};

template <typename T>
void compare_attention(const queue& to, const attention_case& one) {
  const auto heads = static_cast<std::size_t>(one.heads);
  const auto dim = static_cast<std::size_t>(one.head_dim);
  const auto grid = static_cast<std::size_t>(one.grid);
  const auto side = static_cast<std::size_t>(one.side);
  const auto windows = side == 0 ? vision::one_window(grid) : vision::square_windows(grid, side);
  const std::size_t tokens = side == 0 ? grid : grid * grid;
  const std::size_t width = heads * dim;
  const std::size_t table = side == 0 ? 1 : 2 * side - 1;
  const auto qkv = noise(tokens * 3 * width, 1, 11);
  const auto bias = noise(3 * width, 0.5F, 12);
  const auto rel_h = noise(table * dim, 0.2F, 13);
  const auto rel_w = noise(table * dim, 0.2F, 14);
  std::vector<float> expected(tokens * width);
  std::vector<float> scratch(vision::kernels::attention_scratch(windows.positions, side, dim));
  const vision::kernels::attention_layer layer{.qkv = qkv.data(),
                                               .qkv_bias = bias.data(),
                                               .heads = heads,
                                               .head_dim = dim,
                                               .rel_h = rel_h.data(),
                                               .rel_w = rel_w.data(),
                                               .out = expected.data()};
  for (std::size_t window = 0; window < windows.count(); ++window)
    for (std::size_t head = 0; head < heads; ++head)
      vision::kernels::attend_window(
          layer, {windows.tokens.data() + window * windows.positions, windows.positions, side}, head,
          scratch.data());

  const device_array<T> qkv_on_gpu(qkv);
  const device_array<T> bias_on_gpu(bias);
  const device_array<T> rel_h_on_gpu(rel_h);
  const device_array<T> rel_w_on_gpu(rel_w);
  const device_array<T> out(expected.size());
  vision_attention(to, vision_attention_inputs<T>{.qkv = qkv_on_gpu.get(),
                                                  .qkv_bias = bias_on_gpu.get(),
                                                  .relative_h = rel_h_on_gpu.get(),
                                                  .relative_w = rel_w_on_gpu.get(),
                                                  .out = out.get(),
                                                  .tokens = static_cast<int>(tokens),
                                                  .heads = one.heads,
                                                  .head_dim = one.head_dim,
                                                  .grid = side == 0 ? 0 : one.grid,
                                                  .side = one.side});
  expect_close<T>(floats_at(to, out.get(), expected.size()), expected);
}

TYPED_TEST(vision_kernels, attend_as_the_cpu_does) {
  for (const auto& one : attention_cases) {
    SCOPED_TRACE(one.name);
    compare_attention<TypeParam>(this->m_queue, one);
  }
}

TYPED_TEST(vision_kernels, attend_as_the_cpu_does_without_warpgroups) {
  this->m_queue.warpgroups = false;
  for (const auto& one : attention_cases) {
    SCOPED_TRACE(one.name);
    compare_attention<TypeParam>(this->m_queue, one);
  }
}

}  // namespace
}  // namespace profgate::llm::cuda
