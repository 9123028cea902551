#include "render/gate_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "core/json.h"
#include "core/kernel_names.h"
#include "difference_words.h"
#include "drawing.h"
#include "gate/judge.h"
#include "gate/operator_calls.h"
#include "gate/since_anchor.h"
#include "gate_sentence.h"
#include "render/verdict_json.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t drawn_causes = 8;
constexpr std::size_t listed_causes = 20;
constexpr double least_listed_ratio = 0.005;  ///< of the difference: what is less is noise among its causes

/// Sums by kind, in the order in which a reader asks: {what, delta_ns, share of the difference}.
json groups_of(const gate::attribution& attributed) {
  std::vector<std::pair<std::string, double>> sums;
  for (const gate::cause& cause : attributed.causes) {
    const std::string group = group_of(cause);
    const auto known =
        std::find_if(sums.begin(), sums.end(), [&](const auto& entry) { return entry.first == group; });
    if (known == sums.end()) {
      sums.emplace_back(group, cause.delta_ns);
    } else {
      known->second += cause.delta_ns;
    }
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  json list = json::array();
  for (const auto& [group, delta_ns] : sums) list.push_back({{"what", group}, {"delta_ns", delta_ns}});
  return list;
}

/// The causes one by one, the last row being all that is left: beyond a list's length, or next to nothing.
json steps_of(const gate::attribution& attributed) {
  const double least_ns = least_listed_ratio * std::abs(attributed.explained_difference_ns());
  json list = json::array();
  double rest_ns = 0;
  std::size_t rest_count = 0;
  for (const gate::cause& cause : attributed.causes) {
    if (list.size() == listed_causes || std::abs(cause.delta_ns) < least_ns) {
      rest_ns += cause.delta_ns;
      ++rest_count;
      continue;
    }
    const bool is_idle = cause.kind == gate::cause_kind::idle;
    list.push_back({{"delta_ns", cause.delta_ns},
                    {"what", group_of(cause)},
                    {"name", is_idle ? "" : core::to_valid_utf8(cause.short_name)},
                    {"was", core::to_valid_utf8(cause.baseline_short_name)},
                    {"path", core::to_valid_utf8(cause.path)},
                    {"detail", detail_of(cause)}});
  }
  if (rest_count > 0) {
    list.push_back({{"delta_ns", rest_ns},
                    {"what", "everything else"},
                    {"name", ""},
                    {"was", ""},
                    {"path", ""},
                    {"detail", rest_count == 1 ? "1 smaller one"
                                               : fmt::format("{} smaller ones, together", rest_count)}});
  }
  return list;
}

/// Where the causes begin to add up: without a tracer, where that was measured. The median is no time of the
/// stage where a program tells tokens a second.
double baseline_ns_of(const gate::stage_judgement& stage) {
  const std::optional<double>& bare_ns = stage.attributed->bare_difference_ns;
  const bool is_bare = stage.numbers && bare_ns && stage.numbers->slowdown_ratio != 0;
  return is_bare ? *bare_ns / stage.numbers->slowdown_ratio : stage.attributed->baseline_ns;
}

/// Whether what kernels differ by is another sum than what the devices did: idle time in which one had been
/// asked for is its own.
bool holds_idle_of_kernels(const gate::attribution& attributed) {
  double kernels_ns = 0;
  for (const gate::cause& cause : attributed.causes)
    kernels_ns += cause.kind == gate::cause_kind::idle ? 0 : cause.traced_delta_ns;
  return std::abs(kernels_ns - attributed.busy_difference_ns) > 0.01 * std::abs(attributed.difference_ns);
}

/// Both as a time and as a rate: the stage's unit says which of them is shown.
json medians_of(const gate::comparison& numbers) {
  return {{"baseline_ns", numbers.baseline_median_ns},
          {"candidate_ns", numbers.candidate_ns()},
          {"baseline_rate", gate::rate_of_sample(numbers.baseline_median_ns)},
          {"candidate_rate", gate::rate_of_sample(numbers.candidate_ns())}};
}

json markdown_data(const gate::judgement& whole) {
  json document = core::parse_json(verdict_json(whole));
  document["word"] = verdict_word(whole);
  document["sentence"] = core::to_valid_utf8(verdict_sentence(whole));
  if (is_look_deeper_said(whole)) document["look_deeper"] = nullptr;
  document["has_numbers"] = false;
  document["has_tokens"] = std::any_of(whole.stages.begin(), whole.stages.end(),
                                       [](const auto& stage) { return stage.tokens.value_or(1) > 1; });
  for (std::size_t i = 0; i < whole.stages.size(); ++i) {
    const gate::stage_judgement& stage = whole.stages[i];
    json& shown = document["stages"][i];
    shown["title"] = core::to_valid_utf8(stage_title(stage));
    shown["experts_text"] = gate::experts_text(stage);
    shown["times"] = nullptr;
    if (stage.numbers) {
      document["has_numbers"] = true;
      const double tokens = stage.tokens ? static_cast<double>(std::max<std::int64_t>(1, *stage.tokens)) : 1;
      shown["times"] = medians_of(*stage.numbers);
      shown["times"]["baseline_a_token_ns"] = stage.numbers->baseline_median_ns / tokens;
      shown["times"]["candidate_a_token_ns"] = stage.numbers->candidate_ns() / tokens;
      shown["times"]["is_of_tokens"] = tokens > 1;
    }
    const core::short_kernel_names names = gate::short_names_of(stage.exact);
    for (std::size_t c = 0; c < stage.exact.changes.size(); ++c)
      document["stages"][i]["exact"]["changes"][c]["text"] =
          core::to_valid_utf8(gate::to_text(stage.exact.changes[c], names));
    if (!stage.attributed) continue;
    json& part = document["stages"][i]["attribution"];
    const double from_ns = baseline_ns_of(stage);
    const auto& causes = stage.attributed->causes;
    part["is_of_host"] = std::any_of(causes.begin(), causes.end(), gate::is_of_host);
    part["groups"] = groups_of(*stage.attributed);
    part["steps"] = steps_of(*stage.attributed);
    part["from_ns"] = from_ns;
    const std::string scale = gate::scale_text(*stage.attributed);
    part["scale_text"] = scale.empty() ? "" : fmt::format("T{}. ", scale.substr(1));
    part["holds_idle_of_kernels"] = holds_idle_of_kernels(*stage.attributed);
    part["has_unexplained"] = std::abs(stage.attributed->unexplained_ns) >= 0.5;
    part["has_idle_of_tracer"] =
        std::abs(stage.attributed->idle_of_tracer_ns) > 0.01 * std::abs(stage.attributed->difference_ns);
    part["to_ns"] = from_ns + stage.attributed->explained_difference_ns();
    part["whole_difference_ns"] = stage.attributed->explained_difference_ns();
  }
  if (!whole.since_anchor) {
    document["since_anchor"] = nullptr;
  } else {
    for (std::size_t i = 0; i < whole.since_anchor->stages.size(); ++i) {
      const gate::anchor_stage& stage = whole.since_anchor->stages[i];
      const std::string parts = gate::parts_text(stage);
      document["since_anchor"]["stages"][i]["times"] = stage.numbers ? medians_of(*stage.numbers) : json();
      document["since_anchor"]["stages"][i]["parts_text"] =
          core::to_valid_utf8(parts.empty() ? stage.unknown_parts_because : parts);
    }
  }
  document["document"] = document;  // for functions that take an object and a field's name
  return document;
}

json gate_drawing(const gate::judgement& whole) {
  std::vector<interval_row> intervals;
  std::vector<waterfall> falls;
  for (const gate::stage_judgement& stage : whole.stages) {
    if (stage.numbers) {
      intervals.push_back({stage_title(stage),
                           fmt::format("{}; {} + {} runs", gate::to_text(stage.which),
                                       stage.numbers->baseline_runs, stage.numbers->candidate_runs),
                           stage.numbers->slowdown_ratio, stage.numbers->lower_95_ratio,
                           stage.numbers->upper_95_ratio});
    }
    if (stage.attributed) {
      const double from_ns = baseline_ns_of(stage);
      std::vector<waterfall_bar> bars = bars_of(stage.attributed->causes, drawn_causes);
      if (stage.attributed->unexplained_ns != 0)
        bars.push_back({"not explained", "", stage.attributed->unexplained_ns});
      falls.push_back({fmt::format("Where the difference of {} comes from", stage_title(stage)), "baseline",
                       from_ns, "candidate", from_ns + stage.attributed->explained_difference_ns(),
                       std::move(bars), "candidate − baseline"});
    }
  }
  return drawing_of(fmt::format("{}: {}", whole.pair, verdict_word(whole)), intervals, falls);
}

/// What a reader wants to see first.
int urgency(const summary_row& row) {
  if (!row.judged) return 3;
  switch (row.judged->code) {
    case core::exit_code::judged_bad:
    case core::exit_code::bad_input:
      return 0;
    case core::exit_code::good:
      return row.judged->overall == gate::verdict::unchanged ? 2 : 1;
    default:
      return 3;
  }
}

std::string first_cause_of(const gate::judgement& judged) {
  const gate::stage_judgement* stage = gate::deciding_stage(judged);
  if (stage == nullptr) return empty_cell;
  for (const gate::exact_change& change : stage->exact.changes) {
    if (change.fails) return core::escape_markdown(gate::to_text(change));
  }
  const bool has_changed =
      stage->which == gate::verdict::regressed || stage->which == gate::verdict::improved;
  if (!has_changed || !stage->attributed) return empty_cell;
  const std::vector<gate::cause> causes = gate::leading_causes(*stage->attributed, 1);
  return causes.empty() ? empty_cell : core::escape_markdown(gate::to_text(causes.front()));
}

std::string summary_line(const summary_row& row) {
  const std::string pair = core::escape_markdown(row.pair);
  if (!row.judged) {
    return fmt::format("| {} | {} | {} | {} |\n", pair, empty_cell, core::escape_markdown(row.otherwise),
                       empty_cell);
  }
  const gate::judgement& judged = *row.judged;
  const std::string word = verdict_word(judged);
  return fmt::format("| {} | {} | {} | {} |\n", pair, urgency(row) == 0 ? "**" + word + "**" : word,
                     core::escape_markdown(verdict_sentence(judged)), first_cause_of(judged));
}

}  // namespace

