#include "report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/counters.h"
#include "analysis/timeline_analysis.h"
#include "core/escape.h"
#include "core/json.h"
#include "core/units.h"
#include "difference_words.h"
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

/// CSS lengths: three digits are finer than any screen.
std::string css_percent(double ratio) {
  return fmt::format("{:.3f}%", 100 * std::clamp(ratio, 0.0, 1.0));
}

json split_part(const char* kind, const std::string& label, double ns, double total_ns) {
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
  for (const analysis::gap_cause& cause : analysis::all_gap_causes) {
    const auto ns = number(idle, (std::string(cause.key) + "_ns").c_str());
    if (!ns || *ns <= 0) continue;
    named_ns += *ns;
    parts.push_back(split_part(cause.key, analysis::idle_label(cause.key), *ns, total_ns));
  }
  if (named_ns == 0 && *idle_ns > 0) parts.push_back(split_part("other", "idle", *idle_ns, total_ns));
  return parts;
}

/// Whose time the split is, where it is not that of the stage's headline: ", in the trace, mean of 40".
std::string split_source_of(const json& stage) {
  const json& idle = stage["idle"];
  if (!idle.is_object() || !idle.value("is_traced", false)) return "";
  const auto occurrences = number(stage["traced"], "occurrences_count");
  return idle.value("is_mean", false) && occurrences
             ? fmt::format(", in the trace, mean of {:.0f}", *occurrences)
             : ", in the trace";
}

/// Processes or devices of the stage, where it has several.
json traced_list(const json& stage, const char* key) {
  return stage["traced"].is_object() ? stage["traced"].value(key, json::array()) : json::array();
}

