#include "cuda_preprocessor.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "check.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

static_assert(sizeof(vision::integer_taps::target) == 3 * sizeof(std::int32_t));

/// Numbers that the taps of a line take.
std::int64_t most_taps(std::int64_t from, std::int64_t to) {
  return 3 * to + vision::most_coefficients(from, to);
}

}  // namespace

template <typename T>
preprocess_buffers<T> place_preprocess_buffers(const vision::vision_need& need, memory_layout& memory) {
  preprocess_buffers<T> at;
  for (const auto& [width, height, mode] : need.pictures) {
    at.original_bytes = std::max(at.original_bytes, height * width * vision::color_channels);
    std::int64_t taps_count = 0;
    for (const auto& sheet : vision::sheets_of(mode, width, height)) {
      at.rows_bytes = std::max(at.rows_bytes, height * sheet.area.width * vision::color_channels);
      taps_count += most_taps(width, sheet.area.width) + most_taps(height, sheet.area.height);
    }
    at.taps_count = std::max(at.taps_count, taps_count);
  }
  const auto largest = *std::max_element(need.image_sizes.begin(), need.image_sizes.end());
  at.original = memory.take<std::uint8_t>(at.original_bytes);
  at.rows = memory.take<std::uint8_t>(at.rows_bytes);
  at.taps = memory.take<std::int32_t>(at.taps_count);
  at.byte_values = memory.take<T>(256);
  at.views = memory.take<T>((1 + need.most_tiles) * vision::color_channels * largest * largest);
  return at;
}

template <typename T>
cuda_preprocessor<T>::cuda_preprocessor(const preprocess_buffers<T>& buffers, const queue& to,
                                        thread_pool& pool)
    : m_at(buffers), m_queue(to), m_pool(pool) {
  const auto values = vision::normalised_bytes();
  const std::vector<T> rounded(values.begin(), values.end());
  PROFGATE_CUDA(
      cudaMemcpy(m_at.byte_values, rounded.data(), rounded.size() * sizeof(T), cudaMemcpyHostToDevice));
  PROFGATE_CUDA(cudaDeviceSynchronize());  // the encoder's stream does not wait for such copies
}

template <typename T>
void cuda_preprocessor<T>::prepare(const vision::image& original, vision::vision_mode mode) {
  const auto sheets = vision::sheets_of(mode, original.width, original.height);
  const auto pixel_bytes = static_cast<std::int64_t>(original.rgb.size());
  std::int64_t rows_bytes = 0;
  std::int64_t taps_count = 0;
  for (const auto& sheet : sheets) {
    rows_bytes = std::max(rows_bytes, original.height * sheet.area.width * vision::color_channels);
    taps_count += most_taps(original.width, sheet.area.width) + most_taps(original.height, sheet.area.height);
  }
  if (pixel_bytes > m_at.original_bytes || rows_bytes > m_at.rows_bytes || taps_count > m_at.taps_count)
    throw bad_input("an image of " + std::to_string(original.width) + " x " +
                        std::to_string(original.height) + " pixels, larger than there is room for",
                    "make the encoder for images of this size");

  constexpr std::size_t alignment = 256;
  const std::size_t taps_begin = (original.rgb.size() + alignment - 1) / alignment * alignment;
  std::byte* stage = m_stage.open(taps_begin + static_cast<std::size_t>(taps_count) * sizeof(std::int32_t));
  bring_pixels(original, stage);
  const auto resizes = bring_taps(original, sheets, stage + taps_begin);
  m_stage.close(m_queue.stream);

  T* views = m_at.views;
  for (const auto& [sheet, along_rows, along_columns] : resizes) {
    const std::uint8_t* narrowed = m_at.original;
    if (along_rows.targets != nullptr) {
      resize_rows(m_queue, m_at.original, static_cast<int>(original.height), static_cast<int>(original.width),
                  along_rows, static_cast<int>(sheet.area.width), m_at.rows);
      narrowed = m_at.rows;
    }
    cut_views(m_queue, narrowed, along_columns, sheet, m_at.byte_values, views);
    views += vision::color_channels * sheet.width() * sheet.height();
  }
}

/// In pieces, so that the GPU reads one while the host copies the next.
template <typename T>
void cuda_preprocessor<T>::bring_pixels(const vision::image& original, std::byte* stage) {
  constexpr std::size_t piece = std::size_t{2} << 20U;
  constexpr std::size_t share_of_thread = std::size_t{64} << 10U;
  const std::size_t bytes = original.rgb.size();
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    const std::size_t count = std::min(piece, bytes - begin);
    const std::uint8_t* from = original.rgb.data() + begin;
    std::byte* to = stage + begin;
    m_pool.for_chunks(count, share_of_thread, [from, to](std::size_t first, std::size_t end) {
      std::memcpy(to + first, from + first, end - first);
    });
    PROFGATE_CUDA(cudaMemcpyAsync(m_at.original + begin, to, count, cudaMemcpyHostToDevice, m_queue.stream));
  }
}

template <typename T>
std::vector<typename cuda_preprocessor<T>::resize> cuda_preprocessor<T>::bring_taps(
    const vision::image& original, const std::vector<vision::view_sheet>& sheets, std::byte* stage) {
  auto* numbers = reinterpret_cast<std::int32_t*>(stage);
  std::size_t taken = 0;
  const auto add = [&](const auto& values) {
    std::memcpy(numbers + taken, values.data(), values.size() * sizeof(values[0]));
    const std::int32_t* on_device = m_at.taps + taken;
    taken += values.size() * sizeof(values[0]) / sizeof(std::int32_t);
    return on_device;
  };
  const auto add_line = [&](std::int64_t from, std::int64_t to) -> device_taps {
    if (from == to) return {};
    const auto taps = vision::integer_taps_of(from, to);
    const std::int32_t* targets = add(taps.targets);
    return {reinterpret_cast<const vision::integer_taps::target*>(targets), add(taps.coefficients)};
  };
  std::vector<resize> resizes;
  for (const auto& sheet : sheets) {
    const device_taps along_rows = add_line(original.width, sheet.area.width);
    resizes.push_back({sheet, along_rows, add_line(original.height, sheet.area.height)});
  }
  PROFGATE_CUDA(cudaMemcpyAsync(m_at.taps, numbers, taken * sizeof(std::int32_t), cudaMemcpyHostToDevice,
                                m_queue.stream));
  return resizes;
}

#define PROFGATE_INSTANTIATE(T)                                                                        \
  template preprocess_buffers<T> place_preprocess_buffers(const vision::vision_need&, memory_layout&); \
  template class cuda_preprocessor<T>
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(__nv_bfloat16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
