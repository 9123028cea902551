// Any bytes as the status.json of a step: its state, or one of the errors that reading has.
#include "artifacts/status.h"
#include "core/error.h"
#include "memory_file.h"

namespace {

/// A run's folder in memory whose timeline's status is `file`.
class run_around {
 public:
  explicit run_around(const std::filesystem::path& file) : m_folder(file.string() + ".run") {
    const std::filesystem::path place = m_folder / profgate::artifacts::folder_of_step("timeline");
    std::filesystem::create_directories(place);
    std::filesystem::create_symlink(file, place / "status.json");
  }
  ~run_around() {
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
  }
  run_around(const run_around&) = delete;
  run_around& operator=(const run_around&) = delete;
  const std::filesystem::path& path() const { return m_folder; }

 private:
  std::filesystem::path m_folder;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  static const run_around run(file.path());
  if (!file.set(data, size)) std::abort();
  try {
    profgate::artifacts::read_status(run.path(), "timeline");
  } catch (const profgate::core::bad_input&) {
    return 0;
  }
  return 0;
}
