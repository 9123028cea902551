#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "artifacts/atomic_file.h"
#include "artifacts/io_error.h"
#include "core/error.h"
#include "core/owned_fd.h"
#include "core/units.h"
#include "gzip.h"

namespace profgate::artifacts {
namespace {

std::filesystem::path compressed_name(const std::filesystem::path& path) {
  return path.string() + ".gz";
}

[[noreturn]] void throw_too_large(const std::filesystem::path& path, std::uint64_t max_bytes) {
  throw core::bad_input(path.string(), 0,
                        fmt::format("is larger than {}, which is more than such a file can sensibly be",
                                    core::format_bytes(static_cast<double>(max_bytes))),
                        "check that it is the file it should be");
}

std::string read_compressed(const std::filesystem::path& path, std::uint64_t max_bytes) {
  std::string contents;
  read_gzip(path, [&](std::string_view chunk) {
    if (contents.size() + chunk.size() > max_bytes) throw_too_large(path, max_bytes);
    contents += chunk;
    return true;
  });
  return contents;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const core::owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    const int failure = errno;
    if (failure == ENOENT && file_exists(path)) {
      return read_compressed(compressed_name(path), max_bytes);
    }
    throw_io_error("read", path, failure);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw_io_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) throw_io_error("read", path, EISDIR);
  if (static_cast<std::uint64_t>(info.st_size) > max_bytes) throw_too_large(path, max_bytes);

  std::string contents;
  std::size_t used = 0;
  for (;;) {  // to the end and not to st_size: files of /proc say 0
    contents.resize(std::max(used + 4096, static_cast<std::size_t>(info.st_size) + 1));
    const ssize_t count = ::read(fd.get(), contents.data() + used, contents.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error("read", path, errno);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > max_bytes) throw_too_large(path, max_bytes);
  }
  contents.resize(used);
  return contents;
}

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ||
         std::filesystem::is_regular_file(compressed_name(path), ignored);
}

}  // namespace profgate::artifacts
