#include "decision_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace profgate::gate {
namespace {

std::optional<double> as_ratio(const std::optional<double>& log_ratio) {
  if (!log_ratio) return std::nullopt;
  return to_ratio(*log_ratio);
}

}  // namespace

arm_pair block_of(const arm_pair& runs, std::size_t first, std::size_t count) {
  const auto part = [&](const std::vector<double>& arm) {
    const auto at = [&](std::size_t i) {
      return arm.begin() + static_cast<std::ptrdiff_t>(std::min(i, arm.size()));
    };
    return std::vector<double>(at(first), at(first + count));
  };
  return {part(runs.baseline_ns), part(runs.candidate_ns)};
}

double margin_log(double ratio, double ignored_difference_ns, double baseline_median_ns) {
  return to_log(std::max(ratio, ignored_difference_ns / baseline_median_ns));
}

std::optional<double> detectable(const log_ratios& ratios, double alpha, double margin, double least_log) {
  const std::optional<double> lower = ratios.lower_bound(alpha);
  if (!lower) return std::nullopt;
  return to_ratio(std::max(margin, least_log + ratios.hodges_lehmann() - *lower));
}

std::string p_text(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p);
}

std::string slowdown_text(double log_ratio) {
  const double percent = 100 * to_ratio(log_ratio);
  return percent < 0 ? fmt::format("{:.2f} % faster", -percent) : fmt::format("{:.2f} % slower", percent);
}

comparison compare(const arm_pair& runs) {
  const log_ratios ratios(runs.baseline_ns, runs.candidate_ns);
  comparison result;
  result.baseline_runs = runs.baseline_ns.size();
  result.candidate_runs = runs.candidate_ns.size();
  result.baseline_median_ns = median_of(runs.baseline_ns);
  result.candidate_median_ns = median_of(runs.candidate_ns);
  result.slowdown_ratio = to_ratio(ratios.hodges_lehmann());
  result.difference_ns = result.slowdown_ratio * result.baseline_median_ns;
  result.lower_95_ratio = as_ratio(ratios.lower_bound(0.05));
  result.upper_95_ratio = as_ratio(ratios.upper_bound(0.05));
  result.lower_99_ratio = as_ratio(ratios.lower_bound(0.01));
  result.upper_99_ratio = as_ratio(ratios.upper_bound(0.01));
  result.u_slower = ratios.u_slower();
  result.p_slower = ratios.p_slower();
  result.p_faster = ratios.p_faster();
  return result;
}

std::string to_text(phase which) {
  switch (which) {
    case phase::screen:
      return "screen";
    case phase::extension:
      return "extended screen";
    case phase::confirm:
      return "confirming block";
    case phase::stored:
      return "comparison with stored runs";
  }
  return "screen";
}

runs_needed needed_by_all(const std::vector<stage_step>& stages) {
  runs_needed needed;
  for (const stage_step& stage : stages) {
    needed.baseline = std::max(needed.baseline, stage.more_baseline_runs);
    needed.candidate = std::max(needed.candidate, stage.more_candidate_runs);
  }
  return needed;
}

}  // namespace profgate::gate
