#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baselines/run_set_file.h"
#include "gate/change_points.h"
#include "gate/figure_units.h"

/// What became of a pair over the commits: an SQLite file to which run sets are appended, and the trend made
/// of it.
namespace profgate::baselines {

enum class history_kind { accepted, nightly };

struct history_entry {
  std::string measurement_id{};
  std::string measured_utc{};
  std::string commit{};
  bool is_dirty = false;
  history_kind kind = history_kind::nightly;
  std::string device{};         ///< "NVIDIA H200×132"
  std::string config_sha256{};  ///< entries of other settings or devices are another series
  std::string stage{};
  double median_ns = 0;  ///< of the medians of its processes
  std::string unit{};    ///< of a figure that the program tells: "tokens/s" (gate/figure_units.h)
  std::int64_t processes = 0;
  std::string anchor_commit{};           ///< of the build that ran in turns with it; empty: none did
  std::optional<double> anchor_ratio{};  ///< its median over that build's, of the same session
};

/// Appends every stage of the run set; false: it was there already, as what it is now. A nightly run that is
/// accepted later becomes an accepted one. `anchor`: the other build of a comparison that it ran in turns
/// with; the ratio of the two is free of what differs from session to session. bad_input for a run set of
/// which nothing counts.
bool append_history(const std::filesystem::path& file, const stored_run_set& stored, history_kind kind,
                    const gate::run_set* anchor = nullptr);

/// The same, with something that must happen together with it or not at all: `together` is called when the
/// rows can no longer be refused, just before they become final, and what it throws undoes them.
bool append_history(const std::filesystem::path& file, const stored_run_set& stored, history_kind kind,
                    const gate::run_set* anchor, const std::function<void()>& together);

/// Of one pair, in the order in which they were measured. bad_input where the file is no history.
std::vector<history_entry> read_history(const std::filesystem::path& file, const std::string& pair);

struct trend_point {
  history_entry entry{};
  double ratio = 0;              ///< to the anchor; of a rate that of the rates, not of their samples
  bool ran_with_anchor = false;  ///< else it is that of two sessions' medians
};

/// One stage on one device with one configuration.
struct trend {
  std::string pair{};
  std::string stage{};
  std::string device{};
  std::string config_sha256{};
  gate::figure_units units{};         ///< of its stage, where that is a figure
  std::size_t anchor = 0;             ///< index into points
  std::vector<trend_point> points{};  ///< oldest first
  std::vector<gate::change_point> changes{};
};

struct trend_request {
  std::optional<std::string> stage{};   ///< nothing: all
  std::optional<std::string> anchor{};  ///< beginning of a commit or of a measurement's id; nothing: the
                                        ///< first accepted build, or where there is none the first
};

/// bad_input where the stage or the anchor is not in the history.
std::vector<trend> make_trends(const std::string& pair, const std::vector<history_entry>& entries,
                               const trend_request& request);

/// "1a2b3c4d5e", perhaps with what makes it less than a commit.
std::string commit_of(const history_entry& entry);
/// What a series is of: pair, stage, device and settings.
std::string title_of(const trend& series);

/// "9.14 ms", of a rate "452.5 tokens/s".
std::string median_text(const trend& series, const history_entry& entry);
/// "+3.1 %", of a rate "9.5 % lower".
std::string change_text(const trend& series, const gate::change_point& change);

/// A table a trend; render/trend_views.h draws them.
std::string trends_markdown(const std::vector<trend>& trends);

/// One sentence a change point: "decode_all on …: +3.1 % with 1a2b3c4 (2026-11-15T…), somewhere in
/// 0f1e2d3..1a2b3c4".
std::vector<std::string> change_sentences(const std::vector<trend>& trends);

}  // namespace profgate::baselines
