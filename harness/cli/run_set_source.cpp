#include "run_set_source.h"

#include <fmt/format.h>

#include "artifacts/files.h"
#include "config/config.h"
#include "core/error.h"
#include "runs/run_folder_check.h"

namespace profgate::cli {
namespace fs = std::filesystem;

fs::path run_set_file_of(const fs::path& source) {
  if (!fs::is_directory(source)) return source;
  for (const fs::path& folder : {source, source / "gate"}) {
    if (!artifacts::file_exists(folder / baselines::candidate_runs_name)) continue;
    runs::check_run_folder(source);
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
  if (is_of_a_folder && stored.run_id.empty()) stored.run_id = artifacts::name_of_folder(source);
  return stored;
}

fs::path project_of(const fs::path& run, const fs::path& folder) {
  const fs::path start = fs::weakly_canonical(run);
  for (fs::path above = start.parent_path(); above != above.parent_path(); above = above.parent_path()) {
    if (fs::is_directory(above / folder)) return above;
  }
  return {};
}

std::optional<fs::path> history_file_of_run(const fs::path& run) {
  const fs::path file = run / "config.yaml";
  if (!artifacts::file_exists(file)) return std::nullopt;
  const config::resolved config = config::read_resolved(file);
  return project_of(run, config.text("artifacts.stage2_dir")) / config.text("gate.history_file");
}

}  // namespace profgate::cli
