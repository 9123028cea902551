#include "report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/counters.h"
#include "core/escape.h"
#include "core/json.h"
#include "core/units.h"
#include "drawing.h"
#include "kernel_views.h"
#include "render/gate_views.h"
#include "roofline.h"
#include "strip_view.h"
#include "token_chart.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// CSS lengths: three digits are finer than any screen.
std::string css_percent(double ratio) {
  return fmt::format("{:.3f}%", 100 * std::clamp(ratio, 0.0, 1.0));
}

json split_part(const char* kind, const char* label, double ns, double total_ns) {
  return {{"kind", kind},
          {"label", label},
          {"width", css_percent(ns / total_ns)},
          {"time", core::format_duration(ns)},
          {"share", formatted(ns / total_ns, "percent")}};
}

/// Busy, and idle by cause, of one repetition of the bare stage; null with a reason where it is not known.
json split_of(const json& stage) {
  const json& idle = stage["idle"];
  if (!idle.is_object()) return nullptr;
  const auto busy_ns = number(idle, "busy_ns");
  const auto idle_ns = number(idle, "idle_ns");
  if (!busy_ns || !idle_ns || *busy_ns + *idle_ns <= 0) return nullptr;
  const double total_ns = *busy_ns + std::max(*idle_ns, 0.0);
  json parts = json::array({split_part("busy", "busy", *busy_ns, total_ns)});
  double named_ns = 0;
  for (const auto& [key, label] :
       {std::pair{"launch_ns", "idle, waiting for a launch"},
        std::pair{"pause_ns", "idle, nothing submitted"},
        std::pair{"synchronisation_ns", "idle, synchronisation"}, std::pair{"copy_ns", "idle, copies"},
        std::pair{"other_ns", "idle, other"}}) {
    const auto ns = number(idle, key);
    if (!ns || *ns <= 0) continue;
    named_ns += *ns;
    parts.push_back(
        split_part(std::string(key).substr(0, std::string(key).size() - 3).c_str(), label, *ns, total_ns));
  }
  if (named_ns == 0 && *idle_ns > 0) parts.push_back(split_part("other", "idle", *idle_ns, total_ns));
  return parts;
}

/// Processes or devices of the stage, where it has several.
json traced_list(const json& stage, const char* key) {
  return stage["traced"].is_object() ? stage["traced"].value(key, json::array()) : json::array();
}

/// The bare mean; of a stage that only a trace knows, that of its occurrences there.
std::string time_of(const json& stage) {
  const bool is_traced = !number(stage["bare"], "mean_ns") && stage["step"].is_object();
  return html_cell(is_traced ? stage["step"] : stage["bare"], "mean_ns", "duration");
}

std::string source_of(const json& stage) {
  const auto source = stage["step"].find("source");
  return source != stage["step"].end() && source->is_string() ? source->get<std::string>() : "";
}

/// Tokens that a stage's time is divided by; 1: it does not depend on them.
double tokens_of(const json& profile, const json& stage) {
  const auto tokens = number(profile["throughput"], "decode_tokens_count");
  return stage["name"] == "decode_all" && tokens && *tokens > 0 ? *tokens : 1;
}

/// What a stage's own judgement says against its baseline; nothing where there is none.
const gate::stage_judgement* judged_stage(const std::optional<gate::judgement>& judged,
                                          const std::string& name) {
  if (!judged) return nullptr;
  const auto found = std::find_if(judged->stages.begin(), judged->stages.end(),
                                  [&](const auto& stage) { return stage.stage == name && stage.numbers; });
  return found == judged->stages.end() ? nullptr : &*found;
}

struct headline {
  const char* label;
  std::string value;
  std::string note{};
  const char* stage = "";  ///< whose change against the baseline is its own
};

json card_of(const headline& shown, const std::optional<gate::judgement>& judged) {
  json card{
      {"label", shown.label}, {"value", shown.value}, {"note", shown.note}, {"change", ""}, {"kind", ""}};
  if (const gate::stage_judgement* const stage = judged_stage(judged, shown.stage)) {
    const double ratio = stage->numbers->slowdown_ratio;
    card["change"] = signed_percent(ratio) + " against the baseline";
    if (stage->which == gate::verdict::regressed) card["kind"] = "bad";
    if (stage->which == gate::verdict::improved) card["kind"] = "good";
  }
  return card;
}

