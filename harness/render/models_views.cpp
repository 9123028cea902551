#include "render/models_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "compare/profile_comparison.h"
#include "core/json.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "drawing.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr const char* models_schema_version = "1.1";

/// A row under construction: a figure, or why there is none.
class model_row {
 public:
  void put(const char* key, json value) { m_row[key] = std::move(value); }

  /// What a place of the profile holds, under another name.
  void take(const char* key, const json& from, const char* name) {
    const auto found = from.find(name);
    if (found != from.end() && !found->is_null()) {
      m_row[key] = *found;
    } else {
      put_absent(key, from.is_object() ? reason_of(from, name) : "it was not measured");
    }
  }

  void put_absent(const char* key, const std::string& reason) {
    m_row[key] = nullptr;
    m_row["not_measured"][key] = reason;
  }

  json done() { return std::move(m_row); }

 private:
  json m_row{{"not_measured", json::object()}};
};

/// A part of a profile; null where it is not there: profiles of earlier versions have fewer fields.
const json& part_of(const json& object, const char* key) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

/// Of all stages together: their idle time over their time, and the kind of work that takes most of their
/// kernels'.
void put_device_time(const json& profile, model_row& row) {
  double idle_ns = 0;
  double at_most_ns = 0;  ///< where idle time is not known, the traced gaps in its place
  double all_ns = 0;
  std::string unknown_reason;  ///< of a stage whose idle time the gaps only bound
  std::map<std::string, double> own_ns;
  std::string idle_reason = "no stage has a trace of a device";
  for (const json& stage : profile["stages"]) {
    if (const json& idle = part_of(stage, "idle"); idle.is_object()) {
      const double busy_ns = number(idle, "busy_ns").value_or(0);
      const auto none_ns = number(idle, "idle_ns");
      idle_ns += none_ns.value_or(0);
      at_most_ns += none_ns ? *none_ns : number(idle, "idle_at_most_ns").value_or(0);
      all_ns += busy_ns + none_ns.value_or(0) + number(idle, "unexplained_ns").value_or(0);
      if (!none_ns && idle.contains("idle_ns"))
        unknown_reason = fmt::format("{}: {}", stage["name"].get<std::string>(), reason_of(idle, "idle_ns"));
    } else {
      idle_reason = reason_of(stage, "idle");
    }
    for (const json& kind : part_of(stage, "categories"))
      if (const json& name = part_of(kind, "category"); name.is_string())
        own_ns[name.get<std::string>()] += number(kind, "own_ns").value_or(0);
  }
  if (!unknown_reason.empty() && all_ns > 0) {
    row.put_absent("idle_ratio", unknown_reason);
    row.put("idle_at_most_ratio", at_most_ns / all_ns);
  } else if (all_ns > 0) {
    row.put("idle_ratio", idle_ns / all_ns);
  } else {
    row.put_absent("idle_ratio", idle_reason);
  }
  const auto largest = std::max_element(own_ns.begin(), own_ns.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != own_ns.end()) {
    row.put("largest_category", largest->first);
  } else {
    row.put_absent("largest_category", "the trace holds no kernels");
  }
}

/// [{name, median_ns}] of what was timed without a profiler.
json stage_times_of(const json& profile) {
  json stages = json::array();
  for (const json& stage : profile["stages"]) {
    const json& step = part_of(stage, "step");
    const json& timed = step.is_object() ? step : part_of(stage, "bare");
    if (const auto median_ns = number(timed, "median_ns"))
      stages.push_back({{"name", stage["name"]}, {"median_ns", *median_ns}});
  }
  return stages;
}

/// "2048 + 64": of the prompt, and decoded; "2 × (2048 + 64)" of a batch.
void put_tokens(const json& throughput, model_row& row) {
  const auto prompt = number(throughput, "prompt_tokens_count");
  const auto decoded = number(throughput, "decode_tokens_count");
  if (!prompt || !decoded) return row.put_absent("tokens", "the program tells no tokens");
  const std::string each = fmt::format("{} + {}", *prompt, *decoded);
  const double batch = number(throughput, "batch_count").value_or(1);
  row.put("tokens", batch > 1 ? fmt::format("{} × ({})", batch, each) : each);
}

