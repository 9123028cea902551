// A number of stakeholder_summary.md and of the banner is the one that its label names: TTFT is not TPOT, a
// p99 is no p50, and a stage's figures are not another's.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/profile.h"
#include "core/units.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "judgement_cases.h"
#include "markdown_tables.h"
#include "render/verdict_json.h"
#include "report_profiles.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

const std::string absent_cell = "–";

json field_at(const json& object, const char* pointer) {
  return object.value(json::json_pointer(pointer), json());
}

std::string time_text(const json& value_ns) {
  return value_ns.is_number() ? core::format_duration(value_ns.get<double>()) : absent_cell;
}
std::string share_text(const json& ratio) {
  return ratio.is_number() ? core::format_percent(ratio.get<double>()) : absent_cell;
}
/// Where kernels took longer under the tracer than the whole stage without, the traced gaps bound it.
std::string idle_share_text(const json& stage, const json& median_ns) {
  const json idle = field_at(stage, "/idle");
  const json at_most_ns = field_at(stage, "/idle/idle_at_most_ns");
  if (!idle.is_object()) return absent_cell;
  const json idle_ns = idle.value("idle_ns", json());
  if (idle_ns.is_number() && (at_most_ns.is_number() || idle_ns.get<double>() > 0))
    return share_text(idle["idle_ratio"]);
  return at_most_ns.is_number() ? "&lt; " + share_text(at_most_ns.get<double>() / median_ns.get<double>())
                                : absent_cell;
}
std::string ceiling_text(const json& ratio) {
  return ratio.is_number() && ratio.get<double>() > 1.0005 ? "≥ 100 %" : share_text(ratio);
}
std::string energy_text(const json& throughput) {
  const json uncertainty = field_at(throughput, "/energy_uncertainty_ratio");
  return core::format_energy(throughput["energy_per_decoded_token_j"].get<double>(),
                             uncertainty.is_number() ? uncertainty.get<double>() : 0);
}

/// What stands beside the label everywhere: `pattern` captures it. Nothing: the document has no such figure.
void compare_labelled(const std::string& text, const std::string& pattern, const std::string& wanted,
                      std::vector<std::string>& wrong) {
  const std::regex labelled(pattern);
  std::size_t found = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), labelled), end; match != end; ++match, ++found)
    if ((*match)[1].str() != wanted) wrong.push_back(match->str() + " should be " + wanted);
  if (found == 0 && wanted != absent_cell) wrong.push_back(pattern + " is not there; it should be " + wanted);
}

std::string escaped_name(const json& stage) {
  return std::regex_replace(stage["name"].get<std::string>(), std::regex("_"), "\\_");
}

void compare_row(const table_row& row, const std::map<std::string, std::string>& wanted,
                 const std::string& name, std::vector<std::string>& wrong) {
  for (const auto& [head, value] : wanted) {
    const auto cell = row.find(head);
    if (cell == row.end()) continue;  // columns that hold nothing are left out
    if (cell->second != value)
      wrong.push_back(name + ", " + head + ": " + cell->second + " should be " + value);
  }
}

/// Rows of a table by their first cell, each with what it must say.
void compare_table(const std::string& summary, const std::string& heading, const std::string& first_column,
                   const std::map<std::string, std::map<std::string, std::string>>& wanted,
                   std::vector<std::string>& wrong) {
  std::size_t compared = 0;
  for (const table_row& row : table_below(summary, heading)) {
    const auto found = wanted.find(row.at(first_column));
    if (found == wanted.end()) {
      wrong.push_back(heading + ": nobody knows " + row.at(first_column));
      continue;
    }
    compare_row(row, found->second, heading + ", " + found->first, wrong);
    ++compared;
  }
  if (compared != wanted.size() && summary.find(heading + "\n") != std::string::npos)
    wrong.push_back(fmt::format("{} has {} rows of {}", heading, compared, wanted.size()));
}

void compare_token_times(const std::string& summary, const json& throughput,
                         std::vector<std::string>& wrong) {
  const std::string time = "([0-9.]+ (?:n|µ|m)?s)";
  const json& ttft = throughput["ttft"];
  const json& tpot = throughput["tpot"];
  compare_labelled(summary, "TTFT " + time, time_text(ttft["p50_ns"]), wrong);
  compare_labelled(summary, "TPOT " + time, time_text(tpot["p50_ns"]), wrong);
  compare_labelled(summary, "TPOT [^,;]*\\(p99 " + time, time_text(field_at(tpot, "/p99_ns")), wrong);
  std::map<std::string, std::map<std::string, std::string>> rows;
  for (const auto& [label, times] :
       {std::pair{"TTFT, time to first token", ttft}, {"TPOT, time per output token", tpot}}) {
    if (!field_at(times, "/mean_ns").is_number()) continue;
    rows[label] = {{"p50", time_text(field_at(times, "/p50_ns"))},
                   {"p90", time_text(field_at(times, "/p90_ns"))},
                   {"p99", time_text(field_at(times, "/p99_ns"))},
                   {"n", times["samples_count"].dump()}};
  }
  if (!rows.empty()) compare_table(summary, "## Aggregates", "unprofiled runs", rows, wrong);
}

