#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "baselines/history.h"
#include "core/error.h"

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

void complete(trend& series) {
  const history_entry anchor = series.points[series.anchor].entry;
  std::vector<double> ratios;
  for (trend_point& point : series.points) {
    point.ran_with_anchor = point.entry.anchor_ratio && point.entry.anchor_commit == anchor.commit;
    point.ratio =
        point.ran_with_anchor ? *point.entry.anchor_ratio : point.entry.median_ns / anchor.median_ns;
    ratios.push_back(point.ratio);
  }
  series.changes = gate::find_change_points(ratios);
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

}  // namespace profgate::baselines
