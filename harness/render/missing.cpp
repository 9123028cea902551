#include "missing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// A figure that reports show, and what people call it. Fields of one name are told once.
struct shown_figure {
  const char* object;  ///< JSON pointer, of the profile or of each stage
  const char* key;
  const char* name;
  const char* unless = nullptr;  ///< a figure beside it whose line tells of both, where it is missing, too
};

constexpr shown_figure of_run[] = {
    {"/model", "architecture", "what the model is"},
    {"/model", "dtype", "what the model is"},
    {"/model", "parameters_count", "what the model is"},
    {"/correctness", "reference_distance_ratio", "the distance of the logits from a reference"},
    {"/correctness", "logits_hash", "the hash of the logits"},
    {"/throughput", "tokens_mean_per_s", "tokens/s"},
    {"/throughput/ttft", "mean_ns", "TTFT"},
    {"/throughput/tpot", "mean_ns", "TPOT"},
    {"/throughput", "memory_peak_bytes", "peak memory"},
    {"/throughput", "weight_bytes", "memory of weights"},
    {"/throughput", "kv_cache_bytes", "memory of the KV cache"},
    {"/throughput", "scratch_bytes", "memory of scratch"},
    {"/throughput", "energy_per_decoded_token_j", "energy per decoded token"},
};

constexpr shown_figure of_stage[] = {
    {"/bare", "mean_ns", "times of unprofiled runs"},
    {"", "telemetry", "clocks and power"},
    {"/utilisation", "work_flops", "FLOPs and bytes of the work"},
    {"/utilisation", "mfu_over_measured_ratio", "MFU and MBU over measured ceilings"},
    {"/utilisation", "mbu_over_measured_ratio", "MBU", "mfu_over_measured_ratio"},
    {"/utilisation", "mfu_over_vendor_ratio", "MFU and MBU over the vendor's peaks"},
    {"", "traced", "operators and kernels"},
    {"", "idle", "idle time"},
    {"", "counters", "counters"},
};

constexpr shown_figure of_telemetry[] = {
    {"/telemetry", "sm_clock_median_mhz", "SM clock"},
    {"/telemetry", "memory_clock_median_mhz", "memory clock"},
    {"/telemetry", "power_median_w", "power"},
    {"/telemetry", "temperature_median_c", "temperature"},
    {"/telemetry", "throttle_reasons", "throttle reasons"},
    {"/telemetry", "energy_mean_j", "energy"},
};

constexpr shown_figure of_machine[] = {
    {"/environment/git", "commit", "the commit"},
    {"/environment/build", "compiler", "how it was built"},
    {"/environment/gpu_at_start", "devices", "the GPU"},
    {"/environment/gpu_at_start", "driver_version", "its driver"},
};

class missing_list {
 public:
  void add(const std::string& name, const std::string& reason) {
    const auto known = std::find_if(m_entries.begin(), m_entries.end(),
                                    [&](const entry& each) { return each.reason == reason; });
    entry& found = known == m_entries.end() ? m_entries.emplace_back(entry{reason, {}}) : *known;
    if (std::find(found.names.begin(), found.names.end(), name) == found.names.end())
      found.names.push_back(name);
  }

  json take() const {
    json list = json::array();
    for (const entry& each : m_entries)
      list.push_back({{"what", fmt::format("{}", fmt::join(each.names, ", "))}, {"reason", each.reason}});
    return list;
  }

 private:
  struct entry {
    std::string reason;
    std::vector<std::string> names;
  };
  std::vector<entry> m_entries;
};

/// Why the figure is null; empty: it is not, or the profile does not know it at all.
std::string why_missing(const json& document, const shown_figure& figure) {
  const json::json_pointer pointer(figure.object);
  if (!document.contains(pointer)) return "";
  const json& object = document[pointer];
  const auto is_null = [&](const char* key) { return object.contains(key) && object[key].is_null(); };
  const bool is_told_already = object.is_object() && figure.unless != nullptr && is_null(figure.unless);
  const bool is_missing = object.is_object() && is_null(figure.key) && !is_told_already;
  return is_missing ? reason_of(object, figure.key) : "";
}

