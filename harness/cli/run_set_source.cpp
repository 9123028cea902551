#include "run_set_source.h"

#include <fmt/format.h>

#include "artifacts/files.h"
#include "core/error.h"

namespace profgate::cli {
namespace fs = std::filesystem;

fs::path run_set_file_of(const fs::path& source) {
  if (!fs::is_directory(source)) return source;
  for (const fs::path& folder : {source, source / "gate"}) {
    if (artifacts::file_exists(folder / baselines::candidate_runs_name))
      return folder / baselines::candidate_runs_name;
  }
  throw core::bad_input(
      fmt::format("{} holds no {}: its gate has not run", source.string(), baselines::candidate_runs_name),
      "let the pair's gate run (ctest -R '^stage2\\.<pair>\\.gate$' or profgate ab <pair>), or name a run "
      "set's "
      "file");
}

std::optional<fs::path> other_arm_of(const fs::path& source) {
  const fs::path other = run_set_file_of(source).parent_path() / baselines::baseline_runs_name;
  return artifacts::file_exists(other) ? std::optional(other) : std::nullopt;
}

baselines::stored_run_set run_set_of(const fs::path& source) {
  baselines::stored_run_set stored = baselines::read_run_set(run_set_file_of(source));
  const bool is_of_a_folder = fs::is_directory(source);
  if (is_of_a_folder && stored.run_id.empty())
    stored.run_id = fs::absolute(source).lexically_normal().filename().string();
  return stored;
}

}  // namespace profgate::cli
