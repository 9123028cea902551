#include "gate/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/stage_operations.h"
#include "core/units.h"
#include "gate/judgement.h"
#include "gate/run_set.h"
#include "joined_causes.h"

namespace profgate::gate {
namespace {

constexpr double least_difference_ratio = 0.03;
constexpr const char* as_fast_alone = "alone as fast as before";

/// Several kernels that changed together are called by the largest, "f and 2 more".
bool is_called(const std::string& story, const std::string& kernel) {
  return story == kernel || story.starts_with(kernel + " and ");
}

/// Of which one alone was counted: nothing can be said of all by its counters.
bool is_of_several(const cause& story) {
  return names_several(story.name) || names_several(story.baseline_name);
}

bool is_of_kernel(const cause& story) {
  const bool has_candidate =
      story.kind != cause_kind::idle && story.kind != cause_kind::gone_operation && story.delta_ns > 0;
  return has_candidate && !analysis::is_copy_name(story.name) && story.category != "host";
}

/// A story's kernel as one arm calls it.
struct arm_kernel {
  std::string name{};
  std::string path{};  ///< empty: any
};

arm_kernel in_candidate(const cause& story) {
  return {story.name, story.path};
}

std::optional<arm_kernel> in_baseline(const cause& story) {
  if (story.kind == cause_kind::new_operation) return std::nullopt;
  return arm_kernel{story.baseline_name.empty() ? story.name : story.baseline_name,
                    story.baseline_path.empty() ? story.path : story.baseline_path};
}

bool is_it(const arm_kernel& wanted, const std::string& name, const std::string& path) {
  return is_called(wanted.name, name) && (wanted.path.empty() || wanted.path == path);
}

std::optional<suspect> traced_kernel(const run_set& runs, const std::string& stage,
                                     const arm_kernel& wanted) {
  for (const auto& process : runs.traces) {
    const auto traced = process.find(stage);
    if (traced == process.end()) continue;
    const analysis::operation_sum* longest = nullptr;
    for (const analysis::operation_sum& sum : traced->second.operations) {
      const bool is_longer = longest == nullptr || sum.exclusive_units > longest->exclusive_units;
      if (is_it(wanted, sum.name, sum.operator_path) && is_longer) longest = &sum;
    }
    if (longest != nullptr) return suspect{stage, longest->name, longest->operator_path};
  }
  return std::nullopt;
}

void add_once(std::vector<suspect>& all, const std::optional<suspect>& one) {
  if (one && std::find(all.begin(), all.end(), *one) == all.end()) all.push_back(*one);
}

std::vector<cause> leading_kernels(const stage_judgement& stage) {
  if (stage.which != verdict::regressed || !stage.attributed) return {};
  std::vector<cause> leading = leading_causes(*stage.attributed, most_suspects);
  std::erase_if(leading, [](const cause& story) { return !is_of_kernel(story); });
  return leading;
}

const kernel_counts* counts_of(const run_set& runs, const std::string& stage, const arm_kernel& wanted) {
  const auto found = std::find_if(runs.counters.begin(), runs.counters.end(), [&](const kernel_counts& one) {
    return one.stage == stage && is_it(wanted, one.name, one.path);
  });
  return found == runs.counters.end() ? nullptr : &*found;
}

/// "9.2 → 11.3 µs", both in the unit of the larger one.
struct scaled_unit {
  double size;
  const char* text;
};

template <std::size_t count>
std::string scaled(double before, double now, const std::array<scaled_unit, count>& units) {
  const double larger = std::max(before, now);
  const auto unit = std::find_if(units.begin(), units.end() - 1,
                                 [&](const scaled_unit& each) { return larger >= each.size; });
  const int decimals = larger / unit->size < 10 ? 2 : 1;
  return fmt::format("{:.{}f} → {:.{}f}{}{}", before / unit->size, decimals, now / unit->size, decimals,
                     *unit->text == '\0' ? "" : " ", unit->text);
}

constexpr std::array<scaled_unit, 2> time_units{{{1e6, "ms"}, {1e3, "µs"}}};
constexpr std::array<scaled_unit, 3> byte_units{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}};
constexpr std::array<scaled_unit, 4> count_units{{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};

bool differs(double before, double now) {
  return std::abs(now - before) > least_difference_ratio * std::max(before, 0.0);
}

bool is_as_fast_alone(const kernel_counts& before, const kernel_counts& now) {
  return before.duration_ns && now.duration_ns && !differs(*before.duration_ns, *now.duration_ns);
}

/// What another kernel took over of its work may even have made it faster.
bool is_no_slower_alone(const kernel_counts& before, const kernel_counts& now) {
  return is_as_fast_alone(before, now) ||
         (before.duration_ns && now.duration_ns && *now.duration_ns < *before.duration_ns);
}

/// Fewer bytes than these are no work: a launch that ran alone reads them for its own parameters and code.
constexpr double fewest_bytes = 100e3;
constexpr double doubled_ratio = 1.9;

bool has_doubled_bytes(const kernel_counts& before, const kernel_counts& now) {
  return before.dram_bytes && now.dram_bytes && *now.dram_bytes > fewest_bytes &&
         *now.dram_bytes >= doubled_ratio * *before.dram_bytes;
}

/// Whether its machine code is known of both builds and is the same.
bool has_same_code(const cause& story, const std::string& stage, const run_set& baseline,
                   const run_set& candidate) {
  const auto code_in = [&](const run_set& runs, const arm_kernel& wanted) {
    const auto known = runs.structure.find(stage);
    if (known == runs.structure.end()) return std::string();
    for (const operation_facts& facts : known->second.operations)
      if (is_it(wanted, facts.name, facts.path)) return facts.code;
    return std::string();
  };
  const std::optional<arm_kernel> before = in_baseline(story);
  const std::string code = before ? code_in(baseline, *before) : "";
  return !code.empty() && code == code_in(candidate, in_candidate(story));
}

/// "bytes and code unchanged": what a reader would look for next.
std::string unchanged_text(const kernel_counts& before, const kernel_counts& now, bool is_code_same) {
  const bool are_bytes_same =
      before.dram_bytes && now.dram_bytes && !differs(*before.dram_bytes, *now.dram_bytes);
  if (are_bytes_same) return is_code_same ? "bytes and code unchanged" : "bytes unchanged";
  return is_code_same ? "code unchanged" : "";
}

void add_to(cause& story, const kernel_counts* before, const kernel_counts* now, bool is_code_same) {
  if (now == nullptr) return;
  if (story.kind == cause_kind::new_operation) {
    if (now->duration_ns)
      story.evidence.push_back(fmt::format("alone {}", core::format_duration(*now->duration_ns)));
    if (now->dram_bytes)
      story.evidence.push_back(fmt::format("DRAM {}", core::format_bytes(*now->dram_bytes)));
  }
  if (before == nullptr) return;
  const bool is_one_of_several = is_of_several(story);
  bool is_first = true;
  for (std::string& line : difference_lines(*before, *now)) {
    const bool is_told =
        line.starts_with("registers ") &&
        std::find(story.changes.begin(), story.changes.end(), "launch configuration") != story.changes.end();
    if (is_told || (is_one_of_several && line == as_fast_alone)) continue;
    if (is_one_of_several && std::exchange(is_first, false)) line.insert(0, "the largest kernel of each: ");
    story.evidence.push_back(std::move(line));
  }
  if (is_one_of_several) return;
  if (std::string same = unchanged_text(*before, *now, is_code_same); !same.empty())
    story.evidence.push_back(std::move(same));
  const bool is_known = std::find(story.changes.begin(), story.changes.end(), "work") != story.changes.end();
  if (has_doubled_bytes(*before, *now) && !is_known) story.changes.emplace_back("work");
}

/// ncu's rates of few sectors come out at a little more than all.
double percent(double ratio) {
  return 100 * std::min(ratio, 1.0);
}

}  // namespace

const std::vector<count_row>& count_rows() {
  static const std::vector<count_row> rows{
      {"duration_ns", &kernel_counts::duration_ns},         {"dram_bytes", &kernel_counts::dram_bytes},
      {"l2_hit_ratio", &kernel_counts::l2_hit_ratio},       {"instructions", &kernel_counts::instructions},
      {"occupancy_ratio", &kernel_counts::occupancy_ratio}, {"registers", &kernel_counts::registers}};
  return rows;
}

suspects suspects_of(const judgement& judged, const run_set& baseline, const run_set& candidate) {
  struct ranked {
    const stage_judgement* stage;
    cause story;
    bool is_first;
    double share;  ///< of its stage's difference
  };
  std::vector<ranked> all;
  for (const stage_judgement& stage : judged.stages) {
    bool is_first = true;
    for (const cause& story : leading_kernels(stage)) {
      all.push_back({&stage, story, is_first, story.delta_ns / stage.attributed->explained_difference_ns()});
      is_first = false;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const ranked& a, const ranked& b) {
    return a.is_first != b.is_first ? a.is_first : !a.is_first && a.share > b.share;
  });
  suspects found;
  for (const ranked& one : all) {
    if (found.candidate.size() == most_suspects) break;
    add_once(found.candidate, traced_kernel(candidate, one.stage->stage, in_candidate(one.story)));
    if (const auto before = in_baseline(one.story))
      add_once(found.baseline, traced_kernel(baseline, one.stage->stage, *before));
  }
  return found;
}

std::vector<std::string> difference_lines(const kernel_counts& baseline, const kernel_counts& candidate) {
  std::vector<std::string> lines;
  const auto compare = [&](std::optional<double> kernel_counts::*value, const auto& line_of) {
    const std::optional<double>& before = baseline.*value;
    const std::optional<double>& now = candidate.*value;
    if (before && now) line_of(*before, *now);
  };
  const auto amount = [&](const char* what, const auto& units) {
    return [&lines, what, &units](double before, double now) {
      if (differs(before, now)) lines.push_back(fmt::format("{} {}", what, scaled(before, now, units)));
    };
  };
  const auto ratio = [&](const char* what) {
    return [&lines, what](double before, double now) {
      if (std::abs(now - before) > least_difference_ratio)
        lines.push_back(fmt::format("{} {:.0f} → {:.0f} %", what, percent(before), percent(now)));
    };
  };
  compare(&kernel_counts::duration_ns, amount("alone", time_units));
  if (is_as_fast_alone(baseline, candidate)) lines.emplace_back(as_fast_alone);
  compare(&kernel_counts::dram_bytes, amount("DRAM", byte_units));
  compare(&kernel_counts::l2_hit_ratio, ratio("L2 hits"));
  compare(&kernel_counts::instructions, amount("instructions", count_units));
  compare(&kernel_counts::occupancy_ratio, ratio("occupancy"));
  compare(&kernel_counts::registers, [&](double before, double now) {
    if (before != now) lines.push_back(fmt::format("registers {:.0f} → {:.0f}", before, now));
  });
  return lines;
}

void add_counters(const run_set& baseline, const run_set& candidate, judgement& judged) {
  std::string reason =
      candidate.uncounted_because.empty() ? baseline.uncounted_because : candidate.uncounted_because;
  for (stage_judgement& stage : judged.stages) {
    if (leading_kernels(stage).empty()) continue;
    stage.uncounted_because = std::exchange(reason, "");
    const auto before_of = [&](const cause& story) {
      const auto before = in_baseline(story);
      return before ? counts_of(baseline, stage.stage, *before) : nullptr;
    };
    const auto now_of = [&](const cause& story) {
      return counts_of(candidate, stage.stage, in_candidate(story));
    };
    const auto is_so_alone = [&](const cause& story) {
      const kernel_counts* const before = before_of(story);
      const kernel_counts* const now = now_of(story);
      return before != nullptr && now != nullptr && is_no_slower_alone(*before, *now);
    };
    call_first_kernel_a_launch(is_so_alone, *stage.attributed);
    join_unchanged_alone(is_so_alone, *stage.attributed);
    for (cause& story : stage.attributed->causes)
      if (is_of_kernel(story))
        add_to(story, before_of(story), now_of(story),
               has_same_code(story, stage.stage, baseline, candidate));
  }
}

}  // namespace profgate::gate
