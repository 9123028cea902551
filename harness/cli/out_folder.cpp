#include "out_folder.h"

#include <fmt/format.h>

#include "artifacts/files.h"
#include "core/error.h"
#include "process/command.h"

namespace profgate::cli {
namespace fs = std::filesystem;

void require_folder_around(const fs::path& out) {
  const fs::path around = artifacts::folder_of(out.has_filename() ? out : out.parent_path());  // "seen/"
  std::error_code unknown;  // what cannot be looked into is told when the folder is made
  if (fs::exists(around, unknown) || unknown) return;
  throw core::bad_input(
      fmt::format("--out {}: there is no folder {} to make it in", out.string(), around.string()),
      fmt::format("check the path, or make that folder first: {}",
                  process::quote_for_display({"mkdir", "-p", around.string()})));
}

}  // namespace profgate::cli