/// Words of the field, and only what was measured.
json cards_of(const json& profile, const std::optional<gate::judgement>& judged) {
  const json& throughput = profile["throughput"];
  std::vector<headline> shown;
  if (const auto ns = number(throughput["ttft"], "p50_ns"))
    shown.push_back({"TTFT, p50", core::format_duration(*ns), "time to first token", "prefill"});
  if (const auto ns = number(throughput["tpot"], "p50_ns")) {
    const auto p99_ns = number(throughput["tpot"], "p99_ns");
    shown.push_back({"TPOT, p50", core::format_duration(*ns),
                     p99_ns ? "time per output token; p99 " + core::format_duration(*p99_ns) : "",
                     "decode_all"});
  }
  if (const auto rate = number(throughput, "tokens_median_per_s"))
    shown.push_back({"tokens/s", fmt::format("{:.4g}", *rate), "decoded, median"});
  if (const auto joules = number(throughput, "energy_per_decoded_token_j")) {
    const double uncertainty = number(throughput, "energy_uncertainty_ratio").value_or(0);
    shown.push_back({"energy per token", fmt::format("{:.3g} ± {:.1g} J", *joules, *joules * uncertainty)});
  }
  if (const auto bytes = number(throughput, "memory_peak_bytes"))
    shown.push_back({"peak memory", formatted(*bytes, "bytes")});
  // A program that tells nothing of tokens: its steps.
  if (!number(throughput, "tokens_median_per_s")) {
    for (const json& stage : profile["stages"]) {
      if (shown.size() >= 6 || !stage["step"].is_object()) continue;
      if (const auto ns = number(stage["step"], "median_ns"))
        shown.push_back({"", core::format_duration(*ns), source_of(stage)});
      shown.back().label = stage["name"].get_ref<const std::string&>().c_str();
      shown.back().stage = shown.back().label;
    }
  }
  json cards = json::array();
  for (const headline& one : shown) cards.push_back(card_of(one, judged));
  return cards;
}

/// The verdict in a line, its first cause, and what it was compared with.
json banner_of(const std::optional<gate::judgement>& judged) {
  if (!judged) return nullptr;
  const bool is_bad = judged->code == core::exit_code::judged_bad;
  const bool is_good = judged->code == core::exit_code::good;
  const gate::stage_judgement* const stage = deciding_stage(*judged);
  std::string cause;
  if (stage != nullptr && stage->attributed && is_bad) {
    const std::vector<gate::cause> causes = gate::leading_causes(*stage->attributed, 1);
    if (!causes.empty()) cause = gate::to_text(causes.front());
  }
  return {{"kind", is_bad    ? "bad"
                   : is_good ? "good"
                             : "unsure"},
          {"word", verdict_word(*judged)},
          {"sentence", verdict_sentence(*judged)},
          {"cause", cause},
          {"baseline", judged->baseline_name}};
}

/// "memory-bound: 58 % of measured bandwidth (2.48 of 4.24 TB/s)"; what keeps a stage from being faster.
std::string bound_of(const json& profile, const json& stage, std::optional<double>& reached) {
  const json& use = stage["utilisation"];
  const auto roof_ns = number(use, "roof_ns");
  const auto mean_ns = number(stage["bare"], "mean_ns");
  const json& idle = stage["idle"];
  const auto idle_ratio = idle.is_object() ? number(idle, "idle_ratio") : std::nullopt;
  std::string idle_text;
  if (idle_ratio && *idle_ratio >= 0.1)
    idle_text = fmt::format("the GPU idles during {} of it", formatted(*idle_ratio, "percent"));
  if (!roof_ns || !mean_ns || *mean_ns <= 0 || !use["roof"].is_string())
    return idle_text;  // why it is not known stands among what was not measured
  const bool by_memory = use["roof"] == "memory";
  reached = *roof_ns / *mean_ns;
  const char* const rate_format = by_memory ? "bytes_per_s" : "flops_per_s";
  const auto achieved = number(use, by_memory ? "achieved_bytes_per_s" : "achieved_flops_per_s");
  const auto ceiling =
      number(profile["ceilings"], by_memory ? "measured_bytes_per_s" : "measured_flops_per_s");
  std::string text =
      fmt::format("{}{} of measured {}",
                  *reached < analysis::bound_ratio ? ""
                  : by_memory                      ? "memory-bound: "
                                                   : "compute-bound: ",
                  formatted(std::min(1.0, *reached), "percent"), by_memory ? "bandwidth" : "arithmetic rate");
  if (achieved && ceiling)
    text += fmt::format(" ({} of {})", formatted(*achieved, rate_format), formatted(*ceiling, rate_format));
  if (*reached < analysis::bound_ratio) text += ", its ceiling; something else bounds it";
  return idle_text.empty() ? text : text + "; " + idle_text;
}

