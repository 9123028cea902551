#include "render/models_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/units.h"
#include "drawing.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr const char* models_schema_version = "1.0";

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

/// Of all stages together: their idle time over their time, and the kind of work that takes most of their
/// kernels'.
void put_device_time(const json& profile, model_row& row) {
  double idle_ns = 0;
  double all_ns = 0;
  std::map<std::string, double> own_ns;
  std::string idle_reason = "no stage has a trace of a device";
  for (const json& stage : profile["stages"]) {
    if (stage["idle"].is_object()) {
      const double busy_ns = stage["idle"].value("busy_ns", 0.0);
      const double none_ns = stage["idle"].value("idle_ns", 0.0);
      idle_ns += none_ns;
      all_ns += none_ns + busy_ns;
    } else {
      idle_reason = reason_of(stage, "idle");
    }
    for (const json& kind : stage.value("categories", json::array()))
      own_ns[kind["category"].get<std::string>()] += kind.value("own_ns", 0.0);
  }
  if (all_ns > 0) {
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
  row.take("ttft_p50_ns", throughput["ttft"], "p50_ns");
  row.take("tpot_p50_ns", throughput["tpot"], "p50_ns");
  row.take("tokens_median_per_s", throughput, "tokens_median_per_s");
  row.take("mfu_over_measured_ratio", throughput["utilisation"], "mfu_over_measured_ratio");
  row.take("mbu_over_measured_ratio", throughput["utilisation"], "mbu_over_measured_ratio");
  row.take("energy_per_decoded_token_j", throughput, "energy_per_decoded_token_j");
  put_device_time(profile, row);
  double session_ns = 0;
  for (const json& step : profile["steps"])
    if (step["duration_ns"].is_number()) session_ns += step["duration_ns"].get<double>();
  row.put("session_ns", session_ns);
  return row.done();
}

/// Bars of tokens a second, on a logarithmic scale: models differ by powers of ten.
json bars_of_rows(const json& rows) {
  double largest = 0;
  double smallest = 0;
  for (const json& row : rows) {
    if (!row["tokens_median_per_s"].is_number() || row["tokens_median_per_s"].get<double>() <= 0) continue;
    const double rate = row["tokens_median_per_s"].get<double>();
    largest = std::max(largest, rate);
    smallest = smallest == 0 ? rate : std::min(smallest, rate);
  }
  json bars = json::array();
  if (largest <= 0) return bars;
  constexpr double label_px = 250;
  constexpr double widest_px = 520;
  constexpr double line_px = 26;
  const double low = std::log10(smallest) - 0.5;
  const double decades = std::max(std::log10(largest) - low, 0.5);
  for (const json& row : rows) {
    if (!row["tokens_median_per_s"].is_number() || row["tokens_median_per_s"].get<double>() <= 0) continue;
    const double rate = row["tokens_median_per_s"].get<double>();
    bars.push_back({{"label", row["pair"]},
                    {"x", label_px},
                    {"y", line_px * static_cast<double>(bars.size())},
                    {"width", rounded_px(widest_px * (std::log10(rate) - low) / decades)},
                    {"text", fmt::format("{:.4g} tokens/s", rate)}});
  }
  return bars;
}

}  // namespace

std::string models_json(const std::vector<profiled_run>& runs) {
  json rows = json::array();
  for (const profiled_run& run : runs) rows.push_back(row_of(run));
  std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
    const auto rate = [](const json& row) {
      return row["tokens_median_per_s"].is_number() ? row["tokens_median_per_s"].get<double>() : -1.0;
    };
    return rate(a) > rate(b);
  });
  return core::json_text(json{{"schema_version", models_schema_version}, {"rows", rows}});
}

std::string models_markdown(std::string_view models_json_text, const std::filesystem::path& templates_dir) {
  return tidy_markdown(
      fill_template_file(core::parse_json(models_json_text), templates_dir / "models.md.inja"));
}

std::string models_html(std::string_view models_json_text, const std::filesystem::path& templates_dir) {
  json document = core::parse_json(models_json_text);
  document["bars"] = bars_of_rows(document["rows"]);
  document["bars_height"] = 26 * document["bars"].size();
  return fill_template_file(document, templates_dir / "models.html.inja");
}

}  // namespace profgate::render