/// A share of a ceiling that one stage reaches: compute bounds a prefill, memory a decode.
void take_of_stage(const char* key, const json& profile, std::string_view stage_name, const char* name,
                   model_row& row) {
  for (const json& stage : profile["stages"])
    if (stage["name"] == stage_name) return row.take(key, part_of(stage, "utilisation"), name);
  row.put_absent(key, fmt::format("it has no stage {}", stage_name));
}

json row_of(const profiled_run& run) {
  const json profile = core::parse_json(run.profile_json);
  const json& throughput = profile["throughput"];
  model_row row;
  row.put("pair", profile["run"]["pair"]);
  row.put("run_id", profile["run"]["run_id"]);
  row.put("folder", run.folder);
  row.take("model", profile["model"], "name");
  row.take("dtype", profile["model"], "dtype");
  row.take("device_name", profile["model"], "device_name");
  put_tokens(throughput, row);
  row.take("ttft_p50_ns", part_of(throughput, "ttft"), "p50_ns");
  row.take("tpot_p50_ns", part_of(throughput, "tpot"), "p50_ns");
  row.take("tokens_median_per_s", throughput, "tokens_median_per_s");
  row.take("mfu_over_measured_ratio", part_of(throughput, "utilisation"), "mfu_over_measured_ratio");
  row.take("mbu_over_measured_ratio", part_of(throughput, "utilisation"), "mbu_over_measured_ratio");
  take_of_stage("prefill_mfu_over_measured_ratio", profile, core::prefill_stage, "mfu_over_measured_ratio",
                row);
  take_of_stage("decode_mbu_over_measured_ratio", profile, core::decode_all_stage, "mbu_over_measured_ratio",
                row);
  row.take("energy_per_decoded_token_j", throughput, "energy_per_decoded_token_j");
  row.take("energy_uncertainty_ratio", throughput, "energy_uncertainty_ratio");
  put_device_time(profile, row);
  row.put("stages", stage_times_of(profile));
  double session_ns = 0;
  for (const json& step : profile["steps"]) session_ns += number(step, "duration_ns").value_or(0);
  if (session_ns > 0) {
    row.put("session_ns", session_ns);
  } else {
    row.put_absent("session_ns", "no step says how long it took");
  }
  return row.done();
}

/// Tokens a second; below 0: not known.
double rate_of(const json& row) {
  return number(row, "tokens_median_per_s").value_or(-1);
}

struct empty_reason {
  std::string reason{};
  std::vector<std::string> columns{};
  std::vector<std::string> folders{};  ///< of runs that have it
  std::vector<std::string> pairs{};    ///< that the runs are of
};

/// Why cells are empty, each reason once, with the columns by their headings, and the pairs where it is not
/// that of all rows.
json empty_columns(const json& rows) {
  static constexpr std::array<std::pair<const char*, const char*>, 11> headings{
      {{"device_name", "device"},
       {"tokens", "tokens"},
       {"ttft_p50_ns", "TTFT"},
       {"tpot_p50_ns", "TPOT"},
       {"tokens_median_per_s", "tokens/s"},
       {"prefill_mfu_over_measured_ratio", "prefill: MFU, measured ceiling"},
       {"decode_mbu_over_measured_ratio", "decode_all: MBU, measured ceiling"},
       {"idle_ratio", "idle"},
       {"largest_category", "most kernel time"},
       {"energy_per_decoded_token_j", "energy per token"},
       {"session_ns", "session"}}};
  std::vector<empty_reason> reasons;
  const auto add_once = [](std::vector<std::string>& list, const std::string& text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  };
  for (const json& row : rows) {
    for (const auto& [key, heading] : headings) {
      if (!row[key].is_null()) continue;
      const std::string reason = reason_of(row, key);
      auto known = std::find_if(reasons.begin(), reasons.end(),
                                [&reason](const empty_reason& one) { return one.reason == reason; });
      if (known == reasons.end()) known = reasons.insert(reasons.end(), {reason, {}, {}, {}});
      add_once(known->columns, heading);
      add_once(known->folders, row["folder"].get<std::string>());
      add_once(known->pairs, row["pair"].get<std::string>());
    }
  }
  json list = json::array();
  for (const empty_reason& one : reasons) {
    const bool is_of_all = one.folders.size() == rows.size();
    list.push_back({{"columns", fmt::format("{}", fmt::join(one.columns, ", "))},
                    {"of", is_of_all ? "" : fmt::format(" of {}", fmt::join(one.pairs, ", "))},
                    {"reason", one.reason}});
  }
  return list;
}

