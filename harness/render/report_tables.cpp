#include "report_tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/units.h"
#include "idle_view.h"
#include "report_page.h"
#include "traced_time.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

json largest_by(const json& rows, const char* key) {
  std::vector<json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const json& a, const json& b) {
    return number(a, key).value_or(-1) > number(b, key).value_or(-1);
  });
  return sorted;
}

/// By their own time, on the device where that is known of any.
json largest_operators(const json& operators) {
  return largest_by(operators,
                    has_any(operators, json::array({"cuda_own_ns"})) ? "cuda_own_ns" : "exclusive_ns");
}

/// How long the device worked for a stage, for its operators and for each of its steps: where a graph replays
/// operators, and where the host only submits work, the host's times tell nothing of that. Null without
/// kernels.
json device_times_of(const json& stage) {
  const auto own_ns = stage["traced"].is_object() ? number(stage["traced"], "kernel_own_ns") : std::nullopt;
  if (!own_ns || *own_ns <= 0) return nullptr;
  double covered_ns = 0;
  bool is_host_in_any = false;
  for (const json& op : stage["operators"]) {
    covered_ns += number(op, "cuda_own_ns").value_or(0);
    is_host_in_any = is_host_in_any || number(op, "total_ns");
  }
  const json& steps = stage["traced"]["decode_steps"];
  const double steps_count = steps.is_object() ? number(steps, "calls_count").value_or(1) : 1;
  return {{"own_ns", *own_ns},
          {"uncovered_ns", std::max(0.0, *own_ns - covered_ns)},
          {"are_replayed", !is_host_in_any},
          {"own_a_step_ns", *own_ns / std::max(1.0, steps_count)}};
}

/// Of the summary's table of operators, which is to have about four rows and some of every stage.
std::size_t operators_a_stage(const json& stages) {
  constexpr std::size_t most_rows_in_summary = 4;
  const auto with_operators = std::count_if(stages.begin(), stages.end(),
                                            [](const json& stage) { return !stage["operators"].empty(); });
  return std::max<std::size_t>(
      1, most_rows_in_summary / std::max<std::size_t>(1, static_cast<std::size_t>(with_operators)));
}

}  // namespace

void put_own_times(json& document) {
  const auto put = [](json& kernels) {
    for (json& kernel : kernels) {
      const auto own_ns = number(kernel, "own_ns");
      const double calls = std::max(1.0, number(kernel, "calls_count").value_or(0));
      kernel["own_a_launch_ns"] = own_ns ? json(*own_ns / calls) : json(nullptr);
    }
  };
  json& kernels = document["kernels"];
  put(kernels["overall"]);
  for (json& stage : document["stages"]) put(stage["kernels"]);
  const bool has_own_times = has_any(kernels["overall"], json::array({"own_ns"}));
  kernels["has_own_times"] = has_own_times;
  double own_ns = 0;
  double calls_outside = 0;
  for (const json& kernel : kernels["overall"]) {
    own_ns += number(kernel, "own_ns").value_or(0);
    calls_outside += number(kernel, "calls_count").value_or(0);
  }
  for (const json& stage : document["stages"])
    for (const json& kernel : stage["kernels"]) calls_outside -= number(kernel, "calls_count").value_or(0);
  kernels["has_some_outside_of_stages"] = calls_outside > 0;
  kernels["own_ns"] = own_ns;
  kernels["largest"] = first(largest_by(kernels["overall"], has_own_times ? "own_ns" : "total_ns"), 5);
}

void put_stage_words(json& document) {
  bool is_above_ceiling = false;
  const auto look_at = [&](const json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (object.is_object() && found != object.end() && found->is_number())
      is_above_ceiling = is_above_ceiling || found->get<double>() > 1 + core::ceiling_rounding_ratio;
  };
  constexpr const char* shares[] = {"mfu_over_measured_ratio", "mfu_over_vendor_ratio",
                                    "mbu_over_measured_ratio", "mbu_over_vendor_ratio"};
  for (const char* key : shares) look_at(document["throughput"]["utilisation"], key);
  for (json& stage : document["stages"]) {
    for (const char* key : shares) look_at(stage["utilisation"], key);
    const double tokens = decoded_tokens(document, stage);
    const json& median_ns =
        stage["step"].is_object() ? stage["step"]["median_ns"] : stage["bare"]["median_ns"];
    stage["a_token_ns"] =
        tokens > 1 && median_ns.is_number() ? json(median_ns.get<double>() / tokens) : json(nullptr);
    stage["device_times"] = device_times_of(stage);
    stage["idle_shown"] = idle_texts(stage);
    stage["traced_shown"] = traced_time_texts(stage);
    stage["largest_operators"] = largest_operators(stage["operators"]);
    stage["takeaways"] = json::array();
    for (const json& takeaway : document["findings"]["takeaways"])
      if (takeaway.is_object() && takeaway.value("stage", json()) == stage["name"])
        stage["takeaways"].push_back(takeaway.value("text", ""));
  }
  json of_run = json::array();
  for (const json& takeaway : document["findings"]["takeaways"])
    if (takeaway.is_object() && takeaway.value("stage", json()).is_null()) of_run.push_back(takeaway);
  document["run_takeaways"] = distinct(of_run, "text");  // report.md has the evidence of each
  document["is_above_ceiling"] = is_above_ceiling;
  // Columns that hold nothing are left out.
  const json& stages = document["stages"];
  document["has_idle"] = !having(stages, "idle").empty();
  document["has_vendor_peaks"] =
      has_any(column(stages, "utilisation"), json::array({"mfu_over_vendor_ratio", "mbu_over_vendor_ratio"}));
  document["operators_a_stage"] = operators_a_stage(stages);
  document["whose_peaks"] = whose_peaks_of(document["ceilings"]);
  document["has_device_times"] = std::any_of(stages.begin(), stages.end(), [](const json& stage) {
    return has_any(stage["operators"], json::array({"cuda_ns"}));
  });
}

json kernels_above_roof(const json& stages) {
  bool is_above_flops = false;
  bool is_above_bytes = false;
  for (const json& stage : stages) {
    if (!stage["counters"].is_object()) continue;
    for (const json& kernel : stage["counters"]["kernels"]) {
      bool is_above = false;
      for (const char* key : {"reached_ratio", "reached_alone_ratio"})
        is_above = is_above || number(kernel, key).value_or(0) > 1 + core::ceiling_rounding_ratio;
      const bool is_of_arithmetic = number(kernel, "flops_over_ceiling_ratio").value_or(0) >
                                    number(kernel, "bytes_over_ceiling_ratio").value_or(0);
      is_above_flops = is_above_flops || (is_above && is_of_arithmetic);
      is_above_bytes = is_above_bytes || (is_above && !is_of_arithmetic);
    }
  }
  return {{"flops", is_above_flops}, {"bytes", is_above_bytes}};
}

void leave_out_unlisted(json& document) {
  const std::size_t listed =
      std::max<std::size_t>(10, document["run"]["top_n_kernels_count"].get<std::size_t>());
  const auto cut = [&](json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_array()) return std::size_t{0};
    const std::size_t count = object[key].size();
    if (count > listed) object[key] = first(object[key], listed);
    return count;
  };
  document["kernels"]["overall_count"] = cut(document["kernels"], "overall");
  for (json& stage : document["stages"]) {
    stage["kernels_count"] = cut(stage, "kernels");
    cut(stage, "kernel_groups");
    cut(stage["counters"], "kernels");
  }
}

}  // namespace profgate::render
