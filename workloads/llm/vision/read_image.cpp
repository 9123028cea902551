#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "image_formats.h"
#include "vision/image.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {
namespace {

/// The largest image in PPM, and room for a header.
constexpr std::int64_t largest_file_bytes = largest_pixel_count * color_channels + (1 << 20);

/// Closes itself.
struct open_file {
  explicit open_file(const std::string& path)
      : descriptor(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}  // a FIFO must not hang
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (descriptor >= 0) close(descriptor);
  }
  int descriptor;
};

failure cannot_read(const std::string& path, const std::string& reason) {
  return bad_input(path + ": " + reason, "name an image file that can be read");
}

std::string reason_not_opened(const std::string& path, int error_number) {
  std::error_code ignored;
  if (error_number == ENOENT && std::filesystem::is_symlink(path, ignored))
    return "a link to a file that is not there";
  return "cannot open: " + std::generic_category().message(error_number);
}

std::vector<std::byte> read_whole_file(const std::string& path) {
  const open_file file(path);
  if (file.descriptor < 0) throw cannot_read(path, reason_not_opened(path, errno));
  struct stat status {};
  if (fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    throw cannot_read(path, S_ISDIR(status.st_mode) ? "a directory, not an image" : "not a regular file");
  if (status.st_size == 0) throw cannot_read(path, "the file is empty");
  if (status.st_size > largest_file_bytes)
    throw cannot_read(path, "the file has " + std::to_string(status.st_size) +
                                " bytes; images have at most " + std::to_string(largest_file_bytes));
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file.descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw cannot_read(path, "cannot read: " + std::generic_category().message(errno));
    if (got == 0) break;  // it became shorter; the parser says what is missing
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

failure refused_size(std::int64_t width, std::int64_t height, const std::string& file_name,
                     std::int64_t longest_side) {
  const bool is_empty = width < 1 || height < 1;
  return bad_input(file_name + ": " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
                   std::string("give ") + (is_empty ? "an image that has some" : "a smaller one") +
                       ": sides are 1 to " + std::to_string(longest_side) + ", with at most " +
                       std::to_string(largest_pixel_count) + " pixels in all");
}

image allocate_image(std::int64_t width, std::int64_t height, const std::string& file_name) {
  if (!is_image_size(width, height)) throw refused_size(width, height, file_name);
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * color_channels))};
}

image read_image(const std::string& path) {
  const auto bytes = read_whole_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("P6") || text.starts_with("P5")) return parse_ppm(bytes, path);
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, path);
  if (text.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, path);
  throw bad_input(path + ": neither PPM (P6), PGM (P5), PNG nor JPEG", "convert the image to one of these");
}

}  // namespace profgate::llm::vision
