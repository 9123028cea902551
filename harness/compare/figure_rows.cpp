#include <algorithm>
#include <stdexcept>

#include "compare/profile_comparison.h"

namespace profgate::compare {
namespace {

using analysis::better;
using analysis::figure_description;
using extent = figure_row::extent;

/// Figures of an object, under its pointer: the named ones in their order, or all that are shown.
std::vector<figure_row> described(const std::string& pointer, const std::string& path,
                                  const std::vector<std::string>& keys = {}) {
  std::vector<figure_row> rows;
  const std::vector<figure_description>& figures = analysis::figures_of(path);
  if (keys.empty()) {
    for (const figure_description& figure : figures)
      if (!figure.shown.label.empty()) rows.push_back({pointer + "/" + figure.key, figure.shown});
  }
  for (const std::string& key : keys) {
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [&](const figure_description& figure) { return figure.key == key; });
    if (found == figures.end()) throw std::out_of_range(path + " has no " + key);
    rows.push_back({pointer + "/" + key, found->shown});
  }
  return rows;
}

/// Times and energies, which are longer where more is done.
std::vector<figure_row> growing_with(figure_row::extent of, std::vector<figure_row> rows) {
  for (figure_row& row : rows)
    if (row.shown.format == "duration" || row.shown.format == "energy") row.of = of;
  return rows;
}

/// What is counted of one occurrence of a stage: the more tokens it decodes, the more.
std::vector<figure_row> counts_of(figure_row::extent of, std::vector<figure_row> rows) {
  for (figure_row& row : rows) row.of = of;
  return rows;
}

/// Compute bounds one stage and memory the other: a share over both is neither's, and must not look like it.
std::vector<figure_row> of_all_stages(std::vector<figure_row> rows) {
  for (figure_row& row : rows) row.shown.label = "all stages: " + row.shown.label;
  return rows;
}

/// Energies are measured with a ± that stands beside them.
std::vector<figure_row> with_uncertainty(std::vector<figure_row> rows) {
  for (figure_row& row : rows)
    if (row.shown.format == "energy")
      row.uncertainty_key = row.key.substr(0, row.key.rfind('/')) + "/energy_uncertainty_ratio";
  return rows;
}

std::vector<figure_row> joined(const std::vector<std::vector<figure_row>>& parts) {
  std::vector<figure_row> rows;
  for (const std::vector<figure_row>& part : parts) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

}  // namespace

const std::vector<figure_row>& run_figure_rows() {
  static const std::vector<figure_row> rows = with_uncertainty(joined({
      {{"/throughput/total_median_ns", {"all stages", "duration", better::lower}},
       {"/throughput/tokens_median_per_s", {"tokens/s", "number", better::higher}},
       {"/throughput/ttft/p50_ns", {"TTFT, p50", "duration", better::lower}},
       {"/throughput/tpot/p50_ns", {"TPOT, p50", "duration", better::lower}},
       {"/throughput/tpot/p99_ns", {"TPOT, p99", "duration", better::lower}}},
      of_all_stages(described("/throughput/utilisation", "stages[].utilisation",
                              {"mfu_over_measured_ratio", "mfu_over_vendor_ratio", "mbu_over_measured_ratio",
                               "mbu_over_vendor_ratio"})),
      {{"/throughput/memory_peak_bytes", {"peak memory", "bytes", better::lower}},
       {"/throughput/weight_bytes", {"memory, weights", "bytes"}},
       {"/throughput/kv_cache_bytes", {"memory, KV cache", "bytes"}},
       {"/throughput/scratch_bytes", {"memory, scratch", "bytes", better::lower}},
       {"/throughput/energy_per_decoded_token_j", {"energy per token", "energy", better::lower}},
       {"/ceilings/measured_flops_per_s", {"ceiling, arithmetic, measured", "flops_per_s"}},
       {"/ceilings/measured_bytes_per_s", {"ceiling, bandwidth, measured", "bytes_per_s"}}},
  }));
  return rows;
}

const std::vector<figure_row>& stage_figure_rows() {
  static const std::vector<figure_row> rows = with_uncertainty(joined({
      growing_with(
          extent::repetition,
          described("/bare", "stages[].bare", {"median_ns", "mean_ns", "min_ns", "max_ns", "samples_count"})),
      described("", "stages[]", {"share_ratio"}),
      growing_with(extent::repetition, described("/utilisation", "stages[].utilisation")),
      counts_of(extent::repetition, described("/step", "stages[].step")),
      growing_with(extent::repetition, described("/idle", "stages[].idle")),
      growing_with(extent::trace, described("/traced", "stages[].traced")),
      described("", "stages[]", {"launches_per_token_count", "kernels_per_token_count", "overhead_ratio"}),
      growing_with(extent::repetition, described("/telemetry", "stages[].telemetry")),
      {{"/experts/worst_imbalance_ratio",
        {"experts: fullest over mean, worst layer", "factor", better::lower},
        extent::any,
        true},
       {"/experts/median_imbalance_ratio",
        {"experts: fullest over mean, median layer", "factor", better::lower},
        extent::any,
        true}},
  }));
  return rows;
}

const std::vector<figure_row>& device_figure_rows() {
  static const std::vector<figure_row> rows{
      {"/activity/busy_ns", {"busy, traced", "duration", better::lower}, extent::trace},
      {"/idle_ratio", {"idle, traced, share", "percent", better::lower}},
      {"/kernel_own_ns", {"kernel time, traced", "duration", better::lower}, extent::trace},
      {"/activity/launches_count", {"launches, traced", "count", better::lower}, extent::trace},
      {"/activity/copy_ns", {"copies, traced", "duration", better::lower}, extent::trace}};
  return rows;
}

}  // namespace profgate::compare
