#include "run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "artifacts/files.h"
#include "core/error.h"
#include "core/utc_time.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kept_comparisons = 20;  // of a pair
constexpr std::uint64_t max_run_bytes = std::uint64_t{64} << 20;

void tell(const std::function<void(const std::string&)>& say, const std::string& line) {
  if (say) say(line);
}

[[noreturn]] void fail_on(const fs::path& path, const std::string& what) {
  throw core::bad_input(fmt::format("{}: {}", path.string(), what),
                        "make the folder writable, or choose another with --out");
}

/// One for all comparisons of a pair: two at once would disturb each other, whatever they compare.
core::file_lock lock_pair(const fs::path& parent) {
  artifacts::make_folder(parent);
  const fs::path file = parent / ".lock";
  std::optional<core::file_lock> lock;
  try {
    lock = core::file_lock::try_file(file);
  } catch (const fs::filesystem_error& problem) {
    fail_on(file, problem.code().message());
  }
  if (lock) return std::move(*lock);
  throw core::bad_input(fmt::format("another profgate compares builds of this pair ({})", file.string()),
                        "wait until it is done: two at once would disturb each other");
}

bool begins_like(const std::string& name, std::string_view form) {
  if (name.size() < form.size()) return false;
  return std::equal(form.begin(), form.end(), name.begin(), [](char wanted, char c) {
    const bool is_digit = c >= '0' && c <= '9';
    if (wanted == 'x') return is_digit || (c >= 'a' && c <= 'f');
    return wanted == '0' ? is_digit : c == wanted;
  });
}

/// When the comparison in it came to its end, as "20261115-124615", or was last worked on. Nothing: it is no
/// folder of a comparison.
std::optional<std::string> last_used(const fs::path& folder) {
  static constexpr std::string_view time_form = "00000000-000000";
  static constexpr std::string_view id_form = "xxxxxxxxxxxx";
  const std::string name = folder.filename().string();
  if (!fs::exists(folder / "plan.json")) return std::nullopt;
  const bool is_finished =
      begins_like(name, fmt::format("{}-{}", time_form, id_form));  // perhaps with an ending
  if (is_finished) return name.substr(0, time_form.size());
  if (name.size() != id_form.size() || !begins_like(name, id_form)) return std::nullopt;
  fs::file_time_type latest = fs::last_write_time(folder / "plan.json");
  if (fs::exists(folder / "runs")) latest = std::max(latest, fs::last_write_time(folder / "runs"));
  return core::utc_compact(
      std::chrono::time_point_cast<core::utc_clock::duration>(std::chrono::file_clock::to_sys(latest)));
}

/// Unfinished comparisons among them: whose settings have changed nobody goes on with. This pair's lock is
/// ours, so none of them is at work.
void remove_oldest(const fs::path& parent) {
  std::vector<std::pair<std::string, fs::path>> comparisons;  // by last use
  for (const fs::directory_entry& entry : fs::directory_iterator(parent)) {
    if (!entry.is_directory()) continue;
    if (const std::optional<std::string> used = last_used(entry.path()))
      comparisons.emplace_back(*used, entry.path());
  }
  std::sort(comparisons.begin(), comparisons.end());
  for (std::size_t i = 0; i + kept_comparisons < comparisons.size(); ++i)
    fs::remove_all(comparisons[i].second);
}

}  // namespace

run_folder::run_folder(const fs::path& parent, const plan_record& plan,
                       const std::function<void(const std::string&)>& say) try
    : m_parent(parent), m_path(parent / plan.id), m_id(plan.id), m_lock(lock_pair(parent)) {
  take_up(plan, say);
} catch (const fs::filesystem_error& problem) {
  fail_on(parent, problem.code().message());
}

void run_folder::take_up(const plan_record& plan, const std::function<void(const std::string&)>& say) {
  const fs::path plan_file = m_path / "plan.json";
  if (fs::exists(plan_file)) {
    const plan_record before = parse_plan(artifacts::read_file(plan_file, max_run_bytes), plan_file.string());
    const bool same_boot = before.boot_id == plan.boot_id;
    if (same_boot && before.gpu_uuid == plan.gpu_uuid) {
      read_runs();
      if (!m_state.runs.empty()) {
        tell(say, fmt::format("goes on after {} runs of {}", m_state.runs.size(), before.created_utc));
      }
    } else {
      const fs::path moved = rename_to("-abandoned");
      tell(say,
           fmt::format("starts afresh: the runs of {} were made {}; they are in {}", before.created_utc,
                       same_boot ? "on another GPU" : "before the machine was started anew", moved.string()));
    }
  }
  for (const char* part : {"runs", "logs", "traces"}) fs::create_directories(m_path / part);
  if (!fs::exists(plan_file)) artifacts::write_file_atomically(plan_file, plan_json(plan));
}

void run_folder::read_runs() {
  std::vector<fs::path> files;
  if (fs::exists(m_path / "runs")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(m_path / "runs")) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::size_t sessions = 0;
  std::vector<finished_run> runs;
  for (const fs::path& file : files) {
    runs.push_back(parse_run(artifacts::read_file(file, max_run_bytes), file.string()));
    if (runs.back().record.slot != runs.size() - 1 ||
        file.stem() != stem(runs.back().record.slot, runs.back().arm)) {
      throw core::bad_input(file.string(), 0, "the runs before it are not all there",
                            "remove its folder: the comparison then starts afresh");
    }
    sessions = std::max(sessions, runs.back().session + 1);
  }
  const std::size_t keep = runs_to_keep(runs);
  for (std::size_t i = files.size(); i > keep; --i) fs::remove(files[i - 1]);
  runs.resize(keep);
  m_state = {sessions, std::move(runs)};
}

std::string run_folder::stem(std::size_t slot, gate::arm which) {
  return fmt::format("{:03}-{}", slot, arm_name(which));
}

void run_folder::add(finished_run run) {
  run.record.slot = m_state.runs.size();
  run.session = m_state.session;
  artifacts::write_file_atomically(m_path / "runs" / (stem(run.record.slot, run.arm) + ".json"),
                                   run_json(run));
  m_state.runs.push_back(std::move(run));
}

fs::path run_folder::rename_to(const std::string& ending) {
  const std::string name = core::utc_compact(core::utc_clock::now()) + "-" + m_id + ending;
  fs::path target = m_parent / name;
  for (int ordinal = 2; fs::exists(target); ++ordinal)
    target = m_parent / fmt::format("{}-{}", name, ordinal);
  fs::rename(m_path, target);
  return target;
}

fs::path run_folder::archive() {
  m_path = rename_to("");
  remove_oldest(m_parent);
  return m_path;
}

}  // namespace profgate::ab
