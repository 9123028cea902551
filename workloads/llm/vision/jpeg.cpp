// clang-format off
#include <cstdio>  // jpeglib.h needs it, and does not say so
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <csetjmp>

#include "image_formats.h"

namespace profgate::llm::vision {
namespace {

/// libjpeg's own, first, and what it had to say of a file.
struct jpeg_errors {
  jpeg_error_mgr base;
  std::jmp_buf back;
  bool damaged;  ///< it only warned, and made up pixels for what it could not read
  char problem[JMSG_LENGTH_MAX];
};

void end_jpeg(j_common_ptr codec) {
  auto* errors = reinterpret_cast<jpeg_errors*>(codec->err);
  errors->base.format_message(codec, errors->problem);
  std::longjmp(errors->back, 1);
}

/// What only describes the pixels, and leaves them whole.
bool is_harmless(int warning) {
  return warning == JWRN_ADOBE_XFORM || warning == JWRN_JFIF_MAJOR || warning == JWRN_NOT_SEQUENTIAL;
}

/// Keeps the first one: the others mostly follow from it.
void note_jpeg_warning(j_common_ptr codec, int level) {
  auto* errors = reinterpret_cast<jpeg_errors*>(codec->err);
  if (level >= 0 || errors->damaged || is_harmless(codec->err->msg_code)) return;
  errors->damaged = true;
  errors->base.format_message(codec, errors->problem);
}

struct jpeg_reader {
  jpeg_reader() {
    codec.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = end_jpeg;
    errors.base.emit_message = note_jpeg_warning;
  }
  jpeg_reader(const jpeg_reader&) = delete;
  jpeg_reader& operator=(const jpeg_reader&) = delete;
  ~jpeg_reader() { jpeg_destroy_decompress(&codec); }

  jpeg_decompress_struct codec{};
  jpeg_errors errors{};
};

// What is filled belongs to the caller: a jump back leaves locals undefined, and skips destructors.

bool read_jpeg_header(jpeg_reader& reader, std::span<const std::byte> file) {
  if (setjmp(reader.errors.back) != 0) return false;
  jpeg_create_decompress(&reader.codec);
  jpeg_mem_src(&reader.codec, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&reader.codec, TRUE);
  reader.codec.out_color_space = JCS_RGB;
  return true;
}

bool read_jpeg_rows(jpeg_reader& reader, image& decoded) {
  if (setjmp(reader.errors.back) != 0) return false;
  jpeg_start_decompress(&reader.codec);
  while (reader.codec.output_scanline < reader.codec.output_height) {
    JSAMPROW row =
        decoded.rgb.data() + std::size_t{reader.codec.output_scanline} * reader.codec.output_width * 3;
    jpeg_read_scanlines(&reader.codec, &row, 1);
  }
  jpeg_finish_decompress(&reader.codec);
  return true;
}

}  // namespace

image decode_jpeg(std::span<const std::byte> file, const std::string& file_name) {
  jpeg_reader reader;
  const bool has_header = read_jpeg_header(reader, file);
  if (std::max(reader.codec.image_width, reader.codec.image_height) > JPEG_MAX_DIMENSION)
    throw refused_size(reader.codec.image_width, reader.codec.image_height, file_name, JPEG_MAX_DIMENSION);
  if (!has_header) throw broken_image(file_name, std::string("no JPEG: ") + reader.errors.problem);
  image decoded = allocate_image(reader.codec.image_width, reader.codec.image_height, file_name);
  if (!read_jpeg_rows(reader, decoded))
    throw broken_image(file_name, std::string("a broken JPEG: ") + reader.errors.problem);
  if (reader.errors.damaged)
    throw broken_image(file_name, std::string("a broken JPEG: ") + reader.errors.problem);
  return decoded;
}

}  // namespace profgate::llm::vision
