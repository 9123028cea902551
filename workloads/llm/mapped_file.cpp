#include "llm/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

failure cannot(const std::string& verb, const std::string& path, int error_number) {
  return bad_input(path + ": cannot " + verb + ": " + std::generic_category().message(error_number),
                   "check the path and that it is readable");
}

}  // namespace

mapped_file::mapped_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw cannot("open", path, errno);
  struct stat status {};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || status.st_size == 0) {
    close(descriptor);
    throw bad_input(path + (regular ? ": the file is empty" : ": not a regular file"),
                    "fetch the checkpoint again");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error_number = errno;
  close(descriptor);
  if (memory == MAP_FAILED) throw cannot("map", path, error_number);
  m_bytes = {static_cast<const std::byte*>(memory), size};
}

mapped_file::mapped_file(mapped_file&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}

mapped_file::~mapped_file() {
  if (!m_bytes.empty()) munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

}  // namespace profgate::llm