std::string source_of(const json& stage) {
  const auto source = stage["step"].find("source");
  return source != stage["step"].end() && source->is_string() ? source->get<std::string>() : "";
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

bool is_one_sample(const json& times) {
  return number(times, "samples_count") == 1;
}

/// Figures of the program's own in the closing line; the reports have them all.
constexpr std::size_t most_told_figures = 4;

/// Words of the field, and only what was measured.
json cards_of(const json& profile, const std::optional<gate::judgement>& judged) {
  const json& throughput = profile["throughput"];
  std::vector<headline> shown;
  if (const auto ns = number(throughput["ttft"], "p50_ns"))
    shown.push_back({is_one_sample(throughput["ttft"]) ? "TTFT, n = 1" : "TTFT, p50",
                     core::format_duration(*ns), "time to first token", "prefill"});
  if (const auto ns = number(throughput["tpot"], "p50_ns")) {
    const auto p99_ns = number(throughput["tpot"], "p99_ns");
    shown.push_back({is_one_sample(throughput["tpot"]) ? "TPOT, n = 1" : "TPOT, p50",
                     core::format_duration(*ns),
                     p99_ns ? "time per output token; p99 " + core::format_duration(*p99_ns)
                            : std::string("time per output token"),
                     "decode_all"});
  }
  if (const auto rate = number(throughput, "tokens_median_per_s"))
    shown.push_back({"tokens/s", core::format_number(*rate), "decoded, p50"});
  if (const auto joules = number(throughput, "energy_per_decoded_token_j")) {
    const double uncertainty_ratio = number(throughput, "energy_uncertainty_ratio").value_or(0);
    shown.push_back({"energy per token", core::format_energy(*joules, uncertainty_ratio), "decoded"});
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
  const std::string word = verdict_word(*judged);
  std::string sentence = verdict_sentence(*judged);
  if (sentence.starts_with(word)) sentence = sentence.substr(word.size());
  return {{"kind", is_bad    ? "bad"
                   : is_good ? "good"
                             : "unsure"},
          {"word", word},
          {"sentence", sentence},
          {"cause", cause},
          {"baseline", judged->baseline_name}};
}

/// How near a stage comes to the ceiling that its work meets first: the measured one, else the vendor's peak.
struct stage_ceiling {
  bool is_measured = true;
  bool is_by_memory = false;
  double reached_ratio = 0;
};

std::optional<stage_ceiling> ceiling_of(const json& stage) {
  const json& use = stage["utilisation"];
  const auto roof_ns = number(use, "roof_ns");
  const auto median_ns = number(stage["bare"], "median_ns");
  if (roof_ns && median_ns && *median_ns > 0 && use["roof"].is_string())
    return stage_ceiling{true, use["roof"] == "memory", *roof_ns / *median_ns};
  const auto mbu = number(use, "mbu_over_vendor_ratio");
  const auto mfu = number(use, "mfu_over_vendor_ratio");
  if (!mbu || !mfu) return std::nullopt;
  return stage_ceiling{false, *mbu >= *mfu, std::max(*mbu, *mfu)};
}

/// "memory-bound: 58 % of measured bandwidth (2.48 of 4.24 TB/s)"; what keeps a stage from being faster.
std::string bound_of(const json& profile, const json& stage, std::optional<double>& reached) {
  const json& idle = stage["idle"];
  const auto idle_ratio = idle.is_object() ? number(idle, "idle_ratio") : std::nullopt;
  std::string idle_text;
  if (idle_ratio && *idle_ratio >= 0.1)
    idle_text = fmt::format("the GPU idles during {} of it", formatted(*idle_ratio, "percent"));
  const std::optional<stage_ceiling> nearest = ceiling_of(stage);
  if (!nearest) return idle_text;  // why it is not known, the summary says
  const bool by_memory = nearest->is_by_memory;
  reached = nearest->reached_ratio;
  const std::string rate = by_memory ? "bytes_per_s" : "flops_per_s";
  const auto achieved = number(stage["utilisation"], ("achieved_" + rate).c_str());
  const auto ceiling =
      number(profile["ceilings"], ((nearest->is_measured ? "measured_" : "vendor_") + rate).c_str());
  const bool is_above = *reached > 1 + ceiling_rounding_ratio;
  std::string text = fmt::format("{}{} of {} {}",
                                 *reached < analysis::bound_ratio ? ""
                                 : by_memory                      ? "memory-bound: "
                                                                  : "compute-bound: ",
                                 is_above ? "all" : formatted(std::min(1.0, *reached), "percent"),
                                 nearest->is_measured                        ? "measured"
                                 : has_configured_peaks(profile["ceilings"]) ? "the configured peak"
                                                                             : "the vendor's peak",
                                 by_memory ? "bandwidth" : "arithmetic rate");
  if (achieved && ceiling)
    text += fmt::format(" ({} of {})", formatted(*achieved, rate), formatted(*ceiling, rate));
  if (*reached < analysis::bound_ratio) text += ", its ceiling; something else bounds it";
  if (is_above)
    text += fmt::format(", and more: {}, or the ceiling is too low",
                        by_memory ? "caches answered a part of its reads" : "its work was counted too high");
  return idle_text.empty() ? text : text + "; " + idle_text;
}

/// Whether work overlaps on a stream, so that it takes several rows.
bool has_lane(const json& strip) {
  return std::any_of(strip["rows"].begin(), strip["rows"].end(), [](const json& row) {
    const std::string& label = row["label"].get_ref<const std::string&>();
    const std::size_t stream = label.find("stream ");
    return stream != std::string::npos && label.find('/', stream) != std::string::npos;
  });
}

/// What the widths of the icicle are, and how the stages' shares differ from those of the unprofiled run,
/// which the text tells: a tool may slow one stage more than another, or trace another number of repetitions.
std::string icicle_note(const json& profile, const std::vector<kernel_row>& rows) {
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
  return fmt::format("Widths are own time in the trace{}.", differ ? ": " + shares : "");
}

}  // namespace

double decoded_tokens(const json& profile, const json& stage) {
  const auto tokens = number(profile["throughput"], "decode_tokens_count");
  return stage["name"] == analysis::decode_all_stage && tokens && *tokens > 0 ? *tokens : 1;
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
    const double share = number(stage, "share_ratio").value_or(0);
    const json split = split_of(stage);
    stages.push_back(
        {{"name", stage["name"]},
         {"time", is_by_token ? fmt::format("{} a token", core::format_duration(*median_ns / tokens))
                  : median_ns ? core::format_duration(*median_ns)
                              : std::string(empty_cell)},
         {"whole",
          is_by_token ? fmt::format("{} for {:.0f} tokens", core::format_duration(*median_ns), tokens) : ""},
         {"share", share > 0 ? formatted(share, "percent") + " of the time" : ""},
         {"source", source_of(stage)},
         {"bound", bound},
         {"has_reached", reached.has_value()},
         {"reached_width", css_percent(reached.value_or(0))},
         {"split", split},
         {"split_of", split_source_of(stage)},
         {"is_idle_unknown", stage["idle"].is_object() && number(stage["idle"], "idle_ns") == 0},
         {"ranks", traced_list(stage, "ranks")},
         {"devices", traced_list(stage, "devices")}});
  }
  json strips = strips_of(profile);
  const bool has_idle_rows = std::any_of(strips.begin(), strips.end(),
                                         [](const json& strip) { return strip["has_idle_row"].get<bool>(); });
  const std::vector<kernel_row> kernels = kernel_rows_of(profile, names);
  const bool has_lanes = std::any_of(strips.begin(), strips.end(), has_lane);
  json icicle = icicle_of(kernels);
  if (icicle.is_object()) icicle["note"] = icicle_note(profile, kernels);
  return {{"has_idle_rows", has_idle_rows},
          {"has_lanes", has_lanes},
          {"idle_legend", idle_legend()},
          {"banner", banner_of(judged)},
          {"cards", cards_of(profile, judged)},
          {"stages", std::move(stages)},
          {"icicle", std::move(icicle)},
          {"kernels", kernel_table_of(kernels)},
          {"tokens", token_chart_of(profile)},
          {"strips", std::move(strips)},
          {"roofline", roofline_of(profile, names)}};
}

