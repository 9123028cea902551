#include "gzip.h"

#include <fcntl.h>
#include <zlib.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "artifacts/files.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/owned_fd.h"
#include "core/regular_file.h"

namespace profgate::artifacts {
namespace {

constexpr std::size_t chunk_bytes = 256 * 1024;

[[noreturn]] void throw_damaged(const std::filesystem::path& path, const std::string& how) {
  throw core::bad_input(path.string(), 0, how,
                        "restore it from a copy, or remove the run: its contents cannot be trusted");
}

core::owned_fd open_to_read(const std::filesystem::path& path) {
  core::require_regular_file(path);
  core::owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) throw_io_error("read", path, errno);
  return fd;
}

/// Bytes read, 0 at the end; throws on a read error.
std::size_t read_chunk(int fd, std::vector<char>& buffer, const std::filesystem::path& path) {
  for (;;) {
    core::stop_if_interrupted();
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) throw_io_error("read", path, errno);
  }
}

/// zlib's own file, closed at the end of the scope.
class gzip_file {
 public:
  gzip_file(core::owned_fd fd, const char* mode) : m_file(gzdopen(fd.get(), mode)) {
    if (m_file != nullptr) fd.release();  // zlib closes it
  }
  ~gzip_file() { close(); }
  gzip_file(const gzip_file&) = delete;
  gzip_file& operator=(const gzip_file&) = delete;
  gzFile get() const { return m_file; }
  int close() {
    const int result = m_file == nullptr ? Z_OK : gzclose(m_file);
    m_file = nullptr;
    return result;
  }

 private:
  gzFile m_file;
};

/// Asked after each read: zlib 1.3.2 forgets it by the next one, older versions tell it when the file is
/// closed.
bool is_cut_short(gzFile file) {
  int state = Z_OK;
  gzerror(file, &state);
  return state == Z_BUF_ERROR;
}

}  // namespace

void read_gzip(const std::filesystem::path& path, const std::function<bool(std::string_view)>& consume) {
  gzip_file file(open_to_read(path), "rb");
  if (file.get() == nullptr) throw_io_error("read", path, ENOMEM);
  std::vector<char> buffer(chunk_bytes);
  for (;;) {
    core::stop_if_interrupted();
    const int count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    // zlib passes a file without the gzip signature through as it is; here that is a damaged file.
    if (count < 0 || gzdirect(file.get()) == 1) throw_damaged(path, "is not a sound gzip file");
    if (is_cut_short(file.get())) throw_damaged(path, "is cut short");
    if (count == 0) return;
    if (!consume(std::string_view(buffer.data(), static_cast<std::size_t>(count)))) return;
  }
}

void write_gzip(const std::filesystem::path& target, const piece_producer& produce, gzip_effort effort) {
  const core::owned_fd output(
      ::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!output.is_open()) throw_io_error("write", target, errno);
  core::owned_fd zlib_fd(::fcntl(output.get(), F_DUPFD_CLOEXEC, 0));
  if (!zlib_fd.is_open()) throw_io_error("write", target, errno);
  gzip_file file(std::move(zlib_fd), effort == gzip_effort::fast ? "wb1" : "wb6");
  if (file.get() == nullptr) throw_io_error("write", target, ENOMEM);
  errno = 0;
  produce([&](std::string_view piece) {
    if (piece.empty()) return;
    if (gzwrite(file.get(), piece.data(), static_cast<unsigned>(piece.size())) == 0)
      throw_io_error("write", target, errno == 0 ? EIO : errno);
  });
  if (file.close() != Z_OK) throw_io_error("write", target, errno == 0 ? EIO : errno);
  if (::fsync(output.get()) != 0) throw_io_error("write", target, errno);
}

void write_gzip(const std::filesystem::path& source, const std::filesystem::path& target) {
  const core::owned_fd input = open_to_read(source);
  const piece_producer pieces = [&](const std::function<void(std::string_view)>& write) {
    std::vector<char> buffer(chunk_bytes);
    while (const std::size_t count = read_chunk(input.get(), buffer, source))
      write(std::string_view(buffer.data(), count));
  };
  write_gzip(target, pieces, gzip_effort::small);
}

bool gzip_holds(const std::filesystem::path& compressed, const std::filesystem::path& original) {
  const core::owned_fd input = open_to_read(original);
  std::vector<char> buffer(chunk_bytes);
  std::string pending;  // read from the original, not yet compared
  bool same = true;
  try {
    read_gzip(compressed, [&](std::string_view chunk) {
      while (same && pending.size() < chunk.size()) {
        const std::size_t count = read_chunk(input.get(), buffer, original);
        if (count == 0) same = false;
        pending.append(buffer.data(), count);
      }
      same = same && std::string_view(pending).substr(0, chunk.size()) == chunk;
      if (same) pending.erase(0, chunk.size());
      return same;
    });
  } catch (const core::bad_input&) {
    return false;
  }
  return same && pending.empty() && read_chunk(input.get(), buffer, original) == 0;
}

}  // namespace profgate::artifacts
