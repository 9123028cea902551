#include "headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/bare_run.h"
#include "analysis/stage_step.h"
#include "core/escape.h"
#include "core/json.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "difference_words.h"
#include "gate/judge.h"
#include "render/gate_views.h"
#include "report_page.h"
#include "stage_bound.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// What a stage's own judgement says against its baseline; nothing where there is none.
const gate::stage_judgement* judged_stage(const std::optional<gate::judgement>& judged,
                                          const std::string& name) {
  if (!judged) return nullptr;
  const auto found = std::find_if(judged->stages.begin(), judged->stages.end(),
                                  [&](const auto& stage) { return stage.stage == name && stage.numbers; });
  return found == judged->stages.end() ? nullptr : &*found;
}

/// By which stages are ranked: their share of the unprofiled run, or where that was not timed the traced time
/// of all their occurrences.
double weight_of(const json& stage) {
  if (const auto share = number(stage, "share_ratio")) return *share;
  return stage["traced"].is_object() ? number(stage["traced"], "duration_ns").value_or(0) : 0;
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
    card["change"] = core::format_signed_percent(ratio) + " against the baseline";
    if (stage->which == gate::verdict::regressed) card["kind"] = "bad";
    if (stage->which == gate::verdict::improved) card["kind"] = "good";
  }
  return card;
}

bool is_one_sample(const json& times) {
  return number(times, "samples_count") == 1;
}

/// ", batch 2": tokens/s are those of the whole batch, TPOT is that of one of its texts.
std::string batch_text(const json& throughput) {
  const double batch = number(throughput, "batch_count").value_or(1);
  return batch > 1 ? fmt::format(", batch {:.0f}", batch) : "";
}

/// Times that a reader takes for one: closer than the digits that are shown.
bool differ(double a, double b) {
  return std::abs(a - b) > 0.01 * std::max(a, b);
}

const json* stage_called(const json& profile, const char* name) {
  for (const json& stage : profile["stages"])
    if (stage["name"] == name) return &stage;
  return nullptr;
}

/// Figures of the program's own in the closing line; the reports have them all.
constexpr std::size_t most_told_figures = 4;

/// Where TTFT is not prefill's time: up to where it runs.
std::string ttft_words(bool is_seen_by_steps) {
  return is_seen_by_steps ? "TTFT runs from the start of a request's prefill to that of its first decode "
                            "step; prefill's time "
                            "is that of the stage alone."
                          : "TTFT runs from the start of a request's prefill to its first token; prefill's "
                            "time is that of "
                            "the stage alone, of all inputs of a repetition.";
}

/// Whether decode_all holds its steps and nothing else: then the mean of a token is the same by both.
bool do_steps_add_up(const json& throughput, const json& decode_all) {
  const auto tpot_mean_ns = number(throughput["tpot"], "mean_ns");
  const json bare = decode_all.value("bare", json());
  if (!bare.is_object() || !tpot_mean_ns) return false;
  const auto mean_ns = number(bare, "mean_ns");
  const auto median_ns = number(bare, "median_ns");
  const auto token_ns = number(decode_all, "a_token_ns");
  if (!mean_ns || !median_ns || !token_ns || *median_ns <= 0) return false;
  constexpr double rounding_ratio = 1e-4;
  const double token_mean_ns = *mean_ns * *token_ns / *median_ns;
  return std::abs(*tpot_mean_ns - token_mean_ns) <= rounding_ratio * token_mean_ns;
}

/// Where TPOT is not decode_all's time over its tokens: why it is the shorter or the longer one.
std::string tpot_words(double tpot_ns, double token_ns, const std::string& method) {
  if (method == analysis::from_step_to_step)
    return tpot_ns < token_ns ? "TPOT runs from each decode step to the next, and its p50 is of single "
                                "tokens; decode_all over "
                                "its tokens is the median of whole texts."
                              : "TPOT runs from each decode step to the next; decode_all ends with a text's "
                                "last step, so that "
                                "its tokens share one gap less.";
  if (tpot_ns < token_ns)
    return fmt::format(
        "TPOT is timed by itself ({}): decode_all over its tokens also holds what lies between the steps.",
        method);
  return fmt::format(
      "TPOT is timed by itself ({}), and its p50 is of single tokens; decode_all over its tokens is a mean "
      "of "
      "them.",
      method);
}

}  // namespace

std::string time_source_of(const json& stage) {
  const auto source = stage["step"].find("source");
  return source != stage["step"].end() && source->is_string() ? source->get<std::string>() : "";
}

json cards_of(const json& profile, const std::optional<gate::judgement>& judged) {
  const json& throughput = profile["throughput"];
  std::vector<headline> shown;
  const std::string leaves_out = throughput["ttft"].value("leaves_out", "");
  if (const auto ns = number(throughput["ttft"], "p50_ns"))
    shown.push_back(
        {is_one_sample(throughput["ttft"]) ? "TTFT, n = 1" : "TTFT, p50", core::format_duration(*ns),
         "time to first token" + (leaves_out.empty() ? "" : ", without " + leaves_out), core::prefill_stage});
  if (const auto ns = number(throughput["tpot"], "p50_ns")) {
    const auto p99_ns = number(throughput["tpot"], "p99_ns");
    shown.push_back({is_one_sample(throughput["tpot"]) ? "TPOT, n = 1" : "TPOT, p50",
                     core::format_duration(*ns),
                     p99_ns ? "time per output token; p99 " + core::format_duration(*p99_ns)
                            : std::string("time per output token"),
                     core::decode_all_stage});
  }
  if (const auto rate = number(throughput, "tokens_median_per_s"))
    shown.push_back({"tokens/s", core::format_number(*rate), "decoded, p50" + batch_text(throughput)});
  if (const auto joules = number(throughput, "energy_per_decoded_token_j")) {
    const double uncertainty_ratio = number(throughput, "energy_uncertainty_ratio").value_or(0);
    shown.push_back({"energy per token", core::format_energy(*joules, uncertainty_ratio), "decoded"});
  }
  const auto memory_bytes = number(throughput, "memory_peak_bytes");
  // A program that tells nothing of tokens: its steps.
  if (!number(throughput, "tokens_median_per_s")) {
    const std::size_t most_cards = memory_bytes ? 5 : 6;
    for (const json& stage : profile["stages"]) {
      if (shown.size() >= most_cards || !stage["step"].is_object()) continue;
      const auto median_ns = number(stage["step"], "median_ns");
      if (!median_ns) continue;
      const char* const name = stage["name"].get_ref<const std::string&>().c_str();
      shown.push_back({name, core::format_duration(*median_ns), time_source_of(stage), name});
    }
  }
  if (memory_bytes) shown.push_back({"peak memory", formatted(*memory_bytes, "bytes")});
  json cards = json::array();
  for (const headline& one : shown) cards.push_back(card_of(one, judged));
  return cards;
}

