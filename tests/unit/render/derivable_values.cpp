#include "derivable_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace profgate::render {
namespace {

std::string kind_of(const std::string& key) {
  const auto ends = [&](const char* end) { return key.ends_with(end); };
  if (ends("_bytes_per_s")) return "B/s";
  if (ends("_flops_per_s")) return "FLOP/s";
  if (ends("_ns")) return "s";
  if (ends("_ratio")) return "%";
  if (ends("_bytes")) return "B";
  if (ends("_j")) return "J";
  if (ends("_mhz")) return "MHz";
  if (ends("_w")) return "W";
  return "";
}

void add_fields(const nlohmann::json& value, const std::string& key, derivable_values& values) {
  if (value.is_number()) {
    const std::string kind = kind_of(key);
    values.add(kind, value.get<double>());
    if (kind == "%") values.add("", value.get<double>());  // "1.8 times the mean"
  }
  if (value.is_object())
    for (const auto& [name, field] : value.items()) add_fields(field, name, values);
  // Lists of numbers are those of pictures: what a text says has a field of its own.
  if (value.is_array())
    for (const nlohmann::json& element : value)
      if (element.is_structured()) add_fields(element, key, values);
}

double number_or_0(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_number() ? object[key].get<double>()
                                                                               : 0;
}

/// How a counted kernel was launched, and how full its waves are.
void add_of_launch(const nlohmann::json& kernel, derivable_values& values) {
  for (const char* size : {"grid_blocks", "block_threads"})
    for (const nlohmann::json& dimension : kernel[size]) values.add("", dimension.get<double>());
  const double waves = number_or_0(kernel, "waves_ratio");
  if (waves <= 0) return;
  double blocks_an_sm = 32;
  for (const char* limit : {"registers", "shared_memory", "warps", "blocks"})
    blocks_an_sm = std::min(
        blocks_an_sm, number_or_0(kernel, ("occupancy_limit_" + std::string(limit) + "_blocks").c_str()));
  values.add("%", waves * blocks_an_sm);
  values.add("%", waves - std::floor(waves));
  values.add("%", 1 - waves / std::ceil(waves));
}

void add_of_counters(const nlohmann::json& counters, derivable_values& values) {
  std::map<std::string, double> by_bound;
  std::map<std::string, double> counted_by_bound;
  double counted_ns = 0;
  for (const nlohmann::json& kernel : counters["kernels"]) {
    const double launches_ns = number_or_0(kernel, "duration_ns") * number_or_0(kernel, "launches_count");
    counted_ns += launches_ns;
    add_of_launch(kernel, values);
    if (!kernel["bound"].is_string()) continue;
    by_bound[kernel["bound"]] += number_or_0(kernel, "share_ratio");
    counted_by_bound[kernel["bound"]] += launches_ns;
  }
  for (const auto& [bound, share] : by_bound) values.add("%", share);
  for (const auto& [bound, sum_ns] : counted_by_bound) values.add_ratio(sum_ns, counted_ns);
}

void add_of_stage(const nlohmann::json& profile, const nlohmann::json& stage, derivable_values& values) {
  const nlohmann::json& step = stage["step"];
  const double mean_ns = number_or_0(step, "mean_ns");
  const double tokens = number_or_0(profile["throughput"], "decode_tokens_count");
  if (stage["name"] == "decode_all" && tokens > 0) values.add("s", number_or_0(step, "median_ns") / tokens);
  values.add_ratio(number_or_0(stage["utilisation"], "roof_ns"), mean_ns);
  if (stage["idle"].is_object()) {
    const nlohmann::json& idle = stage["idle"];
    const double whole_ns =
        number_or_0(idle, "busy_ns") + number_or_0(idle, "idle_ns") + number_or_0(idle, "unexplained_ns");
    for (const char* part :
         {"launch_ns", "pause_ns", "synchronisation_ns", "copy_ns", "other_ns", "after_ns", "unexplained_ns"})
      values.add_ratio(number_or_0(idle, part), whole_ns);
    values.add("s", whole_ns);
    values.add_ratio(number_or_0(idle, "idle_at_most_ns"), number_or_0(step, "median_ns"));
    values.add(
        "s", (whole_ns - number_or_0(idle, "pause_ns")) / std::max(1.0, number_or_0(step, "launches_count")));
  }
  if (stage["telemetry"].is_object())
    values.add_ratio(number_or_0(stage["telemetry"], "sm_clock_max_mhz") -
                         number_or_0(stage["telemetry"], "sm_clock_min_mhz"),
                     number_or_0(stage["telemetry"], "sm_clock_median_mhz"));
  if (stage["counters"].is_object()) add_of_counters(stage["counters"], values);
  if (!stage["traced"].is_object()) return;
  const nlohmann::json& traced = stage["traced"];
  const double occurrences = std::max(1.0, number_or_0(traced, "occurrences_count"));
  for (const nlohmann::json& kernel : stage["kernels"])
    values.add_ratio(number_or_0(kernel, "own_ns"), number_or_0(traced, "kernel_own_ns"));
  if (traced["activity"].is_object()) {
    const nlohmann::json& activity = traced["activity"];
    values.add_ratio(number_or_0(traced, "kernel_ns"), number_or_0(activity, "busy_ns"));
    values.add_ratio(number_or_0(activity, "late_ns"), number_or_0(traced, "kernel_ns"));
    values.add("s", number_or_0(activity, "busy_ns") / std::max(1.0, number_or_0(activity, "kernels_count")));
    values.add("s", number_or_0(activity, "launch_call_ns") /
                        std::max(1.0, number_or_0(activity, "launches_count")));
  }
  for (const nlohmann::json& group : stage["kernel_groups"])
    values.add_ratio(number_or_0(group, "total_ns") - number_or_0(group, "own_ns"),
                     number_or_0(group, "total_ns"));
  for (const nlohmann::json& op : stage["operators"])
    values.add("s", number_or_0(op, "cuda_own_ns") / std::max(1.0, number_or_0(op, "calls_count")));
  if (traced["decode_steps"].is_object())
    values.add("", number_or_0(traced["decode_steps"], "calls_count") / occurrences);
  for (const nlohmann::json& found : stage.value("kernel_neighbours", nlohmann::json::array())) {
    const double times = number_or_0(found, "times_count");
    values.add("", times / occurrences);
    values.add("s", number_or_0(found, "together_ns") / times);
    values.add("s", (number_or_0(found, "together_ns") - number_or_0(found, "saves_at_most_ns")) / times);
  }
}

/// What half as wide weights leave unread, and what a layer's experts read for one token, in 16 bits, and
/// that over the bandwidth.
void add_of_weights(const nlohmann::json& profile, derivable_values& values) {
  const nlohmann::json& model = profile["model"];
  constexpr double bytes_a_weight = 2;
  constexpr double products = 3;  // gate, up and down
  for (const char* count : {"parameters_count", "active_parameters_count"})
    values.add("B", number_or_0(model, count) * bytes_a_weight / 2);
  const nlohmann::json& dims = model["dims"];
  if (!dims.is_object() || !dims.contains("moe_intermediate_size")) return;
  const double rows = number_or_0(dims, "num_experts_per_tok") * number_or_0(dims, "moe_intermediate_size") +
                      number_or_0(dims, "shared_intermediate_size");
  const double layer_bytes = products * number_or_0(dims, "hidden_size") * rows * bytes_a_weight;
  values.add("B", layer_bytes);
  for (const nlohmann::json& stage : profile["stages"])
    for (const nlohmann::json& op : stage["operators"])
      if (op["op_name"] == "moe.experts")
        values.add_ratio(
            layer_bytes * 1e9 * number_or_0(op, "calls_count"),
            number_or_0(op, "cuda_own_ns") * number_or_0(profile["ceilings"], "measured_bytes_per_s"));
}

/// The shares of the stages in the picture: of their kernels' own time, or of their operators' and the rest.
void add_of_icicle(const nlohmann::json& profile, derivable_values& values) {
  double drawn_ns = 0;
  double traced_ns = 0;
  for (const nlohmann::json& stage : profile["stages"]) {
    if (!stage["traced"].is_object()) continue;
    for (const nlohmann::json& group : stage["kernel_groups"]) drawn_ns += number_or_0(group, "own_ns");
    if (!stage.contains("inside_of")) traced_ns += number_or_0(stage["traced"], "duration_ns");
  }
  values.add("s", drawn_ns);
  values.add("s", traced_ns);
  std::vector<double> stages_ns;
  for (const nlohmann::json& stage : profile["stages"]) {
    double own_ns = 0;
    for (const nlohmann::json& group : stage["kernel_groups"]) own_ns += number_or_0(group, "own_ns");
    if (stage["kernel_groups"].empty() && !stage["operators"].empty()) {
      for (const nlohmann::json& op : stage["operators"])
        if (op["share_ratio"].is_number()) own_ns += number_or_0(op, "exclusive_ns");
      own_ns += number_or_0(stage["traced"], "uncovered_ns");
    }
    stages_ns.push_back(own_ns);
  }
  for (const double own_ns : stages_ns)
    values.add_ratio(own_ns, std::accumulate(stages_ns.begin(), stages_ns.end(), 0.0));
}

/// From the rows alone, and no more than what lies above the stage's roof: what adds up; and where rows are
/// about the same operator, such as its experts and its kernels, the larger of the two, beside what has none.
void add_saved_together(const nlohmann::json& findings, const nlohmann::json& stage, double tokens,
                        derivable_values& values) {
  double adding_up_ns = 0;
  double of_no_operator_ns = 0;
  double ratio_per_ns = 0;
  struct operator_rows {
    double kernels_ns = 0;
    double whole_ns = 0;
  };
  std::map<std::string, operator_rows> by_operator;
  for (const nlohmann::json& item : findings["recommendations"]) {
    if (item["stage"] != stage["name"] || !item["saves_at_most_ns"].is_number()) continue;
    if (item.value("changes_arithmetic", false)) continue;  // which is in no sum
    const double saved_ns = number_or_0(item, "saves_at_most_ns");
    const bool adds_up = item.value("adds_up", nlohmann::json()) == true;
    const nlohmann::json op = item.value("op_name", nlohmann::json());
    if (adds_up) adding_up_ns += saved_ns;
    if (!op.is_string()) {
      of_no_operator_ns += saved_ns;
    } else {
      (adds_up ? by_operator[op].kernels_ns : by_operator[op].whole_ns) += saved_ns;
    }
    if (saved_ns > 0) ratio_per_ns = number_or_0(item, "saves_at_most_ratio") / saved_ns;
  }
  double of_operators_ns = of_no_operator_ns;
  for (const auto& [op, rows] : by_operator) of_operators_ns += std::max(rows.kernels_ns, rows.whole_ns);
  const double roof_ns = number_or_0(stage["utilisation"], "roof_ns");
  const nlohmann::json step = stage.value("step", nlohmann::json::object());
  const double median_ns = step.is_object() ? number_or_0(step, "median_ns") : 0;
  for (double sum_ns : {adding_up_ns, of_operators_ns}) {
    if (roof_ns > 0) sum_ns = std::min(sum_ns, std::max(0.0, median_ns - roof_ns));
    values.add("s", sum_ns);
    if (tokens > 0) values.add("s", sum_ns / tokens);
    values.add("%", sum_ns * ratio_per_ns);
  }
}

}  // namespace

