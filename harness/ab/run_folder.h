#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "ab/next_step.h"
#include "core/file_lock.h"
#include "run_json.h"

namespace profgate::ab {

/// A comparison on disk: <folder>/<id>/ with plan.json, runs/NNN-<arm>.json, logs/ and traces/. One process
/// at a time holds it; a finished one is renamed, so that the next comparison of the same builds starts anew.
class run_folder {
 public:
  /// Takes up what is there, or starts afresh and says why: another boot or GPU would not be comparable
  /// with the runs before. bad_input where another process is at work on it, or a file is damaged.
  run_folder(const std::filesystem::path& parent, const plan_record& plan,
             const std::function<void(const std::string&)>& say);

  const comparison_state& state() const { return m_state; }
  const std::filesystem::path& path() const { return m_path; }

  /// Gives the run its number and session, and writes it.
  void add(finished_run run);

  /// "012-candidate", for the files of the run that comes next, or of run `slot`.
  std::string stem(gate::arm which) const { return stem(m_state.runs.size(), which); }
  static std::string stem(std::size_t slot, gate::arm which);

  /// Renames it to <time>-<id> and returns where it is now. Of a pair the newest 20 stay, unfinished ones
  /// among them by when they were last worked on.
  std::filesystem::path archive();

 private:
  void take_up(const plan_record& plan, const std::function<void(const std::string&)>& say);
  void read_runs();
  std::filesystem::path rename_to(const std::string& ending);

  std::filesystem::path m_parent;
  std::filesystem::path m_path;
  std::string m_id;
  comparison_state m_state;
  core::file_lock m_lock;
};

}  // namespace profgate::ab