void compare_aggregates(const std::string& summary, const json& throughput, std::vector<std::string>& wrong) {
  const auto rate = field_at(throughput, "/tokens_median_per_s");
  if (rate.is_number())  // "100" and "100.0" are the same
    compare_labelled(std::regex_replace(summary, std::regex("deviation [0-9.]+ tokens/s"), ""),
                     "([0-9]+(?:\\.[0-9]*[1-9])?)(?:\\.?0+)? tokens/s",
                     std::regex_replace(core::format_number(rate.get<double>()), std::regex("\\.0+$"), ""),
                     wrong);
  if (const json spread = field_at(throughput, "/tokens_std_per_s"); rate.is_number() && spread.is_number())
    compare_labelled(summary, "standard deviation ([0-9.]+) tokens/s",
                     formatted(spread.get<double>(), "spread"), wrong);
  if (field_at(throughput, "/energy_per_decoded_token_j").is_number())
    compare_labelled(summary, "([0-9.]+(?: ± [0-9.]+)? (?:m|µ|k)?J) per (?:decoded )?token",
                     energy_text(throughput), wrong);
  const std::string size = " ([0-9.]+ [kMGT]?B)";
  for (const auto& [label, key] : {std::pair{"Peak memory:", "memory_peak_bytes"},
                                   {"; weights", "weight_bytes"},
                                   {"KV cache", "kv_cache_bytes"},
                                   {"scratch", "scratch_bytes"}}) {
    const json value = field_at(throughput, (std::string("/") + key).c_str());
    const bool is_shown = value.is_number() && field_at(throughput, "/memory_peak_bytes").is_number();
    compare_labelled(summary, label + size, is_shown ? core::format_bytes(value.get<double>()) : absent_cell,
                     wrong);
  }
  compare_labelled(summary, "All stages: ([0-9.]+ (?:n|µ|m)?s)",
                   time_text(field_at(throughput, "/total_median_ns")), wrong);
}

void compare_stages(const std::string& summary, const json& profile, std::vector<std::string>& wrong) {
  std::map<std::string, std::map<std::string, std::string>> timings;
  std::map<std::string, std::map<std::string, std::string>> use;
  const auto shares = [](const json& utilisation) {
    std::map<std::string, std::string> cells;
    for (const char* kind : {"MFU", "MBU"}) {
      const std::string key = kind == std::string("MFU") ? "mfu_over_" : "mbu_over_";
      cells[std::string(kind) + ", measured ceiling"] =
          ceiling_text(field_at(utilisation, ("/" + key + "measured_ratio").c_str()));
      for (const char* whose : {"vendor's", "configured"})
        cells[fmt::format("{}, {} peak", kind, whose)] =
            ceiling_text(field_at(utilisation, ("/" + key + "vendor_ratio").c_str()));
    }
    return cells;
  };
  const json tokens = field_at(profile, "/throughput/decode_tokens_count");
  for (const json& stage : profile["stages"]) {
    const json median_ns = field_at(stage, "/step/median_ns");
    const json std_ns = field_at(stage, stage["step"].contains("std_ns") ? "/step/std_ns" : "/bare/std_ns");
    const bool is_by_token = stage["name"] == "decode_all" && tokens.is_number() && tokens.get<double>() > 1;
    timings[escaped_name(stage)] = {
        {"p50", time_text(median_ns)},
        {"a token", is_by_token && median_ns.is_number()
                        ? core::format_duration(median_ns.get<double>() / tokens.get<double>())
                        : absent_cell},
        {"std", median_ns.is_number() ? time_text(std_ns) : absent_cell},
        {"runs", median_ns.is_number() ? field_at(stage, "/step/occurrences_count").dump() : "0"},
        {"share", median_ns.is_number() ? share_text(field_at(stage, "/share_ratio")) : absent_cell},
        {"GPU idle", median_ns.is_number() ? idle_share_text(stage, median_ns) : absent_cell}};
    use[escaped_name(stage)] = shares(stage["utilisation"]);
  }
  use["all stages"] = shares(profile["throughput"]["utilisation"]);
  compare_table(summary, "## Per-Stage Timings", "stage", timings, wrong);
  compare_table(summary, "## MFU", "stage", use, wrong);
}

