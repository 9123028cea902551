#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "baselines/run_set_file.h"
#include "gate/run_set.h"

/// The folder of the accepted baselines (gate.baselines_dir): one file a key.
namespace profgate::baselines {

/// "llama-3.1-8b/decode-b1/1a2b3c4d5e6f-nvidia-h200x132.json": model, config, settings, device.
std::filesystem::path baseline_name(const gate::build_identity& identity);

/// How the names of a pair's baselines begin: "llama-3.1-8b/decode-b1/", of "My+Model.Fast" "my-model/fast/".
std::string folder_of_pair(const std::string& pair);

/// How the folders of anchors begin (anchor.h); no name of a baseline does.
inline const std::string anchor_prefix = "@";
bool is_of_anchor(const std::filesystem::path& name);

/// Every run set of the folder, as names like the above, sorted; those of anchors among them.
std::vector<std::filesystem::path> list_run_set_files(const std::filesystem::path& baselines_dir);

/// Every file of the folder that could be a baseline, as names like the above, sorted.
std::vector<std::filesystem::path> list_baselines(const std::filesystem::path& baselines_dir);

/// The baseline of that key, or nothing. bad_input where the file is of another key than its name says.
std::optional<stored_run_set> find_baseline(const std::filesystem::path& baselines_dir,
                                            const gate::build_identity& identity);

/// The file a person means: a path, a name as `list` shows it, a pair, or the beginning of a name. bad_input
/// where there is none or more than one.
std::filesystem::path resolve_baseline(const std::filesystem::path& baselines_dir, const std::string& name);

/// The run directories that baselines come from: retention keeps them. Files that cannot be read name none.
std::vector<std::string> run_ids_of_baselines(const std::filesystem::path& baselines_dir);

struct accept_request {
  std::filesystem::path baselines_dir{};
  std::filesystem::path history_file{};
  std::string reason{};
  std::string author{};
  /// Content of the baseline that the new one is to take the place of; empty: there is none. Nothing: what
  /// is there when the command begins.
  std::optional<std::string> replaces_sha256{};
  std::size_t min_runs = 8;  ///< of each stage, without those that do not count
};

struct accepted_baseline {
  std::filesystem::path file{};
  stored_run_set stored{};
};

/// Makes the run set the baseline of its key and appends it to the history, as one act: where one of them
/// cannot be written neither is, and what was killed in between is finished when the same run set is accepted
/// again. bad_input for an empty reason, no author, or a run set that no candidate could be compared with.
/// Where somebody else's baseline came in between: step_failure, and theirs stays.
accepted_baseline accept_baseline(stored_run_set candidate, const accept_request& request);

/// The content's checksum of the baseline of that key as it is now; empty: there is none. A damaged one is
/// an error: accepting would lose its record.
std::string current_checksum(const std::filesystem::path& baselines_dir,
                             const gate::build_identity& identity);

}  // namespace profgate::baselines
