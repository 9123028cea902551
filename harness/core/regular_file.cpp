#include "core/regular_file.h"

#include <fmt/format.h>

#include <system_error>

#include "core/error.h"

namespace profgate::core {
namespace fs = std::filesystem;

namespace {

/// Of what is neither a file nor a folder, nor nothing.
const char* kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo:
      return "a FIFO";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return nullptr;
  }
}

}  // namespace

void require_regular_file(const fs::path& path) {
  std::error_code ignored;
  const char* const kind = kind_of(fs::status(path, ignored).type());
  if (kind == nullptr) return;
  throw bad_input(path.string(), 0, fmt::format("is {}, not a file", kind),
                  "put the file itself in its place, or remove it");
}

std::string what_is_there(const fs::path& path) {
  std::error_code failure;
  std::error_code ignored;
  const fs::file_type type = fs::status(path, failure).type();
  if (const char* const kind = kind_of(type)) return fmt::format("is {}", kind);
  if (type == fs::file_type::directory) return "is a directory";
  if (type == fs::file_type::regular) return "is a file";
  if (failure == std::errc::too_many_symbolic_link_levels) return "is a link that leads back to itself";
  if (type != fs::file_type::not_found) return "cannot be looked at: " + failure.message();
  return fs::is_symlink(path, ignored) ? "is a link that leads nowhere" : "is not there";
}

}  // namespace profgate::core
