#include <fmt/format.h>

#include <algorithm>

#include "baselines/history.h"
#include "core/escape.h"
#include "core/units.h"

namespace profgate::baselines {
namespace {

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
  if (change != nullptr)
    note += (note.empty() ? "" : "; ") + ("level changed by " + shift_text(change->shift_ratio));
  return fmt::format("| {} | {} | {} | {} | {:.4f} | {} |\n", core::escape_markdown(point.entry.measured_utc),
                     core::escape_markdown(commit_of(point.entry)),
                     point.entry.kind == history_kind::accepted ? "accepted" : "nightly",
                     core::format_duration(point.entry.median_ns), point.ratio, note);
}

}  // namespace

std::string commit_of(const history_entry& entry) {
  const std::string commit = entry.commit.empty() ? "no commit" : entry.commit.substr(0, 10);
  return entry.is_dirty ? commit + " (uncommitted changes)" : commit;
}

std::string title_of(const trend& series) {
  return fmt::format("{}, {} on {}, settings {}", series.pair, series.stage, series.device,
                     series.config_sha256.substr(0, 12));
}

std::string shift_text(double ratio) {
  return fmt::format("{:+.1f} %", 100 * ratio);
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
                                      series.device, shift_text(change.shift_ratio), commit_of(entry),
                                      entry.measured_utc, commit_of(before), commit_of(entry)));
    }
  }
  return sentences;
}

}  // namespace profgate::baselines
