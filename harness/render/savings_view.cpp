#include "savings_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/timeline_analysis.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

std::string most_of(const json& profile, const json& item) {
  const auto ns = number(item, "saves_at_most_ns");
  const auto ratio = number(item, "saves_at_most_ratio");
  if (!ns) return "";
  const auto tokens = number(profile["throughput"], "decode_tokens_count");
  const bool is_of_tokens = item["stage"] == core::decode_all_stage && tokens && *tokens > 1;
  return core::format_duration(*ns) +
         (is_of_tokens ? fmt::format(" ({} a token)", core::format_duration(*ns / *tokens)) : "") +
         (ratio ? fmt::format(", {} of {}", formatted(*ratio, "percent"),
                              item["saves_at_most_ratio_of"].get<std::string>())
                : "");
}

/// "prefill 1.20 ms, 12.0 % of the whole; decode_all …": of each stage what its rows save together.
std::string together_of(const json& profile, bool do_all_add_up, bool leaves_arithmetic_out) {
  std::string text;
  bool ends_at_roof = false;
  bool leaves_some_out = false;
  for (const json& together : profile["findings"].value("stage_savings", json::array())) {
    if (!together.is_object() || !together.value("stage", json()).is_string()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", together["stage"].get<std::string>(),
                        most_of(profile, together));
    ends_at_roof = ends_at_roof || together.value("ends_at_roof", false);
    leaves_some_out = leaves_some_out || together.value("leaves_some_out", false);
  }
  if (text.empty()) return "";
  std::vector<std::string> notes;
  if (!do_all_add_up) notes.emplace_back("time that several rows hold counts once");
  if (leaves_arithmetic_out) notes.emplace_back("same arithmetic");
  if (ends_at_roof) notes.emplace_back("no stage gets below its roof");
  if (leaves_some_out) notes.emplace_back("what rows without a figure save is not in it");
  return notes.empty() ? text + "." : fmt::format("{} ({}).", text, fmt::join(notes, "; "));
}

std::string note_on(const json& item, bool is_known) {
  if (item.value("changes_arithmetic", false))
    return "It changes the arithmetic: check accuracy. Do not add it up: others shrink with it.";
  if (is_known)
    return item["adds_up"] == false ? fmt::format("Do not add it up: other rows of {} hold this time, too.",
                                                  item["stage"].get<std::string>())
                                    : "";
  return item["is_about_measuring"] == true
             ? ""
             : fmt::format("What it can save is not known: {}.", reason_of(item, "saves_at_most_ns"));
}

}  // namespace

void put_savings(json& profile) {
  json& findings = profile["findings"];
  std::size_t known_count = 0;
  std::size_t summed_count = 0;
  bool do_all_add_up = true;
  bool do_summed_add_up = true;
  bool is_sum_told = true;  // an earlier profgate told one saving in several rows
  std::size_t wins_count = 0;
  for (json& item : findings["recommendations"]) {
    wins_count += item["is_about_measuring"] == true ? 0 : 1;
    const std::string most = most_of(profile, item);
    item["saving_note"] = note_on(item, !most.empty());
    item["most_saved"] = most;
    if (most.empty()) continue;
    ++known_count;
    is_sum_told = is_sum_told && item["adds_up"].is_boolean();
    do_all_add_up = do_all_add_up && item["adds_up"] == true;
    if (item.value("changes_arithmetic", false)) continue;
    ++summed_count;
    do_summed_add_up = do_summed_add_up && item["adds_up"] == true;
  }
  findings["wins_count"] = wins_count;
  findings["savings_together"] =
      summed_count < 2 ? "" : together_of(profile, do_summed_add_up, summed_count < known_count);
  findings["savings_sum"] = known_count < 2 ? ""
                            : !is_sum_told  ? "Savings are upper bounds; whether they add up is not told."
                            : do_all_add_up
                                ? "Savings are upper bounds, and add up."
                                : "Savings are upper bounds, and add up unless a row says otherwise.";
}

}  // namespace profgate::render