std::vector<std::string> closing_lines(std::string_view profile_json_text,
                                       const std::optional<gate::judgement>& judged,
                                       const std::string& not_judged_because) {
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
  const json told = profile.value("program_figures", json::array());
  for (std::size_t i = 0; i < std::min<std::size_t>(told.size(), most_told_figures); ++i) {
    figures += figures.empty() ? "" : ", ";
    figures += one_plain_line(fmt::format("{} {} {}", told[i].value("name", ""),
                                          formatted(number(told[i], "median").value_or(0), "number"),
                                          told[i].value("unit", "")));
  }
  lines.push_back(figures.empty() ? "no times: nothing was measured" : figures);
  const json* largest = nullptr;
  for (const json& stage : profile["stages"]) {
    const auto share = [](const json& one) { return number(one, "share_ratio").value_or(0); };
    if (largest == nullptr || share(stage) > share(*largest)) largest = &stage;
  }
  std::optional<double> reached;
  const std::string bound = largest != nullptr ? bound_of(profile, *largest, reached) : "";
  if (!bound.empty()) {
    lines.push_back(fmt::format("{}: {}", (*largest)["name"].get<std::string>(), bound));
  } else {
    const json use = largest != nullptr ? (*largest)["utilisation"] : json::object();
    const json& ceilings = profile["ceilings"];
    const bool is_work_known = number(use, "work_flops") || number(use, "work_bytes");
    const bool has_ceiling =
        number(ceilings, "measured_flops_per_s") || number(ceilings, "measured_bytes_per_s");
    lines.push_back("what bounds it is not known: " +
                    (!is_work_known ? "nobody says how many FLOPs and bytes it takes"
                     : !has_ceiling ? "what this machine can do at most was not measured"
                                    : use["not_measured"].value("roof_ns", "")));
  }
  if (judged) {
    const std::string word = verdict_word(*judged);
    const std::string sentence = verdict_sentence(*judged);
    lines.push_back(fmt::format("gate: {}", sentence.starts_with(word) ? sentence : word + ": " + sentence));
  } else if (!not_judged_because.empty()) {
    lines.push_back("gate: not judged: " + not_judged_because);
  }
  for (std::string& line : lines) line = core::to_valid_utf8(line);
  return lines;
}

}  // namespace profgate::render