/// Those with the largest time, in its order.
void compare_kernels(const std::string& summary, const json& profile, std::vector<std::string>& wrong) {
  std::vector<json> kernels = profile["kernels"]["overall"];
  const bool has_own = std::any_of(kernels.begin(), kernels.end(), [](const json& kernel) {
    return field_at(kernel, "/own_ns").is_number();
  });
  const char* const key = has_own ? "/own_ns" : "/total_ns";
  std::stable_sort(kernels.begin(), kernels.end(), [&](const json& a, const json& b) {
    return a.value(json::json_pointer(key), 0.0) > b.value(json::json_pointer(key), 0.0);
  });
  const std::vector<table_row> rows = table_below(summary, "## Top Kernels");
  for (std::size_t i = 0; i < std::min(rows.size(), kernels.size()); ++i) {
    const double calls = std::max(1.0, kernels[i]["calls_count"].get<double>());
    const json own_ns = field_at(kernels[i], "/own_ns");
    compare_row(
        rows[i],
        {{"own time", time_text(own_ns)},
         {"calls", kernels[i]["calls_count"].dump()},
         {"own time a launch", own_ns.is_number() ? time_text(own_ns.get<double>() / calls) : absent_cell},
         {"traced time", time_text(kernels[i]["total_ns"])},
         {"traced time a launch", time_text(field_at(kernels[i], "/mean_ns"))}},
        "kernel " + std::to_string(i + 1), wrong);
  }
  if (rows.size() != std::min<std::size_t>(3, kernels.size()))
    wrong.emplace_back("a kernel's row is missing");
}

/// Each number that is not what its label says.
std::vector<std::string> wrongly_labelled(const json& profile, const std::string& summary) {
  std::vector<std::string> wrong;
  compare_token_times(summary, profile["throughput"], wrong);
  compare_aggregates(summary, profile["throughput"], wrong);
  compare_stages(summary, profile, wrong);
  compare_kernels(summary, profile, wrong);
  return wrong;
}

TEST(labelled_numbers, of_the_summary_are_what_their_labels_say) {
  for (const auto& [name, text] : report_profiles()) {
    SCOPED_TRACE(name);
    EXPECT_THAT(wrongly_labelled(json::parse(text), reports_of(text)["stakeholder_summary.md"]),
                ::testing::IsEmpty());
  }
}

/// Two figures of one kind that are exchanged are both derivable, and both wrong.
TEST(labelled_numbers, that_were_exchanged_are_found) {
  const std::string text = report_profiles().at("deepseek-ocr-decoder.decode-b1");
  const json profile = json::parse(text);
  const auto wrong_with = [&](const char* a, const char* b) {
    json changed = profile;
    std::swap(changed[json::json_pointer(a)], changed[json::json_pointer(b)]);
    return wrongly_labelled(profile, reports_of(changed.dump())["stakeholder_summary.md"]).size();
  };
  EXPECT_GT(wrong_with("/throughput/ttft/p50_ns", "/throughput/tpot/p50_ns"), 0U);
  EXPECT_GT(wrong_with("/throughput/tpot/p90_ns", "/throughput/tpot/p99_ns"), 0U);
  EXPECT_GT(wrong_with("/throughput/kv_cache_bytes", "/throughput/scratch_bytes"), 0U);
  EXPECT_GT(wrong_with("/throughput/memory_peak_bytes", "/throughput/weight_bytes"), 0U);
  EXPECT_GT(wrong_with("/stages/0/step/median_ns", "/stages/1/step/median_ns"), 0U);
  EXPECT_GT(wrong_with("/stages/0/share_ratio", "/stages/1/share_ratio"), 0U);
  EXPECT_GT(wrong_with("/stages/0/utilisation/mfu_over_measured_ratio",
                       "/stages/0/utilisation/mbu_over_measured_ratio"),
            0U);
  EXPECT_GT(wrong_with("/kernels/overall/0/calls_count", "/kernels/overall/2/calls_count"), 0U);
  EXPECT_GT(wrong_with("/kernels/overall/0/total_ns", "/kernels/overall/1/total_ns"), 0U);
}

/// "decode_all is 4.9 % slower (90 % CI 4.8 to 5.2 %; 10 + 10 runs): 65.0 → 68.3 ms"
TEST(labelled_numbers, of_the_banner_are_what_their_labels_say) {
  const std::string profile = analysis::profile_json(golden_cases().back().facts);
  const gate::judgement judged = made_up_judgement("regressed");
  const json verdict = json::parse(verdict_json(judged));
  const std::string page = reports_of(profile, judged)["report.html"];
  const auto regressed = std::find_if(verdict["stages"].begin(), verdict["stages"].end(),
                                      [](const json& stage) { return stage["verdict"] == "regressed"; });
  ASSERT_NE(regressed, verdict["stages"].end());
  const json& numbers = (*regressed)["numbers"];
  const auto percent = [&](const char* key) {
    return fmt::format("{:.1f}", 100 * numbers[key].get<double>());
  };
  EXPECT_THAT(page, ::testing::HasSubstr(fmt::format(
                        "is {} % slower (90 % CI {} to {} %; {} + {} runs)", percent("slowdown_ratio"),
                        percent("lower_95_ratio"), percent("upper_95_ratio"),
                        numbers["baseline_runs_count"].dump(), numbers["candidate_runs_count"].dump())));
  EXPECT_THAT(page, ::testing::HasSubstr("<b>regressed</b> " + (*regressed)["stage"].get<std::string>()));
}

}  // namespace
}  // namespace profgate::render
