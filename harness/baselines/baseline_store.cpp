#include "baselines/baseline_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "artifacts/files.h"
#include "core/error.h"
#include "core/slips.h"
#include "gate/comparability.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t short_hash_digits = 12;

/// A part of a path that is safe on every file system: letters, digits, dots; all else becomes one dash.
std::string slug(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_plain =
        is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (is_plain) {
      result += is_upper ? static_cast<char>(c | 0x20) : c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  while (result.ends_with('-')) result.pop_back();
  const bool would_hide = result.empty() || result.front() == '.';
  return would_hide ? std::string("x").append(result) : result;
}

/// Where the baselines of a pair lie, below the folder of all.
fs::path place_of_pair(const std::string& pair) {
  const std::size_t dot = pair.rfind('.');
  const std::string config = dot == std::string::npos ? "" : pair.substr(dot + 1);
  return fs::path(slug(pair.substr(0, dot))) / slug(config);
}

bool is_same_key(const gate::build_identity& a, const gate::build_identity& b) {
  return a.pair == b.pair && a.config_sha256 == b.config_sha256 && a.device_name == b.device_name &&
         a.multiprocessors == b.multiprocessors;
}

}  // namespace

fs::path baseline_name(const gate::build_identity& identity) {
  return place_of_pair(identity.pair) / fmt::format("{}-{}x{}.json",
                                                    slug(identity.config_sha256.substr(0, short_hash_digits)),
                                                    slug(identity.device_name), identity.multiprocessors);
}

bool is_of_anchor(const fs::path& name) {
  return name.string().starts_with(anchor_prefix);
}

std::vector<fs::path> list_baselines(const fs::path& baselines_dir) {
  std::vector<fs::path> names = list_run_set_files(baselines_dir);
  std::erase_if(names, is_of_anchor);
  return names;
}

std::vector<fs::path> list_run_set_files(const fs::path& baselines_dir) {
  std::vector<fs::path> names;
  std::error_code failed;
  fs::recursive_directory_iterator entry(baselines_dir, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    const bool is_hidden = entry->path().filename().string().starts_with('.');
    if (!is_hidden && entry->path().extension() == ".json" && entry->is_regular_file()) {
      names.push_back(entry->path().lexically_relative(baselines_dir));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<stored_run_set> find_baseline(const fs::path& baselines_dir,
                                            const gate::build_identity& identity) {
  const fs::path file = baselines_dir / baseline_name(identity);
  if (!artifacts::file_exists(file)) return std::nullopt;
  stored_run_set stored = read_run_set(file);
  if (!is_same_key(stored.runs.identity, identity)) {
    throw core::bad_input(
        file.string(), 0,
        fmt::format("is a run set of {} on {}, not of what its name says", stored.runs.identity.pair,
                    gate::device_words(gate::device_text(stored.runs.identity))),
        fmt::format("move it to {}", (baselines_dir / baseline_name(stored.runs.identity)).string()));
  }
  return stored;
}

std::string folder_of_pair(const std::string& pair) {
  return place_of_pair(pair).string() + "/";
}

fs::path resolve_baseline(const fs::path& baselines_dir, const std::string& name) {
  if (fs::is_regular_file(name)) return name;
  if (fs::is_regular_file(baselines_dir / name)) return baselines_dir / name;
  std::vector<fs::path> matches;
  std::vector<std::string> all;
  for (const fs::path& candidate : list_baselines(baselines_dir)) {
    all.push_back(candidate.string());
    const bool is_of_pair = all.back().starts_with(folder_of_pair(name));
    if (is_of_pair || all.back().starts_with(name)) matches.push_back(candidate);
  }
  if (matches.size() == 1) return baselines_dir / matches.front();
  if (matches.empty()) {
    throw core::bad_input(fmt::format("there is no baseline '{}' in {}", name, baselines_dir.string()),
                          all.empty() ? "the folder has none yet: profgate baseline accept makes one"
                                      : "profgate baseline list");
  }
  std::vector<std::string> names;
  for (const fs::path& match : matches) names.push_back(match.string());
  throw core::bad_input(fmt::format("'{}' could be {}", name, fmt::join(names, " or ")),
                        "name one of them as it is written here");
}

std::vector<std::string> run_ids_of_baselines(const fs::path& baselines_dir) {
  std::vector<std::string> ids;
  for (const fs::path& name : list_run_set_files(baselines_dir)) {
    try {
      const stored_run_set stored = read_run_set(baselines_dir / name);
      if (!stored.run_id.empty()) ids.push_back(stored.run_id);
    } catch (const core::error&) {  // whoever judges by it will be told what is wrong with it
    }
  }
  return ids;
}

}  // namespace profgate::baselines
