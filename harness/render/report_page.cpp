#include "report_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/timeline_analysis.h"
#include "core/escape.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "drawing.h"
#include "headline.h"
#include "idle_view.h"
#include "kernel_views.h"
#include "nested_operators.h"
#include "roofline.h"
#include "stage_bound.h"
#include "strip_view.h"
#include "token_chart.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Processes or devices of the stage, where it has several.
json traced_list(const json& stage, const char* key) {
  return stage["traced"].is_object() ? stage["traced"].value(key, json::array()) : json::array();
}

/// Where much of the stages' traced time has no kernel, of which the picture has nothing; else empty.
std::string undrawn_time(const json& profile, const std::vector<kernel_row>& rows) {
  constexpr double most_drawn_ratio = 0.9;
  double drawn_ns = 0;
  for (const kernel_row& row : rows) {
    if (row.kernel_name.empty()) return "";  // operators of the host
    drawn_ns += row.own_ns;
  }
  double traced_ns = 0;
  for (const json& stage : profile["stages"]) {
    if (!stage["traced"].is_object() || stage.contains("inside_of")) continue;
    traced_ns += number(stage["traced"], "duration_ns").value_or(0);
  }
  if (drawn_ns >= most_drawn_ratio * traced_ns) return "";
  return fmt::format(" Kernels ran for {} of the {} that the stages took there; the rest is not drawn.",
                     core::format_duration(drawn_ns), core::format_duration(traced_ns));
}

/// What the widths of the icicle are, and how the stages' shares differ from those of the unprofiled run,
/// which the text tells: a tool may slow one stage more than another, or trace another number of repetitions.
void put_icicle_note(json& icicle, const json& profile, const std::vector<kernel_row>& rows) {
  constexpr double other_share_ratio = 0.01;
  std::map<std::string, double> own_ns;
  double total_ns = 0;
  for (const kernel_row& row : rows) {
    if (row.share_ratio < 0) continue;
    own_ns[row.stage_name] += row.own_ns;
    total_ns += row.own_ns;
  }
  std::string shares;
  bool differ = false;
  for (const json& stage : profile["stages"]) {
    const auto share = number(stage, "share_ratio");
    const std::string name = core::to_valid_utf8(stage["name"].get<std::string>());
    const auto found = own_ns.find(name);
    if (!share || found == own_ns.end()) continue;
    const double traced_share = found->second / total_ns;
    differ = differ || std::abs(traced_share - *share) > other_share_ratio;
    shares += fmt::format("{}{} {} ({} of the unprofiled run)", shares.empty() ? "" : ", ", name,
                          formatted(traced_share, "percent"), formatted(*share, "percent"));
  }
  icicle["are_shares_others"] = differ;
  icicle["note"] = fmt::format("Widths are own time in the trace{}.{}", differ ? ": " + shares : "",
                               undrawn_time(profile, rows));
}

/// "30 % of the time, inside of prefill and decode_step"
std::string share_text(const json& stage) {
  const double share = number(stage, "share_ratio").value_or(0);
  std::string text = share > 0 ? formatted(share, "percent") + " of the time" : "";
  if (!stage.contains("inside_of")) return text;
  const auto outer = stage["inside_of"].get<std::vector<std::string>>();
  return fmt::format("{}{}inside of {}", text, text.empty() ? "" : ", ", fmt::join(outer, " and "));
}

}  // namespace

double decoded_tokens(const json& profile, const json& stage) {
  const auto tokens = number(profile["throughput"], "decode_tokens_count");
  return stage["name"] == core::decode_all_stage && tokens && *tokens > 0 ? *tokens : 1;
}

json report_pictures(const json& profile, const core::short_kernel_names& names,
                     const std::optional<gate::judgement>& judged) {
  json stages = json::array();
  for (const json& stage : profile["stages"]) {
    std::optional<double> reached;
    const std::string bound = bound_of(profile, stage, reached);
    const double tokens = decoded_tokens(profile, stage);
    const auto median_ns = number(stage["step"].is_object() ? stage["step"] : stage["bare"], "median_ns");
    const bool is_by_token = tokens > 1 && median_ns;
    const json split = split_of(stage, tokens);
    stages.push_back(
        {{"name", stage["name"]},
         {"time", is_by_token ? fmt::format("{} a token", core::format_duration(*median_ns / tokens))
                  : median_ns ? core::format_duration(*median_ns)
                              : std::string(empty_cell)},
         {"whole",
          is_by_token ? fmt::format("{} for {:.0f} tokens", core::format_duration(*median_ns), tokens) : ""},
         {"share", share_text(stage)},
         {"is_inside", stage.contains("inside_of")},
         {"source", time_source_of(stage)},
         {"bound", bound},
         {"has_reached", reached.has_value()},
         {"reached_width", css_percent(reached.value_or(0))},
         {"split", split},
         {"split_of", split_source_of(stage, tokens)},
         // The legend tells the rest.
         {"idle_notes", stage["idle"].is_object() && !number(stage["idle"], "idle_ns")
                            ? idle_texts(stage)["notes"]
                            : json::array()},
         {"ranks", traced_list(stage, "ranks")},
         {"devices", traced_list(stage, "devices")}});
  }
  json strips = strips_of(profile);
  const bool has_idle_rows = std::any_of(strips.begin(), strips.end(),
                                         [](const json& strip) { return strip["has_idle_row"].get<bool>(); });
  const std::vector<kernel_row> kernels = kernel_rows_of(profile, names);
  const bool has_lanes = std::any_of(strips.begin(), strips.end(),
                                     [](const json& strip) { return strip["has_lanes"].get<bool>(); });
  const bool has_strips_together = std::any_of(
      strips.begin(), strips.end(), [](const json& strip) { return strip["has_together"].get<bool>(); });
  json icicle = icicle_of(kernels);
  if (icicle.is_object()) put_icicle_note(icicle, profile, kernels);
  return {{"has_idle_rows", has_idle_rows},
          {"has_lanes", has_lanes},
          {"has_strips_together", has_strips_together},
          {"idle_legend", idle_legend()},
          {"banner", banner_of(judged)},
          {"cards", cards_of(profile, judged)},
          {"stages", std::move(stages)},
          {"icicle", std::move(icicle)},
          {"kernels", kernel_table_of(kernels)},
          {"nested_operators", nested_operators_of(profile)},
          {"tokens", token_chart_of(profile)},
          {"strips", std::move(strips)},
          {"roofline", roofline_of(profile, names)}};
}

}  // namespace profgate::render
