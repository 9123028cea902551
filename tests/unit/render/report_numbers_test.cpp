// Every number in stakeholder_summary.md and in the banner of report.html can be computed from profile.json
// or verdict.json, by other code than that which wrote it. A number that nobody can derive fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/profile.h"
#include "core/kernel_names.h"
#include "derivable_values.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "judgement_cases.h"
#include "render/render.h"
#include "render/verdict_json.h"
#include "report_profiles.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Names, versions, dates, paths, settings: what stands in the document as a text is no number.
void collect_texts(const json& value, std::vector<std::string>& texts) {
  if (value.is_string() && value.get_ref<const std::string&>().size() > 3)
    texts.push_back(value.get<std::string>());
  if (value.is_array())
    for (const json& element : value) collect_texts(element, texts);
  if (!value.is_object()) return;
  for (const auto& [key, field] : value.items()) {
    collect_texts(field, texts);
    if (key == "kernel_name" && field.is_string())
      texts.push_back(core::short_kernel_name(field.get<std::string>()));
  }
}

std::string without(std::string text, std::vector<std::string> texts) {
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& one : texts) {
    if (std::none_of(one.begin(), one.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    for (std::size_t at = text.find(one); at != std::string::npos; at = text.find(one, at))
      text.replace(at, one.size(), "~");
  }
  return text;
}

struct unit_words {
  const char* kind;
  double scale;
};

const std::map<std::string, unit_words>& units() {
  static const std::map<std::string, unit_words> table{
      {"ns", {"s", 1}},
      {"µs", {"s", 1e3}},
      {"ms", {"s", 1e6}},
      {"s", {"s", 1e9}},
      {"%", {"%", 0.01}},
      {"B", {"B", 1}},
      {"kB", {"B", 1e3}},
      {"MB", {"B", 1e6}},
      {"GB", {"B", 1e9}},
      {"TB", {"B", 1e12}},
      {"µJ", {"J", 1e-6}},
      {"mJ", {"J", 1e-3}},
      {"J", {"J", 1}},
      {"kJ", {"J", 1e3}},
      {"MHz", {"MHz", 1}},
      {"W", {"W", 1}},
      {"GB/s", {"B/s", 1e9}},
      {"TB/s", {"B/s", 1e12}},
      {"GFLOP/s", {"FLOP/s", 1e9}},
      {"TFLOP/s", {"FLOP/s", 1e12}},
      {"M", {"", 1e6}},
      {"T", {"", 1e12}},
  };
  return table;
}

/// The numbers of a text that nobody can derive, each with what stands around it.
std::vector<std::string> underivable(const std::string& text, const derivable_values& values) {
  // "2.8 ± 0.1 J" and "4.8 to 5.4 %" and "65.0 → 68.3 ms" have one unit for both.
  static const std::regex number(
      "(^|[^A-Za-z0-9_.~-])([0-9]+)(\\.[0-9]+)?(e-?[0-9]+)?(?![A-Za-z0-9_.]*[A-Za-z_])( (?:±|to|→) "
      "-?[0-9.]+)? ?(GFLOP/s|TFLOP/s|GB/s|TB/s|kB|MB|GB|TB|MHz|µs|ns|ms|µJ|mJ|kJ|[sJWBMT%](?![A-Za-z]))?");
  std::vector<std::string> unknown;
  auto from = text.cbegin();
  std::smatch match;
  while (std::regex_search(from, text.cend(), match, number)) {
    const std::string digits = match[2].str() + match[3].str() + match[4].str();
    int decimals = match[3].matched ? static_cast<int>(match[3].length()) - 1 : 0;
    double scale = 1;
    std::string kind;
    if (match[6].matched) {
      const std::string unit = match[6].str();
      const bool is_billions =
          unit == "B" &&
          text.compare(static_cast<std::size_t>(match[6].second - text.cbegin()), 11, " parameters") == 0;
      kind = is_billions ? "" : units().at(unit).kind;
      scale = is_billions ? 1e9 : units().at(unit).scale;
    }
    double shown = std::stod(digits);
    if (match[4].matched) {  // "3.10e-07": digits of the power
      decimals -= std::stoi(match[4].str().substr(1));
    }
    if (!values.holds(kind, shown, decimals, scale)) {
      const auto around = std::max(
          text.cbegin(), match[2].first - std::min<std::ptrdiff_t>(30, match[2].first - text.cbegin()));
      unknown.push_back(
          digits + " " + kind + " in: " +
          std::string(around, match[0].second + std::min<std::ptrdiff_t>(30, text.cend() - match[0].second)));
    }
    // What follows "±", "to" or "→" is a number of its own.
    from = match[4].matched ? match[4].second : match[3].matched ? match[3].second : match[2].second;
  }
  return unknown;
}

std::string without_markdown(std::string text) {
  text = std::regex_replace(text, std::regex("\\]\\([^)]*\\)"), "]");
  text = std::regex_replace(text, std::regex("\\\\([^A-Za-z0-9])"), "$1");
  for (const auto& [entity, letter] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    text = std::regex_replace(text, std::regex(entity), letter);
  return text;
}

/// Numbers that are words of the template: percentiles have letters before them.
std::string without_constants(const std::string& text) {
  return std::regex_replace(text, std::regex("[Oo]ver 100 %|90 % CI|at most 10 µs"), "");
}

std::vector<std::string> underivable_in_summary(const std::string& profile_text, const std::string& summary) {
  const json profile = json::parse(profile_text);
  std::vector<std::string> texts;
  json fields = profile;
  fields.erase("findings");
  collect_texts(fields, texts);
  return underivable(without(without_constants(without_markdown(summary)), texts),
                     values_of_profile(profile));
}

TEST(report_numbers, of_the_summary_are_all_derived_from_profile_json) {
  for (const auto& [name, profile] : report_profiles()) {
    SCOPED_TRACE(name);
    EXPECT_THAT(underivable_in_summary(profile, reports_of(profile)["stakeholder_summary.md"]),
                ::testing::IsEmpty());
  }
}

TEST(report_numbers, that_nobody_can_derive_are_found) {
  const std::string profile = analysis::profile_json(golden_cases().back().facts);
  const std::string summary = reports_of(profile)["stakeholder_summary.md"];
  EXPECT_EQ(underivable_in_summary(profile, summary + "\nTTFT 41.7 ms\n").size(), 1U);
  EXPECT_EQ(underivable_in_summary(profile, summary + "\n44 ± 8 J\n").size(), 1U);
  EXPECT_EQ(underivable_in_summary(profile, summary + "\n95.0 %\n").size(), 1U) << "95.0 ms is none";
  const std::string time = "95.0 ms";
  std::string changed = summary;
  ASSERT_NE(changed.find(time), std::string::npos);
  changed.replace(changed.find(time), time.size(), "95.1 ms");
  EXPECT_EQ(underivable_in_summary(profile, changed).size(), 1U);
}

TEST(report_numbers, of_the_banner_are_all_derived_from_verdict_json) {
  const std::string profile = analysis::profile_json(golden_cases().back().facts);
  for (const char* name : {"regressed", "unchanged", "improved", "inconclusive", "waived"}) {
    SCOPED_TRACE(name);
    const gate::judgement judged = made_up_judgement(name);
    const std::string page = reports_of(profile, judged)["report.html"];
    const std::size_t start = page.find("<div class=\"banner");
    ASSERT_NE(start, std::string::npos);
    const std::string banner = std::regex_replace(page.substr(start, page.find("</div>", start) - start),
                                                  std::regex("<[^>]*>"), " ");
    const json verdict = json::parse(verdict_json(judged));
    std::vector<std::string> texts{judged.baseline_name, judged.pair};
    for (const gate::stage_judgement& stage : judged.stages) {
      if (!stage.attributed) continue;
      for (const gate::cause& cause : stage.attributed->causes)
        texts.push_back(core::short_kernel_name(cause.name));
    }
    EXPECT_THAT(
        underivable(without(without_constants(without_markdown(banner)), texts), values_of_verdict(verdict)),
        ::testing::IsEmpty())
        << banner;
  }
}

}  // namespace
}  // namespace profgate::render