/// One line where a reason holds for all stages, which need not be named then unless `names_all`.
void add_of_stages(const json& stages, const shown_figure& figure, missing_list& list,
                   bool names_all = false) {
  std::vector<std::pair<std::string, std::vector<std::string>>> stages_by_reason;
  for (const json& stage : stages) {
    const std::string reason = why_missing(stage, figure);
    if (reason.empty()) continue;
    const auto known = std::find_if(stages_by_reason.begin(), stages_by_reason.end(),
                                    [&](const auto& each) { return each.first == reason; });
    auto& found = known == stages_by_reason.end()
                      ? stages_by_reason.emplace_back(reason, std::vector<std::string>{})
                      : *known;
    const auto name = stage.find("name");
    found.second.push_back(name != stage.end() && name->is_string() ? name->get<std::string>() : "a stage");
  }
  for (const auto& [reason, names] : stages_by_reason) {
    const bool is_of_all = !names_all && names.size() == stages.size();
    list.add(is_of_all ? figure.name : fmt::format("{} of {}", figure.name, fmt::join(names, " and ")),
             reason);
  }
}

/// Whether the list is there and holds something.
bool has_rows(const json& object, const char* key) {
  const auto list = object.find(key);
  return list != object.end() && list->is_array() && !list->empty();
}

/// Whether anything tells where the stage's time goes, or how near it comes to its roof.
bool is_anything_told_of(const json& stage) {
  if (has_rows(stage, "operators") || has_rows(stage, "kernels")) return true;
  const auto counters = stage.find("counters");
  if (counters != stage.end() && counters->is_object()) return true;
  const auto use = stage.find("utilisation");
  if (use == stage.end() || !use->is_object()) return false;
  return number(*use, "roof_ns") || number(*use, "mfu_over_vendor_ratio") ||
         number(*use, "mbu_over_vendor_ratio");
}

/// "no trace (timeline=none was asked for: set timeline=auto)"; `otherwise` where the step ended well.
std::string why_step_left_nothing(const json& profile, std::string_view step_name, const char* what,
                                  const char* otherwise) {
  const auto text_in = [](const json& step, const char* key) {
    const auto found = step.find(key);
    return found != step.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  for (const json& step : profile.value("steps", json::array())) {
    if (text_in(step, "name") != step_name || text_in(step, "state") == "ok") continue;
    const std::string reason = text_in(step, "reason");
    const std::string remedy = text_in(step, "remedy");
    return fmt::format("no {} ({}{}{})", what, reason, reason.empty() || remedy.empty() ? "" : "; ", remedy);
  }
  return otherwise;
}

}  // namespace

std::string why_nothing_is_told(const json& profile) {
  const json& stages = profile["stages"];
  if (std::any_of(stages.begin(), stages.end(), is_anything_told_of)) return "";
  return fmt::format(
      "Nothing was measured that would tell what to change: {}, {}.",
      why_step_left_nothing(profile, "timeline", "trace",
                            "a trace without operators and kernels (NVTX ranges around its steps, or for "
                            "PyTorch --adapter pytorch, give it some)"),
      why_step_left_nothing(profile, "counters", "counters", "no counters"));
}

json missing_telemetry(const json& profile) {
  missing_list list;
  for (const shown_figure& figure : of_telemetry) add_of_stages(profile["stages"], figure, list, true);
  return list.take();
}

json missing_figures(const json& profile) {
  missing_list list;
  const auto add = [&](const shown_figure& figure) {
    const std::string reason = why_missing(profile, figure);
    if (!reason.empty()) list.add(figure.name, reason);
  };
  for (const shown_figure& figure : of_run) add(figure);
  for (const shown_figure& figure : of_stage) add_of_stages(profile["stages"], figure, list);
  for (const shown_figure& figure : of_machine) add(figure);
  return list.take();
}

}  // namespace profgate::render
