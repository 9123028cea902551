#include <string_view>
#include <utility>

#include "compare/profile_comparison.h"

namespace profgate::compare {

double in_unit(double value, figure_row::extent of, const stage_unit& unit) {
  switch (of) {
    case figure_row::extent::any:
      return value;
    case figure_row::extent::repetition:
      return value / unit.repetition;
    case figure_row::extent::trace:
      return value / unit.trace;
  }
  return value;
}

compared_stage in_units(compared_stage stage) {
  constexpr std::string_view a_step = " a step";
  for (compared_figure& figure : stage.figures) {
    std::string& label = figure.what.shown.label;
    if (stage.per == "token" && label.ends_with(a_step))
      label.replace(label.size() - a_step.size(), a_step.size(), " a token");
    if (figure.a) figure.a = in_unit(*figure.a, figure.what.of, stage.a_unit);
    if (figure.b) figure.b = in_unit(*figure.b, figure.what.of, stage.b_unit);
  }
  for (compared_kernel& kernel : stage.kernels) {
    kernel.a_launches /= stage.a_unit.trace;
    kernel.b_launches /= stage.b_unit.trace;
    kernel.a_ns /= stage.a_unit.trace;
    kernel.b_ns /= stage.b_unit.trace;
  }
  for (compared_operator& row : stage.operators) {
    for (const auto& [side, unit] : {std::pair{&row.a, stage.a_unit}, std::pair{&row.b, stage.b_unit}}) {
      if (!*side) continue;
      if ((*side)->calls) *(*side)->calls /= unit.trace;
      (*side)->time_ns /= unit.trace;
    }
  }
  return stage;
}

}  // namespace profgate::compare
