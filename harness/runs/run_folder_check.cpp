#include "runs/run_folder_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "artifacts/files.h"
#include "core/error.h"
#include "core/regular_file.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

bool is_within(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path target_of(const fs::path& link, std::error_code& problem) {
  if (fs::exists(link, problem)) return fs::canonical(link, problem);
  if (problem) return {};
  return fs::weakly_canonical(link.parent_path() / fs::read_symlink(link, problem),
                              problem);  // what is not there
}

/// The folders below `folder`; what is wrong with anything in it is thrown.
std::vector<fs::path> checked_folders(const fs::path& root, const fs::path& folder) {
  std::vector<fs::path> below;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink()) {
      std::error_code endless;  // a link to itself
      const fs::path target = target_of(entry.path(), endless);
      if (endless || !is_within(root, target)) {
        throw core::bad_input(entry.path().string(), 0, "is a link that leads out of the run's folder",
                              "put what it points to in its place, or remove it");
      }
    }
    core::require_regular_file(entry.path());
    if (entry.symlink_status().type() == fs::file_type::directory) below.push_back(entry.path());
  }
  return below;
}

}  // namespace

void check_run_folder(const fs::path& run_dir) {
  artifacts::with_io_errors("read", [&] {
    const fs::path root = fs::canonical(run_dir);
    // Those of the steps, and no deeper: what tools and programs keep below them is not read.
    for (const fs::path& folder : checked_folders(root, run_dir)) checked_folders(root, folder);
    const fs::path regions = run_dir / "ncu" / "regions";
    if (fs::is_directory(regions)) checked_folders(root, regions);
  });
}

}  // namespace profgate::runs
