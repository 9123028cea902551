#include "run_set_source.h"

#include <fmt/format.h>

#include "artifacts/atomic_file.h"
#include "core/error.h"

namespace profgate::cli {
namespace fs = std::filesystem;

baselines::stored_run_set run_set_of(const fs::path& source) {
  if (!fs::is_directory(source)) return baselines::read_run_set(source);
  for (const fs::path& folder : {source, source / "gate"}) {
    const fs::path file = folder / baselines::candidate_runs_name;
    if (!artifacts::file_exists(file)) continue;
    baselines::stored_run_set stored = baselines::read_run_set(file);
    if (stored.run_id.empty()) stored.run_id = fs::absolute(source).lexically_normal().filename().string();
    return stored;
  }
  throw core::bad_input(
      fmt::format("{} holds no {}: its gate has not run", source.string(), baselines::candidate_runs_name),
      "let the pair's gate run (ctest -R '^stage2\\.<pair>\\.gate$' or profgate ab <pair>), or name a run "
      "set's "
      "file");
}

}  // namespace profgate::cli