std::string token_times_note(const json& profile) {
  const json& throughput = profile["throughput"];
  const std::string method = text_or_empty(throughput["tpot"], "method");
  std::string note;
  const auto ttft_ns = number(throughput["ttft"], "p50_ns");
  const json* prefill = stage_called(profile, core::prefill_stage);
  const auto prefill_ns = prefill != nullptr ? number((*prefill)["bare"], "median_ns") : std::nullopt;
  if (ttft_ns && prefill_ns && differ(*ttft_ns, *prefill_ns))
    note = ttft_words(method == analysis::from_step_to_step);
  const std::string leaves_out = throughput["ttft"].value("leaves_out", "");
  if (ttft_ns && !leaves_out.empty())
    note += fmt::format("{}TTFT leaves out {}.", note.empty() ? "" : " ", leaves_out);
  const auto tpot_ns = number(throughput["tpot"], "p50_ns");
  const json* decode = stage_called(profile, core::decode_all_stage);
  const auto token_ns = decode != nullptr ? number(*decode, "a_token_ns") : std::nullopt;
  if (tpot_ns && token_ns && differ(*tpot_ns, *token_ns))
    note += (note.empty() ? "" : " ") +
            (do_steps_add_up(throughput, *decode)
                 ? std::string("TPOT's p50 is that of single tokens; decode_all over its tokens is that of "
                               "whole repetitions: their means are the same.")
                 : tpot_words(*tpot_ns, *token_ns, method));
  return note;
}

json banner_of(const std::optional<gate::judgement>& judged) {
  if (!judged) return nullptr;
  const bool is_bad = judged->code == core::exit_code::judged_bad;
  const bool is_good = judged->code == core::exit_code::good;
  const gate::stage_judgement* const stage = gate::deciding_stage(*judged);
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
          {"baseline", judged->overall == gate::verdict::no_baseline ? "" : judged->baseline_name}};
}

namespace {

/// "; unreliable: mix spreads by 46 %", of the stage that does most.
std::string spread_text(const json& profile) {
  constexpr double wide_cv_ratio = 0.2;  // reports tell it from 5 % on; here it would hide the figures
  const json texts = profile["throughput"].value("lengths_that_differ", json());
  const json turns = profile["throughput"].value("decoding_in_turns", json());
  if (turns.is_string()) return one_plain_line(fmt::format("; {}", turns.get<std::string>()));
  if (texts.is_string()) return one_plain_line(fmt::format("; {}", texts.get<std::string>()));
  const json* widest = nullptr;
  double widest_ratio = wide_cv_ratio;
  for (const json& stage : profile["stages"]) {
    const auto ratio = stage["bare"].is_object() ? number(stage["bare"], "cv_ratio") : std::nullopt;
    if (!ratio || *ratio <= widest_ratio) continue;
    widest = &stage;
    widest_ratio = *ratio;
  }
  if (widest == nullptr) return "";
  return one_plain_line(fmt::format("; unreliable: {} spreads by {}", (*widest)["name"].get<std::string>(),
                                    formatted(widest_ratio, "percent")));
}

}  // namespace

std::vector<std::string> closing_lines(std::string_view profile_json_text,
                                       const std::optional<gate::judgement>& judged,
                                       const std::string& not_judged_because) {
  const json profile = core::parse_json(profile_json_text);
  std::vector<std::string> lines;
  std::string figures;
  const std::string batch = batch_text(profile["throughput"]);
  for (const json& card : cards_of(profile, judged)) {
    const std::string label = card["label"];
    if (label == "peak memory") continue;
    const bool is_rate = label == "tokens/s";
    const std::string value = card["value"];
    figures += figures.empty() ? "" : ", ";
    const std::string note = card["note"];
    figures += is_rate ? value + " tokens/s" + (batch.empty() ? "" : " (" + batch.substr(2) + ")")
                       : fmt::format("{} {}", label.substr(0, label.find(',')), value);
    if (note.ends_with(analysis::host_alone_words)) figures += " (the host's alone)";
  }
  const json told = profile.value("program_figures", json::array());
  for (std::size_t i = 0; i < std::min<std::size_t>(told.size(), most_told_figures); ++i) {
    figures += figures.empty() ? "" : ", ";
    figures +=
        one_plain_line(fmt::format("{} {}", text_or_empty(told[i], "name"), told_text(told[i], "median")));
  }
  lines.push_back(figures.empty() ? "no times: nothing was measured" : figures + spread_text(profile));
  const json* largest = nullptr;
  for (const json& stage : profile["stages"])
    if (largest == nullptr || weight_of(stage) > weight_of(*largest)) largest = &stage;
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
