#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "baselines/history.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/units.h"
#include "gate/comparability.h"

namespace profgate::baselines {
namespace {

std::optional<std::size_t> find_anchor(const std::vector<trend_point>& points,
                                       const std::optional<std::string>& wanted) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const trend_point& point) {
    if (!wanted) return point.entry.kind == history_kind::accepted;
    return point.entry.commit.starts_with(*wanted) || point.entry.measurement_id.starts_with(*wanted);
  });
  if (found != points.end()) return static_cast<std::size_t>(found - points.begin());
  return wanted ? std::nullopt : std::optional<std::size_t>(0);
}

bool is_rate(const trend& series) {
  return gate::is_figure_of_kind(series.units, series.stage, gate::figure_kind::rate);
}

void complete(trend& series) {
  const history_entry anchor = series.points[series.anchor].entry;
  std::vector<double> sample_ratios;  // above 1: slower, of a rate too
  for (trend_point& point : series.points) {
    point.ran_with_anchor = point.entry.anchor_ratio && point.entry.anchor_commit == anchor.commit;
    const double sample_ratio =
        point.ran_with_anchor ? *point.entry.anchor_ratio : point.entry.median_ns / anchor.median_ns;
    point.ratio = is_rate(series) ? 1 / sample_ratio : sample_ratio;
    sample_ratios.push_back(sample_ratio);
  }
  series.changes = gate::find_change_points(sample_ratios);
}

const gate::change_point* change_at(const trend& series, std::size_t index) {
  for (const gate::change_point& change : series.changes) {
    if (change.index == index) return &change;
  }
  return nullptr;
}

std::string row_of(const trend& series, std::size_t index) {
  const trend_point& point = series.points[index];
  const gate::change_point* change = change_at(series, index);
  std::string note = index == series.anchor ? "anchor" : point.ran_with_anchor ? "ran beside the anchor" : "";
  if (change != nullptr) {
    note += note.empty() ? "" : "; ";
    note += (is_rate(series) ? "level " : "level changed by ") + change_text(series, *change);
  }
  return fmt::format("| {} | {} | {} | {} | {:.4f} | {} |\n", core::escape_markdown(point.entry.measured_utc),
                     core::escape_markdown(commit_of(point.entry)),
                     point.entry.kind == history_kind::accepted ? "accepted" : "nightly",
                     core::escape_markdown(median_text(series, point.entry)), point.ratio, note);
}

}  // namespace

std::vector<trend> make_trends(const std::string& pair, const std::vector<history_entry>& entries,
                               const trend_request& request) {
  if (entries.empty()) {
    throw core::bad_input(
        fmt::format("the history has nothing of {}", pair),
        "append a run set (profgate history append), or name a pair as `profgate list` does");
  }
  if (request.anchor && request.anchor->empty()) {
    throw core::bad_input("the anchor is empty", "name a commit: --anchor 1a2b3c4");
  }
  std::map<std::tuple<std::string, std::string, std::string>, trend> by_series;
  for (const history_entry& entry : entries) {
    if (request.stage && entry.stage != *request.stage) continue;
    trend& series = by_series[{entry.stage, entry.device, entry.config_sha256}];
    series.pair = pair;
    series.stage = entry.stage;
    series.device = entry.device;
    series.config_sha256 = entry.config_sha256;
    // Its settings name the unit, so it is that of entries too which an earlier profgate wrote without it.
    if (!entry.unit.empty()) series.units[entry.stage] = entry.unit;
    series.points.push_back({entry, 0});
  }
  if (by_series.empty()) {
    throw core::bad_input(fmt::format("the history of {} has no stage '{}'", pair, *request.stage),
                          "leave --stage out to see all of them");
  }
  std::vector<trend> trends;
  for (auto& [key, series] : by_series) {
    const std::optional<std::size_t> anchor = find_anchor(series.points, request.anchor);
    if (!anchor) continue;  // pinned to a build of another series
    series.anchor = *anchor;
    complete(series);
    trends.push_back(std::move(series));
  }
  if (trends.empty()) {
    throw core::bad_input(fmt::format("no entry of {} is of the anchor '{}'", pair, *request.anchor),
                          "name the beginning of a commit that the history has");
  }
  return trends;
}

std::string commit_of(const history_entry& entry) {
  const std::string commit = entry.commit.empty() ? "no commit" : entry.commit.substr(0, 10);
  return entry.is_dirty ? commit + " (uncommitted changes)" : commit;
}

std::string title_of(const trend& series) {
  return fmt::format("{}, {} on {}, settings {}", series.pair, series.stage,
                     gate::device_words(series.device), series.config_sha256.substr(0, 12));
}

std::string median_text(const trend& series, const history_entry& entry) {
  return gate::sample_text(series.units, series.stage, entry.median_ns);
}

std::string change_text(const trend& series, const gate::change_point& change) {
  // A sign alone would not say of a rate which way is worse.
  return is_rate(series) ? gate::rate_change_text(change.shift_ratio)
                         : core::format_signed_percent(change.shift_ratio);
}

std::string trends_markdown(const std::vector<trend>& trends) {
  std::string text;
  for (const trend& series : trends) {
    text += fmt::format("{}## {}\n\n", text.empty() ? "" : "\n", core::escape_markdown(title_of(series)));
    for (const std::string& sentence : change_sentences({series}))
      text += "- " + core::escape_markdown(sentence) + "\n";
    if (!series.changes.empty()) text += "\n";
    text += "| measured | commit | kind | median | ratio to anchor | |\n|---|---|---|---:|---:|---|\n";
    for (std::size_t i = 0; i < series.points.size(); ++i) text += row_of(series, i);
  }
  return text;
}

std::vector<std::string> change_sentences(const std::vector<trend>& trends) {
  std::vector<std::string> sentences;
  for (const trend& series : trends) {
    for (const gate::change_point& change : series.changes) {
      // What was not measured in between may as well be the cause: the range for git log.
      const history_entry& entry = series.points[change.index].entry;
      const history_entry& before = series.points[change.index - 1].entry;
      sentences.push_back(fmt::format("{} on {}: {} with {} ({}), somewhere in {}..{}", series.stage,
                                      gate::device_words(series.device), change_text(series, change),
                                      commit_of(entry), entry.measured_utc, commit_of(before),
                                      commit_of(entry)));
    }
  }
  return sentences;
}

}  // namespace profgate::baselines
