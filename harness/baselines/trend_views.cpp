#include <fmt/format.h>

#include <algorithm>

#include "baselines/history.h"
#include "core/escape.h"
#include "core/units.h"

namespace profgate::baselines {
namespace {

std::string commit_of(const history_entry& entry) {
  const std::string commit = entry.commit.empty() ? "no commit" : entry.commit.substr(0, 10);
  return entry.is_dirty ? commit + " (uncommitted changes)" : commit;
}

const gate::change_point* change_at(const trend& series, std::size_t index) {
  for (const gate::change_point& change : series.changes) {
    if (change.index == index) return &change;
  }
  return nullptr;
}

std::string percent(double ratio) {
  return fmt::format("{:+.1f} %", 100 * ratio);
}

std::string title_of(const trend& series) {
  return fmt::format("{}, {} on {}, settings {}", series.pair, series.stage, series.device,
                     series.config_sha256.substr(0, 12));
}

std::string row_of(const trend& series, std::size_t index) {
  const trend_point& point = series.points[index];
  const gate::change_point* change = change_at(series, index);
  std::string note = index == series.anchor ? "anchor" : point.ran_with_anchor ? "ran beside the anchor" : "";
  if (change != nullptr)
    note += (note.empty() ? "" : "; ") + ("level changed by " + percent(change->shift_ratio));
  return fmt::format("| {} | {} | {} | {} | {:.4f} | {} |\n", core::escape_markdown(point.entry.measured_utc),
                     core::escape_markdown(commit_of(point.entry)),
                     point.entry.kind == history_kind::accepted ? "accepted" : "nightly",
                     core::format_duration(point.entry.median_ns), point.ratio, note);
}

// One panel of the drawing, in SVG units.
constexpr double panel_width = 900;
constexpr double panel_height = 240;
constexpr double left = 70;
constexpr double right = 20;
constexpr double top = 36;
constexpr double bottom = 34;

struct scale {
  double low = 0;
  double high = 0;
  std::size_t count = 0;

  double x(double index) const {
    const double steps = std::max<double>(1, static_cast<double>(count) - 1);
    return left + (panel_width - left - right) * index / steps;
  }
  double y(double ratio) const { return top + (panel_height - top - bottom) * (high - ratio) / (high - low); }
};

scale scale_of(const trend& series) {
  scale result;
  result.count = series.points.size();
  const auto [least, most] =
      std::minmax_element(series.points.begin(), series.points.end(),
                          [](const trend_point& a, const trend_point& b) { return a.ratio < b.ratio; });
  // At least ±2 % around the anchor: noise must not fill the panel.
  const double margin = 0.1 * (most->ratio - least->ratio);
  result.low = std::min(least->ratio - margin, 0.98);
  result.high = std::max(most->ratio + margin, 1.02);
  return result;
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
                     x2, y2, style);
}

std::string label(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     core::escape_html(text));
}

std::string panel(const trend& series) {
  const scale axes = scale_of(series);
  std::string drawn = label(left, 20, "title", title_of(series));
  for (int i = 0; i <= 4; ++i) {
    const double ratio = axes.low + (axes.high - axes.low) * i / 4;
    drawn += line(left, axes.y(ratio), panel_width - right, axes.y(ratio), "grid");
    drawn += label(8, axes.y(ratio) + 4, "axis", fmt::format("{:.3f}", ratio));
  }
  drawn += line(left, axes.y(1), panel_width - right, axes.y(1), "anchor");
  for (const gate::change_point& change : series.changes) {
    const double x = axes.x(static_cast<double>(change.index) - 0.5);
    drawn += line(x, top, x, panel_height - bottom, change.shift_ratio > 0 ? "slower" : "faster");
    drawn += label(
        x + 4, top + 12, "change",
        fmt::format("{} with {}", percent(change.shift_ratio), commit_of(series.points[change.index].entry)));
  }
  std::string path;
  std::string dots;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const trend_point& point = series.points[i];
    const double x = axes.x(static_cast<double>(i));
    const double y = axes.y(point.ratio);
    path += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y);
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"><title>{}</title></circle>\n", x, y,
        i == series.anchor ? 5 : 3, point.entry.kind == history_kind::accepted ? "accepted" : "nightly",
        core::escape_html(fmt::format("{}, {}: {}, {:.4f} of the anchor", commit_of(point.entry),
                                      point.entry.measured_utc, core::format_duration(point.entry.median_ns),
                                      point.ratio)));
  }
  drawn += fmt::format("<polyline points=\"{}\" class=\"trend\"/>\n{}", path, dots);
  drawn += label(left, panel_height - 12, "axis", series.points.front().entry.measured_utc);
  drawn +=
      label(panel_width - right - 130, panel_height - 12, "axis", series.points.back().entry.measured_utc);
  return drawn;
}

}  // namespace

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

std::string trends_svg(const std::vector<trend>& trends) {
  const double height = panel_height * static_cast<double>(trends.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"history of stage times as ratios to an anchor build\">\n",
      panel_width, height);
  svg +=
      "<style>text{font:12px sans-serif;fill:#222}.title{font-weight:bold}.axis{font-size:10px;fill:#666}"
      ".grid{stroke:#e4e4e4}.anchor{stroke:#888;stroke-dasharray:4 3}.trend{fill:none;stroke:#2b6cb0;"
      "stroke-width:1.5}.nightly{fill:#2b6cb0}.accepted{fill:#dd6b20}.slower{stroke:#c53030;stroke-width:1.5}"
      ".faster{stroke:#2f855a;stroke-width:1.5}.change{font-size:11px}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (std::size_t i = 0; i < trends.size(); ++i) {
    svg += fmt::format("<g transform=\"translate(0,{:.0f})\">\n{}</g>\n",
                       panel_height * static_cast<double>(i), panel(trends[i]));
  }
  return svg + "</svg>\n";
}

std::vector<std::string> change_sentences(const std::vector<trend>& trends) {
  std::vector<std::string> sentences;
  for (const trend& series : trends) {
    for (const gate::change_point& change : series.changes) {
      // What was not measured in between may as well be the cause: the range for git log.
      const history_entry& entry = series.points[change.index].entry;
      const history_entry& before = series.points[change.index - 1].entry;
      sentences.push_back(fmt::format("{} on {}: {} with {} ({}), somewhere in {}..{}", series.stage,
                                      series.device, percent(change.shift_ratio), commit_of(entry),
                                      entry.measured_utc, commit_of(before), commit_of(entry)));
    }
  }
  return sentences;
}

}  // namespace profgate::baselines