std::vector<std::filesystem::path> render_gate(const gate::judgement& whole,
                                               const std::filesystem::path& templates_dir,
                                               const std::filesystem::path& output_dir,
                                               const report_writer& writer) {
  std::vector<std::filesystem::path> written;
  const auto write = [&](const char* name, const std::string& text) {
    written.push_back(output_dir / name);
    writer(written.back(), text);
  };
  write("verdict.json", verdict_json(whole));
  write("gate.svg", fill_template_file(gate_drawing(whole), templates_dir / "waterfall.svg.inja"));
  write("gate.md", tidy_markdown(fill_template_file(markdown_data(whole), templates_dir / "gate.md.inja")));
  return written;
}

std::string gate_summary(const std::vector<summary_row>& rows) {
  std::vector<summary_row> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const summary_row& a, const summary_row& b) { return urgency(a) < urgency(b); });
  const auto bad = std::count_if(rows.begin(), rows.end(), [](const auto& row) { return urgency(row) == 0; });
  const auto judged =
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return urgency(row) < 3; });
  std::string text =
      fmt::format("# profgate: {}\n\n", bad > 0      ? fmt::format("{} of {} pairs failed", bad, rows.size())
                                        : judged > 0 ? "no regression"
                                                     : "nothing was judged");
  text += fmt::format("{} of {} pairs were judged.\n\n", judged, rows.size());
  if (rows.empty()) return text;
  text += "| pair | verdict | size | first cause |\n|---|---|---|---|\n";
  for (const summary_row& row : sorted) text += summary_line(row);
  return tidy_markdown(text);
}

}  // namespace profgate::render
