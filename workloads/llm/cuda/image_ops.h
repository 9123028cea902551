#pragma once

#include <cstdint>

#include "launch.h"
#include "vision/preprocess.h"

// An image's way to the views that the encoder takes, bit for bit as vision::preprocess goes it.
namespace profgate::llm::cuda {

/// vision::integer_taps on the device.
struct device_taps {
  const vision::integer_taps::target* targets = nullptr;  ///< null: the line stays as it is
  const std::int32_t* coefficients = nullptr;
};

/// Every row of an image: from is [rows, width, 3], out [rows, out_width, 3].
void resize_rows(const queue& to, const std::uint8_t* from, int rows, int width, const device_taps& taps,
                 int out_width, std::uint8_t* out);

/// The views of a sheet, [views, 3, view_size, view_size]. from, [any, area.width, 3], still has the rows of
/// the original: the taps, of area.height targets, are those of its columns. Each byte becomes its entry of
/// byte_values.
template <typename T>
void cut_views(const queue& to, const std::uint8_t* from, const device_taps& taps,
               const vision::view_sheet& sheet, const T* byte_values, T* out);

}  // namespace profgate::llm::cuda
