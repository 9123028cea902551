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

// In both what is filled belongs to the caller: a jump back leaves locals undefined, and skips destructors.

/// Colours are taken as they are: no gamma, alpha dropped, as Pillow's convert("RGB") does it.
bool read_png_header(const png_reader& reader, png_input& input) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &input, take_png_bytes);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_gray_to_rgb(reader.png);
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

}  // namespace

image decode_png(std::span<const std::byte> file, const std::string& file_name) {
  png_input input{file, ""};
  const png_reader reader(input);
  if (reader.info == nullptr) throw not_possible("libpng does not start");
  if (!read_png_header(reader, input)) throw broken_image(file_name, "no PNG: " + input.problem);
  image decoded = allocate_image(png_get_image_width(reader.png, reader.info),
                                 png_get_image_height(reader.png, reader.info), file_name);
  const std::size_t row_bytes = decoded.rgb.size() / static_cast<std::size_t>(decoded.height);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes)
    throw broken_image(file_name, "no PNG of 8 bits a channel");
  std::vector<png_bytep> rows(static_cast<std::size_t>(decoded.height));
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = decoded.rgb.data() + row * row_bytes;
  if (!read_png_rows(reader, rows.data())) throw broken_image(file_name, "a broken PNG: " + input.problem);
  return decoded;
}

}  // namespace profgate::llm::vision
