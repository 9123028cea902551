#include <fmt/format.h>

#include <cmath>

#include "analysis/json_object.h"
#include "gate_words.h"
#include "render/compare_views.h"

namespace profgate::render {
namespace {

using analysis::json_object;
using analysis::measured;
using nlohmann::ordered_json;

constexpr const char* only_one_side = "only the other side has it";

ordered_json side_json(const compare::compared_side& side) {
  json_object object;
  object.put("name", side.name);
  object.put("source", side.source);
  object.put("pair", side.pair);
  object.put("model", side.model);
  object.put("config", side.config);
  object.put_text("device_name", side.device_name, "it is not recorded");
  object.put_text("commit", side.commit, "it is not recorded");
  object.put_text("created_utc", side.created_utc, "it is not recorded");
  return object.take();
}

const char* text_of(analysis::better which) {
  switch (which) {
    case analysis::better::lower:
      return "lower";
    case analysis::better::higher:
      return "higher";
    case analysis::better::neither:
      return "neither";
  }
  return "neither";
}

ordered_json figure_json(const compare::compared_figure& figure) {
  json_object object;
  object.put("key", figure.what.key);
  object.put("label", figure.what.shown.label);
  if (figure.is_told()) object.put("unit", figure.what.unit);
  object.put("better", text_of(figure.what.shown.which));
  object.put("a", figure.a);
  object.put("b", figure.b);
  if (!figure.what.uncertainty_key.empty()) {
    object.put("a_uncertainty_ratio", figure.a_uncertainty_ratio);
    object.put("b_uncertainty_ratio", figure.b_uncertainty_ratio);
    const bool is_known = figure.a && figure.b && (figure.a_uncertainty_ratio || figure.b_uncertainty_ratio);
    object.put("is_within_uncertainty", is_known ? measured<bool>(figure.is_within_uncertainty())
                                                 : measured<bool>::absent("a side does not have it"));
  }
  const std::string reason = !figure.a ? figure.a.reason() : figure.b.reason();
  if (figure.a && figure.b) {
    object.put("difference", *figure.b - *figure.a);
    object.put("difference_ratio", *figure.a != 0 ? measured<double>(*figure.b / *figure.a - 1)
                                                  : measured<double>::absent("A is zero"));
  } else {
    object.put_null("difference", reason);
    object.put_null("difference_ratio", reason);
  }
  return object.take();
}

ordered_json figures_json(const std::vector<compare::compared_figure>& figures) {
  ordered_json list = ordered_json::array();
  for (const compare::compared_figure& figure : figures) list.push_back(figure_json(figure));
  return list;
}

ordered_json kernel_json(const compare::compared_kernel& kernel) {
  json_object object;
  object.put_text("a_name", kernel.a_name, only_one_side);
  object.put_text("b_name", kernel.b_name, only_one_side);
  object.put_text("op_name", kernel.path, "it has none, or several");
  object.put("category", kernel.category);
  if (!kernel.device.empty()) object.put("device", kernel.device);
  object.put("matched_by", std::string(text_of(matched_by_words, kernel.match)));
  object.put("a_launches_count", kernel.a_launches);
  object.put("b_launches_count", kernel.b_launches);
  object.put("a_ns", kernel.a_ns);
  object.put("b_ns", kernel.b_ns);
  object.put("difference_ns", kernel.b_ns - kernel.a_ns);
  return object.take();
}

ordered_json kernels_json(const compare::compared_stage& stage) {
  double a_ns = 0;
  double b_ns = 0;
  ordered_json rows = ordered_json::array();
  for (const compare::compared_kernel& kernel : stage.kernels) {
    a_ns += kernel.a_ns;
    b_ns += kernel.b_ns;
    rows.push_back(kernel_json(kernel));
  }
  json_object object;
  object.put("matched", stage.by_category ? "category" : "name");
  object.put("time", stage.is_exclusive_time ? "own" : "total");
  object.put("a_ns", a_ns);
  object.put("b_ns", b_ns);
  object.put("difference_ns", b_ns - a_ns);
  object.put("rows", std::move(rows));
  return object.take();
}

ordered_json operators_json(const compare::compared_stage& stage) {
  ordered_json rows = ordered_json::array();
  for (const compare::compared_operator& row : stage.operators) {
    const auto calls = [](const std::optional<compare::side_operator>& side) {
      if (!side) return measured<double>::absent(only_one_side);
      return side->calls ? measured<double>(*side->calls)
                         : measured<double>::absent("the run set does not tell how often it was called");
    };
    const auto time_ns = [](const std::optional<compare::side_operator>& side) {
      return side ? measured<double>(side->time_ns) : measured<double>::absent(only_one_side);
    };
    json_object object;
    object.put("op_name", row.name);
    if (!row.device.empty()) object.put("device", row.device);
    object.put("a_calls_count", calls(row.a));
    object.put("b_calls_count", calls(row.b));
    object.put("a_ns", time_ns(row.a));
    object.put("b_ns", time_ns(row.b));
    object.put("difference_ns", (row.b ? row.b->time_ns : 0) - (row.a ? row.a->time_ns : 0));
    rows.push_back(object.take());
  }
  return rows;
}

ordered_json stage_json(const compare::compared_stage& stage) {
  json_object object;
  object.put("name", stage.name);
  object.put("in_a", stage.in_a);
  object.put("in_b", stage.in_b);
  object.put_text("per", stage.per, "it has the same length in both");
  object.put("a_repetition_units_count", stage.a_unit.repetition);
  object.put("b_repetition_units_count", stage.b_unit.repetition);
  object.put("a_trace_units_count", stage.a_unit.trace);
  object.put("b_trace_units_count", stage.b_unit.trace);
  constexpr const char* too_few = "a side has too few times of repetitions";
  const auto shift = [&](double compare::median_shift::*bound) {
    if (!stage.shift) return measured<double>::absent(too_few);
    return measured<double>(std::round((*stage.shift).*bound * 1e6) / 1e6);  // further digits are a libm's
  };
  object.put("shift_lower_ratio", shift(&compare::median_shift::lower_ratio));
  object.put("shift_upper_ratio", shift(&compare::median_shift::upper_ratio));
  object.put("may_be_noise",
             stage.shift ? measured<bool>(stage.shift->may_be_noise()) : measured<bool>::absent(too_few));
  object.put("figures", figures_json(stage.figures));
  if (stage.kernels.empty()) {
    object.put_null("kernels", stage.kernels_absent_reason);
  } else {
    object.put("kernels", kernels_json(stage));
  }
  object.put_text("a_operator_time", stage.a_operator_time, "it has no operators");
  object.put_text("b_operator_time", stage.b_operator_time, "it has no operators");
  object.put("operators", operators_json(stage));
  return object.take();
}

ordered_json differs_json(const std::vector<compare::differing_fact>& facts) {
  ordered_json list = ordered_json::array();
  for (const compare::differing_fact& fact : facts) {
    const auto value = [](const std::optional<std::string>& text) {
      return text ? measured<std::string>(*text) : measured<std::string>::absent("not recorded");
    };
    json_object object;
    object.put("name", fact.name);
    object.put("a", value(fact.a));
    object.put("b", value(fact.b));
    list.push_back(object.take());
  }
  return list;
}

}  // namespace

std::string compare_json(const compare::profile_comparison& comparison) {
  json_object object;
  object.put("schema_version", std::string(compare_schema_version));
  object.put("a", side_json(comparison.a));
  object.put("b", side_json(comparison.b));
  object.put("is_cross_device", comparison.is_cross_device);
  object.put("is_cross_model", comparison.is_cross_model);
  object.put("is_other_work", comparison.is_other_work);
  object.put("is_same_run", comparison.is_same_run);
  ordered_json labels = ordered_json::array();
  for (const std::string& label : comparison.labels) labels.push_back(core::to_valid_utf8(label));
  object.put("labels", std::move(labels));
  object.put("figures", figures_json(comparison.figures));
  ordered_json stages = ordered_json::array();
  for (const compare::compared_stage& stage : comparison.stages) stages.push_back(stage_json(stage));
  object.put("stages", std::move(stages));
  object.put("differs", differs_json(comparison.differs));
  ordered_json same = ordered_json::object();
  for (const auto& [name, value] : comparison.same)
    same[core::to_valid_utf8(name)] = core::to_valid_utf8(value);
  object.put("same", std::move(same));
  return core::json_text(object.take());
}

}  // namespace profgate::render
