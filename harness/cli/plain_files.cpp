#include "plain_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "artifacts/files.h"
#include "core/error.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t max_unpacked_bytes = std::uint64_t{4} << 30;

fs::path make_temporary_folder() {
  std::string name = (fs::temp_directory_path() / "profgate-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw core::step_failure("cannot make a temporary folder " + name + ": " + std::strerror(errno),
                             "free some room there, or set TMPDIR");
  }
  return name;
}

}  // namespace

plain_files::plain_files(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    if (fs::exists(path)) {
      m_paths.push_back(path);
      continue;
    }
    if (m_folder.empty()) m_folder = make_temporary_folder();
    m_paths.push_back(m_folder / path.filename());
    artifacts::write_file_atomically(m_paths.back(), artifacts::read_file(path, max_unpacked_bytes));
  }
}

plain_files::~plain_files() {
  std::error_code ignored;
  if (!m_folder.empty()) fs::remove_all(m_folder, ignored);
}

}  // namespace profgate::cli
