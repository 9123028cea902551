#include "earlier_profiles.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/figures.h"
#include "analysis/statistics.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// An earlier profgate wrote percentiles of any number of samples.
void leave_out_percentiles_of_few(json& times) {
  const auto samples = number(times, "samples_count");
  if (!samples) return;
  const auto count = static_cast<std::size_t>(*samples);
  for (const auto& [name, fewest] :
       {std::pair{"p90", analysis::fewest_for_p90}, std::pair{"p99", analysis::fewest_for_p99}}) {
    const std::string key = std::string(name) + "_ns";
    if (count >= fewest || !number(times, key.c_str())) continue;
    times[key] = nullptr;
    times["not_measured"][key] = analysis::too_few_for(name, fewest, count);
  }
}

/// An earlier profgate wrote no idle time where the traced kernels took longer than the bare stage.
void leave_out_idle_of_none(json& idle) {
  const bool is_earlier = !idle.contains("idle_at_most_ns");
  if (is_earlier && idle["is_traced"] != true && number(idle, "idle_ns") == 0) {
    for (const char* key :
         {"idle_ns", "idle_ratio", "launch_ns", "pause_ns", "synchronisation_ns", "copy_ns", "other_ns"}) {
      idle[key] = nullptr;
      idle["not_measured"][key] =
          "its kernels took as long in the trace as the whole unprofiled stage, or up to 5 % longer: what it "
          "idled is too little to tell";
    }
  }
  if (!is_earlier) return;
  idle["idle_at_most_ns"] = nullptr;
  idle["not_measured"]["idle_at_most_ns"] =
      "an earlier profgate wrote this profile.json, which did not tell it";
}

/// Splits that earlier ones took from the trace were means.
bool is_mean_of_trace(const json& stage) {
  return stage["idle"]["is_traced"] == true && stage["traced"].is_object() &&
         stage["traced"].value("occurrences_count", 0) > 1;
}

}  // namespace

void put_later_fields(json& document) {
  const auto put_null = [](json& object, const char* key) {
    if (object.contains(key)) return;
    object[key] = nullptr;
    object["not_measured"][key] = "an earlier profgate wrote this profile.json, which did not tell it";
  };
  if (!document.contains("changed_settings")) document["changed_settings"] = json::array();
  put_null(document["model"], "variant");
  put_null(document["throughput"]["tpot"], "by_token_ns");
  for (const char* key : {"tokens_samples_count", "lengths_that_differ"})
    put_null(document["throughput"], key);
  for (const char* key : {"ttft", "tpot"}) leave_out_percentiles_of_few(document["throughput"][key]);
  put_null(document["kernels"], "source");
  put_null(document["kernels"], "top_share_ratio");
  for (json& stage : document["stages"]) {
    put_null(stage, "top_kernels_share_ratio");
    put_null(stage, "step");
    if (stage["step"].is_object()) {
      for (const char* key : {"range_cost_ns", "range_cost_ratio"}) put_null(stage["step"], key);
      for (const char* key : {"std_ns", "cv_ratio", "min_ns", "max_ns"}) {
        if (!stage["step"].contains(key) && stage["bare"].is_object() && stage["bare"][key].is_number())
          stage["step"][key] = stage["bare"][key];
        put_null(stage["step"], key);
      }
    }
    if (stage["telemetry"].is_object())
      for (const char* key : {"energy_run_ns", "energy_run_power_w"}) put_null(stage["telemetry"], key);
    if (stage["idle"].is_object()) {
      put_null(stage["idle"], "pause_ns");
      for (const char* key : {"after_ns", "unexplained_ns"}) put_null(stage["idle"], key);
      if (!stage["idle"].contains("is_traced")) stage["idle"]["is_traced"] = false;
      leave_out_idle_of_none(stage["idle"]);
      if (!stage["idle"].contains("is_mean")) stage["idle"]["is_mean"] = is_mean_of_trace(stage);
    }
    if (stage["counters"].is_object())
      for (json& kernel : stage["counters"]["kernels"])
        for (const analysis::figure_description& figure : analysis::figures_of("stages[].counters.kernels[]"))
          put_null(kernel, figure.key.c_str());
    if (stage["traced"].is_object() && stage["traced"]["activity"].is_object())
      for (const char* key : {"gap_pause_ns", "gap_after_ns", "launch_call_ns"})
        put_null(stage["traced"]["activity"], key);
  }
  for (json& capture : document["timeline"]["captures"])
    for (const char* key : {"gpu_names", "recorded_utc"}) put_null(capture, key);
  for (json& item : document["findings"]["recommendations"]) {
    if (!item.is_object()) continue;
    if (!item.contains("saves_at_most_ratio_of")) item["saves_at_most_ratio_of"] = "the whole";
    put_null(item, "kernel_name");
    put_null(item, "op_name");
    put_null(item, "adds_up");
    if (!item.contains("is_about_measuring"))
      item["is_about_measuring"] = item.value("saves_at_most_ns", json()).is_null();
  }
}

}  // namespace profgate::render
