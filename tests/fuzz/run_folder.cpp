// A whole run's folder, as somebody hands it over.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "analysis/profile.h"
#include "core/error.h"
#include "fuzz_targets.h"
#include "runs/run_reader.h"

namespace profgate::fuzz {
namespace {

namespace fs = std::filesystem;

/// In memory; empty again for each input.
class run_in_memory {
 public:
  run_in_memory() {
    std::string name = "/dev/shm/profgate-fuzz-run-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    m_folder = name;
    m_run = m_folder / "20250102-030405-fuzzed.run";  // as the seeds' run.json says
  }
  ~run_in_memory() {
    std::error_code ignored;
    fs::remove_all(m_folder, ignored);
  }
  run_in_memory(const run_in_memory&) = delete;
  run_in_memory& operator=(const run_in_memory&) = delete;

  /// "=== stage1/result.json\n" stands before a file's bytes, "=== env.json -> ../x\n" is a link, and
  /// "=== env.json |\n" a FIFO. What cannot be made is left out, as is what would lie elsewhere.
  const fs::path& with(std::string_view bytes) const {
    fs::remove_all(m_run);
    fs::create_directory(m_run);
    constexpr std::string_view mark = "=== ";
    constexpr int most_files = 32;
    for (int count = 0; count < most_files && bytes.starts_with(mark); ++count) {
      const std::size_t line_end = std::min(bytes.find('\n'), bytes.size());
      const std::string_view name = bytes.substr(mark.size(), line_end - mark.size());
      bytes.remove_prefix(std::min(line_end + 1, bytes.size()));
      const std::size_t next = std::min(bytes.find("\n=== "), bytes.size());
      put(std::string(name), bytes.substr(0, next));
      bytes.remove_prefix(std::min(next + 1, bytes.size()));
    }
    return m_run;
  }

 private:
  void put(const std::string& name, std::string_view bytes) const {
    constexpr std::string_view arrow = " -> ";
    const std::size_t link = name.find(arrow);
    const bool is_fifo = name.ends_with(" |");
    const fs::path inside = name.substr(0, is_fifo ? name.size() - 2 : link);
    const bool leads_out =
        inside.is_absolute() || std::find(inside.begin(), inside.end(), "..") != inside.end();
    if (leads_out || name.find('\0') != std::string::npos) return;
    const fs::path file = m_run / inside;
    std::error_code failed;
    // Not through a link that an earlier line has made.
    if (fs::weakly_canonical(file.parent_path(), failed).string().find(m_run.string()) != 0 || failed) return;
    fs::create_directories(file.parent_path(), failed);
    if (failed || fs::exists(fs::symlink_status(file, failed))) return;
    if (is_fifo) {
      static_cast<void>(::mkfifo(file.c_str(), 0600));
    } else if (link != std::string::npos) {
      fs::create_symlink(name.substr(link + arrow.size()), file, failed);
    } else {
      std::ofstream(file, std::ios::binary) << bytes;
    }
  }

  fs::path m_folder;
  fs::path m_run;
};

}  // namespace

/// As the report step and `profgate analyze` read it. What they make of it must be a profile.
void read_run_folder(std::string_view bytes) {
  static const run_in_memory run;
  runs::run_reader reader(run.with(bytes));
  const std::string profile = analysis::profile_json(reader.facts());
  reader.missing_artifacts();
  try {
    analysis::validate_profile(profile, "made");
  } catch (const core::error&) {
    std::abort();
  }
}

}  // namespace profgate::fuzz
