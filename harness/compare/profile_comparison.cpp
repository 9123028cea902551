#include "compare/profile_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compare_operations.h"
#include "comparison_labels.h"
#include "device_pairs.h"
#include "told_figures.h"

namespace profgate::compare {
namespace {

using figures_by_key = std::map<std::string, analysis::measured<double>>;

std::vector<compared_figure> compare_figures(
    const std::vector<figure_row>& rows, const figures_by_key* a, const figures_by_key* b,
    const char* absent_side_reason = "this side does not have the stage") {
  const auto value = [&](const figures_by_key* figures, const std::string& key) {
    if (figures == nullptr) return analysis::measured<double>::absent(absent_side_reason);
    const auto found = figures->find(key);
    return found == figures->end() ? analysis::measured<double>::absent("it was not determined")
                                   : found->second;
  };
  std::vector<compared_figure> compared;
  for (const figure_row& row : rows) {
    compared_figure figure{row, value(a, row.key), value(b, row.key), std::nullopt};
    if (!row.uncertainty_key.empty()) {
      figure.a_uncertainty_ratio = value(a, row.uncertainty_key);
      figure.b_uncertainty_ratio = value(b, row.uncertainty_key);
    }
    if (!row.is_left_out_if_absent || (figure.a && figure.b)) compared.push_back(std::move(figure));
  }
  return compared;
}

const side_stage* find_stage(const compared_side& side, const std::string& name) {
  const auto found = std::find_if(side.stages.begin(), side.stages.end(),
                                  [&](const side_stage& stage) { return stage.name == name; });
  return found == side.stages.end() ? nullptr : &*found;
}

/// Behind the stage's own: busy and idle time of each device.
void compare_devices(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                     compared_stage& result) {
  const auto figures_on = [](const side_stage& side, const std::string& device) {
    const auto found = side.devices.find(device);
    return found == side.devices.end() ? nullptr : &found->second.figures;
  };
  for (const device_pair& pair : devices) {
    for (compared_figure& figure :
         compare_figures(device_figure_rows(), figures_on(a, pair.a), figures_on(b, pair.b),
                         "this side has no such device, or only one")) {
      figure.what.key = fmt::format("/traced/devices/{}{}", pair.text(), figure.what.key);
      figure.what.shown.label = fmt::format("{}: {}", pair.text(), figure.what.shown.label);
      result.figures.push_back(std::move(figure));
    }
  }
}

/// A repetition that decodes more takes longer, and a trace that saw more of them holds more.
void choose_units(const side_stage& a, const side_stage& b, compared_stage& result) {
  const bool has_tokens = a.tokens && b.tokens && *a.tokens > 0 && *b.tokens > 0;
  const double a_tokens = has_tokens ? *a.tokens : 1;
  const double b_tokens = has_tokens ? *b.tokens : 1;
  result.a_unit = {a_tokens, a_tokens * a.traced_occurrences};
  result.b_unit = {b_tokens, b_tokens * b.traced_occurrences};
  if (has_tokens) {
    result.per = "token";
  } else if (a.traced_occurrences > 1 || b.traced_occurrences > 1) {
    result.per = "occurrence";
  }
}

std::vector<double> divided_by(double unit, std::vector<double> samples) {
  for (double& sample : samples) sample /= unit;
  return samples;
}

compared_stage compare_stage(const std::string& name, const side_stage* a, const side_stage* b,
                             bool by_category) {
  compared_stage result;
  result.name = name;
  result.in_a = a != nullptr;
  result.in_b = b != nullptr;
  result.by_category = by_category;
  result.figures = compare_figures(stage_figure_rows(), a == nullptr ? nullptr : &a->figures,
                                   b == nullptr ? nullptr : &b->figures);
  if (a == nullptr || b == nullptr) {
    result.kernels_absent_reason = "only one side has this stage";
    return result;
  }
  choose_units(*a, *b, result);
  result.shift = shift_between(divided_by(result.a_unit.repetition, a->samples_ns),
                               divided_by(result.b_unit.repetition, b->samples_ns));
  const std::vector<device_pair> devices = pair_devices(*a, *b);
  result.by_device = !devices.empty();
  compare_devices(*a, *b, devices, result);
  compare_kernels(*a, *b, devices, result);
  compare_operators(*a, *b, devices, result);
  return result;
}

bool have_same_times(const side_stage& a, const side_stage& b) {
  return a.samples_ns == b.samples_ns &&
         std::equal(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(),
                    [](const side_kernel& one, const side_kernel& other) {
                      return one.name == other.name && one.launches == other.launches &&
                             one.total_ns == other.total_ns && one.exclusive_ns == other.exclusive_ns;
                    });
}

/// Nothing that was recorded of them differs, and every single time is the same.
bool are_same_run(const compared_side& a, const compared_side& b, const profile_comparison& facts) {
  if (a.created_utc.empty() || a.created_utc != b.created_utc || facts.is_cross_device ||
      facts.is_cross_model || !facts.differs.empty())
    return false;
  bool has_times = false;
  for (const side_stage& stage : a.stages) {
    const side_stage* const other = find_stage(b, stage.name);
    if (other == nullptr || !have_same_times(stage, *other)) return false;
    has_times = has_times || !stage.samples_ns.empty();
  }
  return has_times && a.stages.size() == b.stages.size();
}

}  // namespace

bool compared_figure::is_within_uncertainty() const {
  if (!a || !b || !(a_uncertainty_ratio || b_uncertainty_ratio)) return false;
  const double apart =
      std::abs(*a) * a_uncertainty_ratio.value_or(0) + std::abs(*b) * b_uncertainty_ratio.value_or(0);
  return std::abs(*b - *a) <= apart;
}

profile_comparison compare_sides(const compared_side& a, const compared_side& b) {
  profile_comparison result;
  result.a = a;
  result.b = b;
  result.is_cross_device = a.device_name != b.device_name;
  result.is_cross_model = a.model != b.model;
  compare_facts(a, b, result);
  result.is_same_run = are_same_run(a, b, result);
  result.is_other_work = result.is_cross_model || a.config != b.config || !other_work_text(result).empty();
  result.labels = labels_of(result);
  result.figures = compare_figures(run_figure_rows(), &a.figures, &b.figures);
  compare_told(a, b, result);
  for (const side_stage& stage : a.stages)
    result.stages.push_back(
        compare_stage(stage.name, &stage, find_stage(b, stage.name), result.is_cross_model));
  for (const side_stage& stage : b.stages)
    if (find_stage(a, stage.name) == nullptr)
      result.stages.push_back(compare_stage(stage.name, nullptr, &stage, result.is_cross_model));
  for (compared_stage& stage : result.stages) stage.is_same_run = result.is_same_run;
  name_peaks(result);
  return result;
}

}  // namespace profgate::compare