bool derivable_values::holds(const std::string& kind, double shown, int decimals, double scale) const {
  const auto of_kind = m_values.find(kind);
  if (of_kind == m_values.end()) return false;
  const double half_a_digit = 0.5 * std::pow(10.0, -decimals) * (1 + 1e-6);
  for (const double value : of_kind->second)
    if (std::abs(value / scale - shown) <= half_a_digit) return true;
  return false;
}

derivable_values values_of_profile(const nlohmann::json& profile) {
  derivable_values values;
  nlohmann::json fields = profile;
  const nlohmann::json findings = fields["findings"];
  fields.erase("findings");
  add_fields(fields, "", values);
  for (const nlohmann::json& stage : profile["stages"]) add_of_stage(profile, stage, values);
  for (const nlohmann::json& kernel : profile["kernels"]["overall"])
    values.add("s", number_or_0(kernel, "own_ns") / std::max(1.0, number_or_0(kernel, "calls_count")));
  add_of_icicle(profile, values);
  if (profile["model"].is_object()) add_of_weights(profile, values);
  const nlohmann::json& throughput = profile["throughput"];
  const double tokens = number_or_0(throughput, "decode_tokens_count");
  const double joules = number_or_0(throughput, "energy_per_decoded_token_j");
  values.add("J", joules * number_or_0(throughput, "energy_uncertainty_ratio"));
  const std::size_t recommendations = findings["recommendations"].size();
  if (recommendations > 3) values.add("", static_cast<double>(recommendations - 3));
  for (const nlohmann::json& item : findings["recommendations"]) {
    const double saved_ns = number_or_0(item, "saves_at_most_ns");
    values.add("s", saved_ns);
    if (tokens > 0) values.add("s", saved_ns / tokens);
    values.add("%", number_or_0(item, "saves_at_most_ratio"));
  }
  for (const nlohmann::json& stage : profile["stages"]) add_saved_together(findings, stage, tokens, values);
  return values;
}

derivable_values values_of_verdict(const nlohmann::json& verdict) {
  derivable_values values;
  add_fields(verdict, "", values);
  for (const nlohmann::json& stage : verdict["stages"]) {
    if (!stage["numbers"].is_object() || !stage["tokens_count"].is_number()) continue;
    for (const char* key : {"baseline_median_ns", "candidate_ns"})
      values.add("s", stage["numbers"][key].get<double>() / stage["tokens_count"].get<double>());
  }
  return values;
}

}  // namespace profgate::render
