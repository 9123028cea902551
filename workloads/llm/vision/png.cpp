#include <png.h>

#include <csetjmp>
#include <cstring>

#include "image_formats.h"

namespace profgate::llm::vision {
namespace {

/// The file, and what libpng had to say of it.
struct png_input {
  std::span<const std::byte> rest;
  std::string problem;
};

void take_png_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto& input = *static_cast<png_input*>(png_get_io_ptr(png));
  if (count > input.rest.size()) png_error(png, "the file ends too early");
  std::memcpy(out, input.rest.data(), count);
  input.rest = input.rest.subspan(count);
}

void end_png(png_structp png, png_const_charp message) {
  static_cast<png_input*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

struct png_reader {
  explicit png_reader(png_input& input)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, end_png, ignore_png_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {}
  png_reader(const png_reader&) = delete;
  png_reader& operator=(const png_reader&) = delete;
  ~png_reader() { png_destroy_read_struct(&png, &info, nullptr); }

  png_structp png;
  png_infop info;
};

bool has_palette(const png_reader& reader) {
  return png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_PALETTE;
}

std::int64_t big_endian_32(std::span<const std::byte> bytes) {
  std::int64_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8U | std::to_integer<std::int64_t>(byte);
  return value;
}

/// libpng names no size that it refuses. The header comes first: 8 bytes of signature, its length, "IHDR".
void refuse_absurd_size(std::span<const std::byte> file, const std::string& file_name) {
  constexpr std::size_t type = 12, width = 16, height = 20, end = 24;
  if (file.size() < end || std::memcmp(file.data() + type, "IHDR", 4) != 0) return;
  const std::int64_t columns = big_endian_32(file.subspan(width));
  const std::int64_t rows = big_endian_32(file.subspan(height));
  if (!is_image_size(columns, rows)) throw refused_size(columns, rows, file_name);
}

// In both what is filled belongs to the caller: a jump back leaves locals undefined, and skips destructors.

/// Colours are taken as they are: no gamma, alpha dropped, as Pillow's convert("RGB") does it. Of a palette
/// come the indices: libpng makes black of one that is outside of it, without a word.
bool read_png_header(const png_reader& reader, png_input& input) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &input, take_png_bytes);
  png_read_info(reader.png, reader.info);
  if (has_palette(reader)) {
    png_set_packing(reader.png);
  } else {
    png_set_expand(reader.png);
    png_set_gray_to_rgb(reader.png);  // of a palette it would make colours, too
  }
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_png_rows(const png_reader& reader, png_bytep* rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

/// Each row's indices stand in the last third of its pixels; forwards none is overwritten before it is read.
void look_up_colors(const png_reader& reader, image& decoded, const std::string& file_name) {
  png_colorp colors = nullptr;
  int color_count = 0;
  png_get_PLTE(reader.png, reader.info, &colors, &color_count);
  const auto width = static_cast<std::size_t>(decoded.width);
  for (std::size_t at = 0; at < decoded.rgb.size(); at += 3 * width) {
    std::uint8_t* const row = decoded.rgb.data() + at;
    for (std::size_t x = 0; x < width; ++x) {
      const int index = row[2 * width + x];
      if (index >= color_count)
        throw broken_image(file_name, "a broken PNG: a pixel has the colour " + std::to_string(index) +
                                          ", its palette ends at " + std::to_string(color_count - 1));
      row[3 * x] = colors[index].red;
      row[3 * x + 1] = colors[index].green;
      row[3 * x + 2] = colors[index].blue;
    }
  }
}

}  // namespace

image decode_png(std::span<const std::byte> file, const std::string& file_name) {
  refuse_absurd_size(file, file_name);
  png_input input{file, ""};
  const png_reader reader(input);
  if (reader.info == nullptr) throw not_possible("libpng does not start");
  if (!read_png_header(reader, input)) throw broken_image(file_name, "no PNG: " + input.problem);
  image decoded = allocate_image(png_get_image_width(reader.png, reader.info),
                                 png_get_image_height(reader.png, reader.info), file_name);
  const std::size_t pixel_bytes = decoded.rgb.size() / static_cast<std::size_t>(decoded.height);  // of a row
  const std::size_t row_bytes = has_palette(reader) ? pixel_bytes / 3 : pixel_bytes;
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes)
    throw broken_image(file_name, "no PNG of 8 bits a channel");
  std::vector<png_bytep> rows(static_cast<std::size_t>(decoded.height));
  for (std::size_t row = 0; row < rows.size(); ++row)
    rows[row] = decoded.rgb.data() + (row + 1) * pixel_bytes - row_bytes;
  if (!read_png_rows(reader, rows.data())) throw broken_image(file_name, "a broken PNG: " + input.problem);
  if (has_palette(reader)) look_up_colors(reader, decoded, file_name);
  return decoded;
}

}  // namespace profgate::llm::vision
