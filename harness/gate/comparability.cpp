#include "gate/comparability.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "core/units.h"
#include "gate/process_runs.h"
#include "gate/rank_statistics.h"

namespace profgate::gate {
namespace {

/// How drivers begin the names of GPUs; anything else is a CPU.
constexpr std::array<std::string_view, 7> gpu_brands{"NVIDIA", "Tesla", "Quadro", "GeForce",
                                                     "GRID",   "TITAN", "a GPU"};
constexpr double most_clock_difference_ratio = 0.01;

bool is_gpu_name(std::string_view name) {
  return std::any_of(gpu_brands.begin(), gpu_brands.end(),
                     [&](std::string_view brand) { return name.starts_with(brand); });
}

std::string another_key(const char* what, const std::string& before, const std::string& now) {
  return fmt::format("the baseline is of another {}: {}, this is {}", what, before.empty() ? "none" : before,
                     now.empty() ? "none" : now);
}

void compare_keys(const build_identity& baseline, const build_identity& candidate, comparability& result) {
  const auto differ = [&](const char* what, const std::string& before, const std::string& now) {
    if (before != now) result.obstacles.push_back(another_key(what, before, now));
  };
  differ("pair", baseline.pair, candidate.pair);
  differ("model", baseline.model, candidate.model);
  if (device_text(baseline) != device_text(candidate))
    result.obstacles.push_back(
        another_key("device", device_words(device_text(baseline)), device_words(device_text(candidate))));
  if (baseline.is_profiled != candidate.is_profiled) {
    result.obstacles.push_back(fmt::format("the times of the {} were taken under a profiler, the others bare",
                                           baseline.is_profiled ? "baseline" : "candidate"));
  }
}

/// Packages are named by who installs them.
constexpr std::array<std::string_view, 2> package_kinds{"pip ", "dpkg "};

/// Why the packages of a kind are not known; empty: they are.
std::string why_unknown(const build_identity& identity, std::string_view kind) {
  const auto reason = identity.versions.find(std::string(kind) + "packages");
  if (reason != identity.versions.end())
    return reason->second.starts_with(unknown_prefix) ? reason->second.substr(unknown_prefix.size())
                                                      : reason->second;
  const auto first = identity.versions.lower_bound(std::string(kind));
  return first != identity.versions.end() && first->first.starts_with(kind) ? "" : "none were recorded";
}

/// Where neither has any, there is nothing to know: a program that starts no Python.
void compare_packages(const build_identity& baseline, const build_identity& candidate, std::string_view kind,
                      comparability& result) {
  std::map<std::string, package_change> changes;
  for (const auto& [name, version] : baseline.versions)
    if (name.starts_with(kind)) changes[name].baseline = version;
  for (const auto& [name, version] : candidate.versions)
    if (name.starts_with(kind)) changes[name].candidate = version;
  if (changes.empty()) return;
  const std::string before_unknown = why_unknown(baseline, kind);
  const std::string now_unknown = why_unknown(candidate, kind);
  const auto tell = [&](const char* whose, const std::string& reason) {
    if (!reason.empty())
      result.unknown_packages.push_back(fmt::format("{}packages of the {}: {}", kind, whose, reason));
  };
  if (before_unknown == now_unknown) {
    tell("two", now_unknown);
  } else {
    tell("baseline", before_unknown);
    tell("candidate", now_unknown);
  }
  if (!before_unknown.empty() || !now_unknown.empty()) return;
  for (auto& [name, change] : changes) {
    if (change.baseline == change.candidate) continue;
    change.name = name;
    result.packages.push_back(change);
  }
}

constexpr const char* not_recorded = "not recorded";

void compare_versions(const build_identity& baseline, const build_identity& candidate,
                      comparability& result) {
  std::set<std::string> names;
  for (const auto& [name, version] : baseline.versions) names.insert(name);
  for (const auto& [name, version] : candidate.versions) names.insert(name);
  const auto version_of = [](const build_identity& identity, const std::string& name) {
    const auto found = identity.versions.find(name);
    // "unknown unknown": as an earlier profgate wrote it of programs that it did not build.
    const bool is_known = found != identity.versions.end() && !found->second.starts_with("unknown");
    return is_known ? found->second : std::string(not_recorded);
  };
  for (const std::string_view kind : package_kinds) compare_packages(baseline, candidate, kind, result);
  for (const std::string& name : names) {
    if (is_package(name)) continue;
    const std::string before = version_of(baseline, name);
    const std::string now = version_of(candidate, name);
    if (before == now) continue;
    result.warnings.push_back(fmt::format("{} was {} in the baseline and is {} now", name, before, now));
    const bool is_of_the_build = name == "compiler" || name == "build_type";
    const bool are_known = before != not_recorded && now != not_recorded;
    if (!is_of_the_build && are_known) result.circumstances.push_back(result.warnings.back());
  }
  for (const package_change& package : result.packages) {
    const auto version = [](const std::string& text) { return text.empty() ? std::string("none") : text; };
    result.circumstances.push_back(
        fmt::format("{} {} → {}", package.name, version(package.baseline), version(package.candidate)));
  }
}

/// Of the processes that count; nothing where no clock was seen.
std::optional<double> median_clock_mhz(const run_set& runs) {
  std::vector<double> clocks_mhz;
  for (const process_record* process : counted_processes(runs)) {
    if (process->conditions.sm_clock_mhz) clocks_mhz.push_back(*process->conditions.sm_clock_mhz);
  }
  if (clocks_mhz.empty()) return std::nullopt;
  return median_of(clocks_mhz);
}

void compare_clocks(const run_set& baseline, const run_set& candidate, comparability& result) {
  const std::optional<double> before = median_clock_mhz(baseline);
  const std::optional<double> now = median_clock_mhz(candidate);
  if (!before || !now || *before <= 0) return;
  const double ratio = *now / *before - 1;
  if (std::abs(ratio) <= most_clock_difference_ratio) return;
  result.warnings.push_back(
      fmt::format("the median clock was {:.0f} MHz in the baseline and is {:.0f} MHz now ({})", *before, *now,
                  core::format_signed_percent(ratio)));
  if (ratio < 0) result.circumstances.push_back(result.warnings.back());
}

/// Of the processes that count, how many were held back so: a power cap, say.
std::map<std::string, double> throttled_shares(const run_set& runs) {
  std::map<std::string, double> shares;
  const std::vector<const process_record*> counted = counted_processes(runs);
  for (const process_record* process : counted) {
    for (const std::string& reason : process->conditions.throttle_reasons)
      shares[reason] += 1 / static_cast<double>(counted.size());
  }
  return shares;
}

void compare_throttling(const run_set& baseline, const run_set& candidate, comparability& result) {
  constexpr double far_more = 0.5;
  const std::map<std::string, double> before = throttled_shares(baseline);
  for (const auto& [reason, share] : throttled_shares(candidate)) {
    const auto known = before.find(reason);
    const double was = known == before.end() ? 0 : known->second;
    if (share < was + far_more) continue;
    result.circumstances.push_back(
        fmt::format("{} in {:.0f} % of the candidate's processes and {:.0f} % of the baseline's", reason,
                    100 * share, 100 * was));
  }
}

void add_disturbances(const run_set& runs, const char* whose, comparability& result) {
  for (const std::string& disturbance : disturbances(runs)) {
    result.obstacles.push_back(fmt::format("the {}: {}", whose, disturbance));
  }
}

bool is_hardware_slowdown(const std::string& reason) {
  return reason.starts_with("hardware_");
}

comparability compare_what_both_need(const run_set& baseline, const run_set& candidate) {
  comparability result;
  compare_keys(baseline.identity, candidate.identity, result);
  add_disturbances(baseline, "baseline", result);
  add_disturbances(candidate, "candidate", result);
  compare_versions(baseline.identity, candidate.identity, result);
  compare_clocks(baseline, candidate, result);
  compare_throttling(baseline, candidate, result);
  return result;
}

}  // namespace

bool is_package(const std::string& name) {
  return std::any_of(package_kinds.begin(), package_kinds.end(),
                     [&](std::string_view kind) { return name.starts_with(kind); });
}

std::string device_text(const build_identity& identity) {
  return fmt::format("{}×{}", identity.device_name, identity.multiprocessors);
}

bool is_of_gpu(const build_identity& identity) {
  return is_gpu_name(identity.device_name);
}

std::string device_words(std::string_view device) {
  constexpr std::string_view times = "×";
  const std::size_t at = device.rfind(times);
  if (at == std::string_view::npos) return std::string(device);
  const std::string_view name = device.substr(0, at);
  const std::string_view count = device.substr(at + times.size());
  if (count == "0") return std::string(name);
  return fmt::format("{} ({} {}{})", name, count, is_gpu_name(name) ? "SM" : "core", count == "1" ? "" : "s");
}

std::vector<std::string> disturbances(const run_set& runs) {
  std::map<std::string, std::size_t> slowdowns;
  std::set<std::string> foreign;
  std::size_t shared = 0;
  for (const process_record* process : counted_processes(runs)) {
    for (const std::string& reason : process->conditions.throttle_reasons) {
      if (is_hardware_slowdown(reason)) ++slowdowns[reason];
    }
    const auto& others = process->conditions.foreign_processes;
    foreign.insert(others.begin(), others.end());
    shared += others.empty() ? 0 : 1;
  }
  std::vector<std::string> found;
  for (const auto& [reason, count] : slowdowns) {
    found.push_back(fmt::format("{} in {} of its {} processes", reason, count, runs.processes.size()));
  }
  if (shared > 0) {
    found.push_back(fmt::format("{} of its {} processes shared the device with {}", shared,
                                runs.processes.size(), fmt::join(foreign, ", ")));
  }
  return found;
}

comparability compare_arms(const run_set& baseline, const run_set& candidate) {
  comparability result = compare_what_both_need(baseline, candidate);
  // Two commands were typed because they differ, and nothing was built for them.
  const bool are_typed =
      !baseline.identity.typed_settings_sha256.empty() && !candidate.identity.typed_settings_sha256.empty();
  if (are_typed) {
    if (baseline.identity.typed_settings_sha256 != candidate.identity.typed_settings_sha256)
      result.warnings.push_back("the two ran with other settings of the workload");
    return result;
  }
  if (baseline.identity.config_sha256 != candidate.identity.config_sha256)
    result.warnings.push_back("the two ran by other commands or with other settings of the workload");
  if (baseline.identity.is_dirty)
    result.warnings.push_back("the baseline was built from uncommitted changes");
  return result;
}

comparability compare_identities(const run_set& baseline, const run_set& candidate) {
  comparability result = compare_what_both_need(baseline, candidate);
  const std::string before = baseline.identity.config_sha256.substr(0, 12);
  const std::string now = candidate.identity.config_sha256.substr(0, 12);
  if (before != now) result.obstacles.push_back(another_key("configuration", before, now));
  if (baseline.identity.is_dirty) {
    result.obstacles.push_back("the baseline is of uncommitted code, which nobody can build again");
  }
  if (baseline.identity.host != candidate.identity.host) {
    result.warnings.push_back(fmt::format("the baseline was measured on the host {}, this is {}",
                                          baseline.identity.host, candidate.identity.host));
  }
  return result;
}

bool are_interleaved(const run_set& baseline, const run_set& candidate) {
  const build_identity& a = baseline.identity;
  const build_identity& b = candidate.identity;
  if (a.boot_id != b.boot_id || a.boot_id.empty() || a.device_uuid != b.device_uuid || a.host != b.host) {
    return false;
  }
  std::map<std::size_t, bool> is_baseline_of_slot;
  std::size_t baseline_runs = 0;
  std::size_t candidate_runs = 0;
  for (const process_record& process : baseline.processes) {
    if (process.spoiled_by) continue;
    if (!is_baseline_of_slot.emplace(process.slot, true).second) return false;
    ++baseline_runs;
  }
  for (const process_record& process : candidate.processes) {
    if (process.spoiled_by) continue;
    if (!is_baseline_of_slot.emplace(process.slot, false).second) return false;
    ++candidate_runs;
  }
  std::size_t turns = 0;
  bool last = is_baseline_of_slot.empty() || is_baseline_of_slot.begin()->second;
  for (const auto& [slot, is_baseline] : is_baseline_of_slot) {
    if (is_baseline != last) ++turns;
    last = is_baseline;
  }
  // ABBA blocks change at least once every two processes of an arm, however their coins fell.
  return turns > 0 && 2 * turns >= std::min(baseline_runs, candidate_runs);
}

}  // namespace profgate::gate