/// What each recommendation saves at most, "10.4 ms (163 µs a token), 23 % of the whole"; empty: nothing, or
/// not known.
json savings_of(const json& profile) {
  json texts = json::array();
  for (const json& item : profile["findings"]["recommendations"]) {
    const auto ns = number(item, "saves_at_most_ns");
    const auto ratio = number(item, "saves_at_most_ratio");
    if (!ns || !ratio) {
      texts.push_back("");
      continue;
    }
    const auto tokens = number(profile["throughput"], "decode_tokens_count");
    const bool is_of_tokens = item["stage"] == "decode_all" && tokens && *tokens > 1;
    texts.push_back(
        fmt::format("{}{}, {} of {}", core::format_duration(*ns),
                    is_of_tokens ? fmt::format(" ({} a token)", core::format_duration(*ns / *tokens)) : "",
                    formatted(*ratio, "percent"), item["saves_at_most_ratio_of"].get<std::string>()));
  }
  return texts;
}

}  // namespace

json report_pictures(const json& profile, const std::optional<gate::judgement>& judged) {
  json stages = json::array();
  for (const json& stage : profile["stages"]) {
    std::optional<double> reached;
    const std::string bound = bound_of(profile, stage, reached);
    const double tokens = tokens_of(profile, stage);
    const auto mean_ns = number(stage["step"].is_object() ? stage["step"] : stage["bare"], "mean_ns");
    const double share = number(stage, "share_ratio").value_or(0);
    const json split = split_of(stage);
    stages.push_back(
        {{"name", stage["name"]},
         {"time", tokens > 1 && mean_ns ? fmt::format("{} a token", core::format_duration(*mean_ns / tokens))
                                        : time_of(stage)},
         {"whole",
          tokens > 1 && mean_ns ? fmt::format("{} for {:.0f}", core::format_duration(*mean_ns), tokens) : ""},
         {"share", share > 0 ? formatted(share, "percent") + " of the time" : ""},
         {"source", source_of(stage)},
         {"bound", bound},
         {"has_reached", reached.has_value()},
         {"reached_width", css_percent(reached.value_or(0))},
         {"split", split},
         {"is_split_traced", stage["idle"].is_object() && stage["idle"].value("is_traced", false)},
         {"is_idle_unknown", stage["idle"].is_object() && number(stage["idle"], "idle_ns") == 0},
         {"ranks", traced_list(stage, "ranks")},
         {"devices", traced_list(stage, "devices")}});
  }
  const std::vector<kernel_row> kernels = kernel_rows_of(profile);
  return {{"banner", banner_of(judged)},       {"cards", cards_of(profile, judged)},
          {"stages", std::move(stages)},       {"savings", savings_of(profile)},
          {"icicle", icicle_of(kernels)},      {"kernels", kernel_table_of(kernels)},
          {"tokens", token_chart_of(profile)}, {"strips", strips_of(profile)},
          {"roofline", roofline_of(profile)}};
}

}  // namespace profgate::render

namespace profgate::render {

std::vector<std::string> closing_lines(std::string_view profile_json_text,
                                       const std::optional<gate::judgement>& judged) {
  const json profile = core::parse_json(profile_json_text);
  std::vector<std::string> lines;
  std::string figures;
  for (const json& card : cards_of(profile, judged)) {
    const std::string label = card["label"];
    if (label == "peak memory") continue;
    const bool is_rate = label == "tokens/s";
    const std::string value = card["value"];
    figures += figures.empty() ? "" : ", ";
    figures += is_rate ? value + " tokens/s" : fmt::format("{} {}", label.substr(0, label.find(',')), value);
  }
  if (!figures.empty()) lines.push_back(figures);
  const json* largest = nullptr;
  for (const json& stage : profile["stages"]) {
    const auto share = [](const json& one) { return number(one, "share_ratio").value_or(0); };
    if (largest == nullptr || share(stage) > share(*largest)) largest = &stage;
  }
  std::optional<double> reached;
  const std::string bound = largest != nullptr ? bound_of(profile, *largest, reached) : "";
  if (!bound.empty()) lines.push_back(fmt::format("{}: {}", (*largest)["name"].get<std::string>(), bound));
  if (judged) {
    const std::string word = verdict_word(*judged);
    const std::string sentence = verdict_sentence(*judged);
    lines.push_back(fmt::format("gate: {}", sentence.starts_with(word) ? sentence : word + ": " + sentence));
  }
  for (std::string& line : lines) line = core::to_valid_utf8(line);
  return lines;
}

}  // namespace profgate::render
