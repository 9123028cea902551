#include "baselines/anchor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "artifacts/files.h"
#include "baselines/baseline_store.h"
#include "baselines/history.h"
#include "core/error.h"
#include "gate/comparability.h"
#include "gate/since_anchor.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

bool can_be_a_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  constexpr std::size_t longest_bytes = 100;
  return !name.empty() && name.size() <= longest_bytes && std::all_of(name.begin(), name.end(), is_plain);
}

fs::path folder_named(const fs::path& baselines_dir, const std::string& name) {
  if (!can_be_a_name(name)) {
    throw core::bad_input(fmt::format("'{}' cannot be the name of an anchor", name),
                          "letters, digits, '.', '_' and '-' make one, such as v1.0");
  }
  return baselines_dir / (anchor_prefix + name);
}

std::set<std::string> names_of_anchors(const fs::path& baselines_dir) {
  std::set<std::string> names;
  for (const fs::path& file : list_anchors(baselines_dir))
    names.insert(file.begin()->string().substr(anchor_prefix.size()));
  return names;
}

/// What was accepted on this device with these settings after the anchor was measured.
gate::accepted_history accepted_since(const gate::run_set& anchor, const gate::run_set& candidate,
                                      const std::vector<history_entry>& entries) {
  gate::accepted_history history;
  for (const history_entry& entry : entries) {
    const bool is_of_series = entry.kind == history_kind::accepted &&
                              entry.device == gate::device_text(candidate.identity) &&
                              entry.config_sha256 == candidate.identity.config_sha256;
    const bool is_later = anchor.created_utc < entry.measured_utc &&
                          (candidate.created_utc.empty() || entry.measured_utc < candidate.created_utc);
    if (is_of_series && is_later)
      history[entry.stage].push_back({entry.commit, entry.measured_utc, entry.median_ns});
  }
  return history;
}

/// Why nothing is known of the pair: no clone brings the file along.
std::string without_history(const fs::path& history_file) {
  return fmt::format(
      "the history is a file of this machine, {}, and {}", history_file.string(),
      artifacts::file_exists(history_file) ? "nothing of the pair is in it" : "there is none here yet");
}

gate::anchor_judgement not_judged(const anchor_place& place, const std::string& reason) {
  gate::anchor_judgement since;
  since.name = place.name;
  since.not_judged_because = reason;
  return since;
}

gate::anchor_judgement judge(const anchor_place& place, const gate::run_set& candidate,
                             const gate::judge_rules& rules) {
  if (candidate.processes.empty()) return not_judged(place, "nothing of the candidate was run");
  std::optional<stored_run_set> anchor;
  try {
    anchor = find_baseline(folder_named(place.baselines_dir, place.name), candidate.identity);
  } catch (const core::not_possible& other_schema) {
    return not_judged(place, other_schema.what());
  }
  if (!anchor) {
    return not_judged(place,
                      fmt::format("it has no baseline for {} (settings {}) on {}", candidate.identity.pair,
                                  candidate.identity.config_sha256.substr(0, 12),
                                  gate::device_words(gate::device_text(candidate.identity))));
  }
  gate::accepted_history history;
  std::string no_history;
  try {
    std::vector<history_entry> entries;
    if (artifacts::file_exists(place.history_file))
      entries = read_history(place.history_file, candidate.identity.pair);
    history = accepted_since(anchor->runs, candidate, entries);
    if (entries.empty()) no_history = without_history(place.history_file);
  } catch (const core::bad_input& damaged) {  // a verdict stands without its list of commits
    no_history = damaged.what();
  }
  gate::anchor_judgement since = gate::judge_since(place.name, anchor->runs, candidate, rules, history);
  for (gate::anchor_stage& stage : since.stages) {
    if (!no_history.empty()) stage.unknown_parts_because = no_history;
  }
  return since;
}

}  // namespace

std::vector<fs::path> list_anchors(const fs::path& baselines_dir) {
  std::vector<fs::path> names = list_run_set_files(baselines_dir);
  std::erase_if(names, [](const fs::path& name) { return !is_of_anchor(name); });
  return names;
}

void require_anchor(const anchor_place& place) {
  if (fs::is_directory(folder_named(place.baselines_dir, place.name))) return;
  const std::set<std::string> known = names_of_anchors(place.baselines_dir);
  throw core::bad_input(
      fmt::format("gate.anchor names '{}', and there is no such anchor in {}{}", place.name,
                  place.baselines_dir.string(),
                  known.empty() ? "" : fmt::format(" (there are {})", fmt::join(known, ", "))),
      fmt::format("profgate baseline anchor <pair> --name {} makes one of the pair's baseline", place.name));
}

bool can_be_judged_since(const anchor_place& place, const gate::run_set& candidate) {
  try {
    const auto anchor = find_baseline(folder_named(place.baselines_dir, place.name), candidate.identity);
    return anchor && gate::compare_identities(anchor->runs, candidate).obstacles.empty();
  } catch (const core::not_possible&) {  // another schema
    return false;
  }
}

fs::path set_anchor(const fs::path& baselines_dir, const fs::path& file, const std::string& name,
                    move_anchor move) {
  const stored_run_set baseline = read_run_set(file);
  if (baseline.accepted.empty()) {
    throw core::bad_input(fmt::format("{} was never accepted as a baseline", file.string()),
                          "profgate baseline accept it first: an anchor is a baseline that stays");
  }
  const fs::path target = folder_named(baselines_dir, name) / baseline_name(baseline.runs.identity);
  if (artifacts::file_exists(target) && move == move_anchor::no) {
    const gate::run_set there = read_run_set(target).runs;
    throw core::bad_input(fmt::format("{} is the anchor '{}' already ({}, {})", target.string(), name,
                                      there.created_utc, gate::commit_text(there.identity)),
                          "choose another --name, or move it: --force");
  }
  artifacts::make_folder(target.parent_path());
  artifacts::write_file_atomically(target, artifacts::read_file(file));
  return target;
}

void judge_since_anchor(const anchor_place& place, const gate::run_set& candidate,
                        const gate::judge_rules& rules, const std::vector<gate::waiver>& waivers,
                        const std::string& today, gate::judgement& whole) {
  require_anchor(place);
  gate::apply_anchor(judge(place, candidate, rules), waivers, today, whole);
}

}  // namespace profgate::baselines
