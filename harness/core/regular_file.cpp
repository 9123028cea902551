#include "core/regular_file.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"

namespace profgate::core {
namespace fs = std::filesystem;

void require_regular_file(const fs::path& path) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  const char* what = nullptr;
  switch (type) {
    case fs::file_type::fifo:
      what = "a FIFO";
      break;
    case fs::file_type::socket:
      what = "a socket";
      break;
    case fs::file_type::block:
    case fs::file_type::character:
      what = "a device";
      break;
    default:
      return;
  }
  throw bad_input(path.string(), 0, fmt::format("is {}, not a file", what),
                  "put the file itself in its place, or remove it");
}

}  // namespace profgate::core