/// Of a program that tells no tokens, the times of its stages are all there is: "load 1.20 ms, compute 40.1
/// ms".
void add_stage_times(json& document) {
  constexpr std::size_t most = 4;
  bool has_any_times = false;
  for (json& row : document["rows"]) {
    std::vector<std::string> times;
    const bool has_tokens = number(row, "ttft_p50_ns") || number(row, "tpot_p50_ns");
    for (const json& stage : has_tokens ? json::array() : row.value("stages", json::array())) {
      if (times.size() == most) {
        times.emplace_back("…");
        break;
      }
      times.push_back(fmt::format("{} {}", stage["name"].get<std::string>(),
                                  core::format_duration(stage["median_ns"].get<double>())));
    }
    has_any_times = has_any_times || !times.empty();
    row["stage_times_text"] = times.empty() ? empty_cell : fmt::format("{}", fmt::join(times, ", "));
  }
  document["has_stage_times"] = has_any_times;
}

/// Tokens a second as bars on a logarithmic scale over whole decades, with a mark at each decade; null where
/// no run has a rate.
json rate_bars_of(const json& rows) {
  double largest = 0;
  double smallest = 0;
  for (const json& row : rows) {
    const double rate = rate_of(row);
    if (rate <= 0) continue;
    largest = std::max(largest, rate);
    smallest = smallest == 0 ? rate : std::min(smallest, rate);
  }
  if (largest <= 0) return nullptr;
  const double low = std::floor(std::log10(smallest) - 0.1);  // the shortest bar can be seen
  const double high = std::ceil(std::log10(largest));
  const auto percent_of = [&](double decade) {
    return fmt::format("{:.1f}%", 100 * (decade - low) / (high - low));
  };
  json bars = json::array();
  for (const json& row : rows) {
    const double rate = rate_of(row);
    if (rate > 0)
      bars.push_back({{"label", row["pair"]},
                      {"width", percent_of(std::log10(rate))},
                      {"text", core::format_number(rate) + " tokens/s"}});
  }
  json marks = json::array();
  for (double decade = low; decade <= high; ++decade)
    marks.push_back({{"left", percent_of(decade)}, {"text", fmt::format("{:g}", std::pow(10, decade))}});
  return {{"bars", std::move(bars)}, {"marks", std::move(marks)}};
}

}  // namespace

std::string models_json(const std::vector<profiled_run>& runs) {
  json rows = json::array();
  for (const profiled_run& run : runs) rows.push_back(row_of(run));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const json& a, const json& b) { return rate_of(a) > rate_of(b); });
  return core::json_text(json{{"schema_version", models_schema_version}, {"rows", rows}});
}

std::string models_markdown(std::string_view models_json_text, const std::filesystem::path& templates_dir) {
  json document = core::parse_json(models_json_text);
  document["empty_columns"] = empty_columns(document["rows"]);
  add_stage_times(document);
  return tidy_markdown(fill_template_file(document, templates_dir / "models.md.inja"));
}

std::string models_html(std::string_view models_json_text, const std::filesystem::path& templates_dir) {
  json document = core::parse_json(models_json_text);
  document["empty_columns"] = empty_columns(document["rows"]);
  add_stage_times(document);
  document["rates"] = rate_bars_of(document["rows"]);
  return fill_template_file(document, templates_dir / "models.html.inja");
}

}  // namespace profgate::render
