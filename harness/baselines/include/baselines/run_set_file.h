#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gate/run_set.h"

/// Run sets as files: JSON for git, with a checksum of their content inside (README.md of this folder).
namespace profgate::baselines {

/// Somebody made a run set the baseline.
struct acceptance {
  std::string accepted_utc{};
  std::string author{};  ///< "Ada <ada@example.org>"
  std::string reason{};
  std::string commit{};           ///< of the run set that was accepted
  std::string previous_sha256{};  ///< content of the baseline it took the place of; empty: there was none
};

struct stored_run_set {
  std::string run_id{};  ///< the run directory it comes from, by its name; empty: none
  gate::run_set runs{};
  std::vector<acceptance> accepted{};  ///< oldest first; empty: never accepted as a baseline
  std::string content_sha256{};        ///< as read; of no meaning to the writer
};

/// The whole file. Reading and writing it again gives the same bytes. bad_input for what no file may hold (a
/// clock that is not finite, a time below zero).
std::string run_set_text(const stored_run_set& stored);

/// bad_input with file and line where it is damaged, was edited by hand or holds an unfinished merge;
/// not_possible where its schema is of another major version.
stored_run_set parse_run_set(std::string_view text, const std::string& file);

stored_run_set read_run_set(const std::filesystem::path& file);

/// Makes the folder where it is missing. Returns the content's checksum.
std::string write_run_set(const std::filesystem::path& file, const stored_run_set& stored);

/// The names under which comparisons and gates leave the run sets of their arms.
inline constexpr const char* baseline_runs_name = "baseline.runs.json";
inline constexpr const char* candidate_runs_name = "candidate.runs.json";

/// What tells this measurement from every other one: its run id, or the checksum of its runs.
std::string measurement_id(const stored_run_set& stored);

}  // namespace profgate::baselines
