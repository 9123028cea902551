#include "device.cuh"
#include "image_ops.h"

namespace profgate::llm::cuda {
inline namespace image_elements {  // named: a kernel keeps its name from build to build

constexpr int block_threads = 256;
constexpr int color_channels = 3;

/// Red, green and blue of one pixel: that at `from`, or of the weighted sum of those that lie `stride` bytes
/// apart from `from` + target.first strides on.
struct pixel {
  std::uint8_t channels[color_channels];

  __device__ pixel(const std::uint8_t* from, std::int64_t stride, const device_taps& taps, int target) {
    if (taps.targets == nullptr) {
#pragma unroll
      for (int c = 0; c < color_channels; ++c) channels[c] = from[target * stride + c];
      return;
    }
    constexpr int bits = vision::integer_taps::coefficient_bits;
    const vision::integer_taps::target tap = taps.targets[target];
    from += tap.first * stride;
    int sums[color_channels] = {1 << (bits - 1), 1 << (bits - 1), 1 << (bits - 1)};
    for (int i = 0; i < tap.count; ++i, from += stride) {
      const int coefficient = taps.coefficients[tap.coefficient + i];
#pragma unroll
      for (int c = 0; c < color_channels; ++c) sums[c] += from[c] * coefficient;
    }
#pragma unroll
    for (int c = 0; c < color_channels; ++c)
      channels[c] = static_cast<std::uint8_t>(min(max(sums[c] >> bits, 0), 255));
  }
};

/// A thread a pixel of out. Grid: (blocks of a row, rows).
__global__ __launch_bounds__(block_threads) void resize_rows_kernel(const std::uint8_t* from, int width,
                                                                    device_taps taps, int out_width,
                                                                    std::uint8_t* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int x = static_cast<int>(blockIdx.x) * block_threads + static_cast<int>(threadIdx.x);
  if (x >= out_width) return;
  const std::int64_t row = blockIdx.y;
  const pixel result(from + row * width * color_channels, color_channels, taps, x);
#pragma unroll
  for (int c = 0; c < color_channels; ++c)
    out[(row * out_width + x) * color_channels + c] = result.channels[c];
}

/// A vision::view_sheet.
struct sheet_place {
  int left, top, width, height;  ///< of the image in it
  int columns;                   ///< of views
  int view_size;
};

/// A thread a pixel of the sheet. Grid: (blocks of a row, rows).
template <typename T>
__global__ __launch_bounds__(block_threads) void cut_views_kernel(const std::uint8_t* from, device_taps taps,
                                                                  sheet_place sheet, const T* byte_values,
                                                                  T* out) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int x = static_cast<int>(blockIdx.x) * block_threads + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y);
  if (x >= sheet.columns * sheet.view_size) return;
  const int column = x - sheet.left;
  const int row = y - sheet.top;
  const bool inside = column >= 0 && column < sheet.width && row >= 0 && row < sheet.height;
  const int view = y / sheet.view_size * sheet.columns + x / sheet.view_size;
  const std::int64_t plane = static_cast<std::int64_t>(sheet.view_size) * sheet.view_size;
  T* to = out + view * color_channels * plane +
          static_cast<std::int64_t>(y % sheet.view_size) * sheet.view_size + x % sheet.view_size;
  if (!inside) {
#pragma unroll
    for (int c = 0; c < color_channels; ++c) to[c * plane] = byte_values[vision::grey_around];
    return;
  }
  const pixel result(from + column * color_channels, static_cast<std::int64_t>(sheet.width) * color_channels,
                     taps, row);
#pragma unroll
  for (int c = 0; c < color_channels; ++c) to[c * plane] = byte_values[result.channels[c]];
}

}  // namespace image_elements

void resize_rows(const queue& to, const std::uint8_t* from, int rows, int width, const device_taps& taps,
                 int out_width, std::uint8_t* out) {
  launch(to, resize_rows_kernel, dim3(ceil_div(out_width, block_threads), static_cast<unsigned>(rows)),
         dim3(block_threads), 0, from, width, taps, out_width, out);
}

template <typename T>
void cut_views(const queue& to, const std::uint8_t* from, const device_taps& taps,
               const vision::view_sheet& sheet, const T* byte_values, T* out) {
  const sheet_place place{.left = static_cast<int>(sheet.area.left),
                          .top = static_cast<int>(sheet.area.top),
                          .width = static_cast<int>(sheet.area.width),
                          .height = static_cast<int>(sheet.area.height),
                          .columns = static_cast<int>(sheet.grid.columns),
                          .view_size = static_cast<int>(sheet.view_size)};
  launch(to, cut_views_kernel<T>,
         dim3(ceil_div(sheet.width(), block_threads), static_cast<unsigned>(sheet.height())),
         dim3(block_threads), 0, from, taps, place, byte_values, out);
}

template void cut_views(const queue&, const std::uint8_t*, const device_taps&, const vision::view_sheet&,
                        const float*, float*);
template void cut_views(const queue&, const std::uint8_t*, const device_taps&, const vision::view_sheet&,
                        const bf16*, bf16*);

}  // namespace profgate::llm::cuda
