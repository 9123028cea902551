#pragma once

#include <cstdint>

#include "launch.h"

// What the vision encoder does to patches and tokens besides products and attention. Widths are multiples of
// the elements in 16 bytes, unless a comment says otherwise.
namespace profgate::llm::cuda {

/// out[r, :] = (x[r, :] - mean) / sqrt(variance + epsilon) * weight + bias; x and out are [rows, width] and
/// may be the same.
template <typename T>
void layer_norm(const queue& to, const T* x, const T* weight, const T* bias, float epsilon, std::int64_t rows,
                int width, T* out);

/// gelu: x times the normal distribution's integral, by the error function; quick: x * sigmoid(1.702 x). In
/// place; count is a multiple of the elements in 16 bytes.
template <typename T>
void gelu(const queue& to, T* values, std::int64_t count);
template <typename T>
void quick_gelu(const queue& to, T* values, std::int64_t count);

/// pixels is [3, size, size], out [patches, 3 * patch * patch]: what the patch embedding multiplies. Any
/// patch that divides size.
template <typename T>
void gather_patches(const queue& to, const T* pixels, int size, int patch, T* out);

/// The 3x3 neighbourhoods of x [side, side, channels] at every stride-th row and column, zeros around it:
/// out is [out_side * out_side, channels * 9], ordered [channels, 3, 3] as a convolution's weights.
template <typename T>
void gather_neighbours(const queue& to, const T* x, int side, int channels, int stride, T* out);
constexpr int neighbours_side(int side, int stride) {
  return (side - 1) / stride + 1;
}

/// out[0, :] = class_token + positions[0, :]; out[1 + t, :] = features[t, :] + positions[1 + t, :].
template <typename T>
void embed_features(const queue& to, const T* class_token, const T* features, const T* positions,
                    int feature_count, int width, T* out);

/// out[r, :] = left[r, :] and right[r, :], side by side.
template <typename T>
void join_rows(const queue& to, const T* left, int left_width, const T* right, int right_width, int rows,
               T* out);

}  // namespace profgate::llm::cuda
