#include "compare_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
#include "core/units.h"
#include "difference_words.h"
#include "drawing.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double widest_bar_ratio = 0.5;      ///< a change of this size fills half of a bar's column
constexpr double coloured_from_ratio = 0.01;  ///< smaller changes are shown, but not as good or bad

/// " tokens/s" of a figure that has a unit of its own.
std::string unit_behind(const compare::figure_row& what) {
  return what.unit.empty() ? "" : " " + what.unit;
}

std::string shown(const analysis::measured<double>& figure, const compare::figure_row& what,
                  const analysis::measured<double>& uncertainty_ratio) {
  if (!figure) return empty_cell;
  const std::string& format = what.shown.format;
  if (format == "energy" && uncertainty_ratio) return core::format_energy(*figure, *uncertainty_ratio);
  return formatted(*figure, format == "duration" ? "precise_duration" : format) + unit_behind(what);
}

/// A bar from the middle of its column: {side, width in percent of the column}.
void put_bar(json& row, double change, const char* tone) {
  const double width = std::min(std::abs(change) / widest_bar_ratio, 1.0) * 50;
  row["tone"] = tone;
  row["bar_left"] = std::round((change < 0 ? 50 - width : 50) * 10) / 10;
  row["bar_width"] = std::round(width * 10) / 10;
}

/// Absolute where a person can make something of it.
std::string difference_of(const compare::compared_figure& figure) {
  const double difference = *figure.b - *figure.a;
  const std::string& format = figure.what.shown.format;
  if (format == "duration") return signed_duration(difference);
  if (format == "percent") {
    const std::string points = fmt::format("{:.1f}", std::abs(difference) * 100);
    return points == "0.0" ? "0" : (difference > 0 ? "+" : "−") + points + " points";
  }
  return (difference > 0 ? "+" : "−") + formatted(std::abs(difference), format) + unit_behind(figure.what);
}

/// Why cells are empty, each reason once with all that it explains.
class empty_cells {
 public:
  void add(const std::string& where, const std::string& label, const std::string& reason) {
    for (json& known : m_list) {
      if (known["where"] != where || known["reason"] != reason) continue;
      known["labels"] = known["labels"].get<std::string>() + "; " + label;
      return;
    }
    m_list.push_back({{"where", where}, {"labels", label}, {"reason", reason}});
  }
  json take() { return std::move(m_list); }

 private:
  json m_list = json::array();
};

}  // namespace

std::string change_text(double a, double b) {
  if (a <= 0 || b <= 0) return empty_cell;
  const double factor = b / a;
  if (factor > 3) return fmt::format("×{:.{}f}", factor, factor < 10 ? 1 : 0);
  if (factor < 1.0 / 3) return fmt::format("÷{:.{}f}", 1 / factor, 1 / factor < 10 ? 1 : 0);
  return core::format_signed_percent(factor - 1);
}

const char* change_tone(analysis::better which, double change) {
  if (which == analysis::better::neither || std::abs(change) < coloured_from_ratio) return "plain";
  return (change > 0) == (which == analysis::better::higher) ? "better" : "worse";
}

/// Shares differ by points, and twice as many degrees are not twice as warm.
bool has_ratio(const compare::compared_figure& figure) {
  return figure.what.shown.format != "percent" && figure.what.key.find("temperature") == std::string::npos;
}

json figure_view(const compare::compared_figure& figure, bool other_work, bool may_be_noise) {
  json row{{"label", figure.what.shown.label},
           {"a", shown(figure.a, figure.what, figure.a_uncertainty_ratio)},
           {"b", shown(figure.b, figure.what, figure.b_uncertainty_ratio)},
           {"a_reason", figure.a ? "" : core::to_valid_utf8(figure.a.reason())},
           {"b_reason", figure.b ? "" : core::to_valid_utf8(figure.b.reason())},
           {"difference", empty_cell},
           {"change", empty_cell},
           {"doubt", figure.is_within_uncertainty() ? ", within the uncertainty" : ""},
           {"tone", "plain"},
           {"bar_left", 50},
           {"bar_width", 0}};
  if (!figure.a || !figure.b) return row;
  row["difference"] = difference_of(figure) + row["doubt"].get<std::string>();
  if (has_ratio(figure)) row["change"] = change_text(*figure.a, *figure.b);
  if (*figure.a <= 0 || *figure.b < 0) return row;
  const double change = *figure.b / *figure.a - 1;
  // a larger model is slower, which is no fault of it
  const bool is_exact = figure.what.key.ends_with("_count") || figure.what.key.ends_with("_bytes");
  const bool is_plain = other_work || (may_be_noise && !is_exact) || figure.is_within_uncertainty();
  put_bar(row, change, is_plain ? "plain" : change_tone(figure.what.shown.which, change));
  return row;
}

bool may_be_noise(const compare::compared_stage& stage) {
  return !stage.shift || stage.shift->may_be_noise();
}

json figures_view(const std::vector<compare::compared_figure>& figures, bool other_work,
                  const std::function<bool(const compare::compared_figure&)>& may_be_noise) {
  json rows = json::array();
  json same = json::array();
  empty_cells absent;
  for (const compare::compared_figure& figure : figures) {
    const std::string reason_a = core::to_valid_utf8(figure.a.reason());
    const std::string reason_b = core::to_valid_utf8(figure.b.reason());
    if (!figure.a && !figure.b) {
      absent.add("in neither", figure.what.shown.label,
                 reason_a == reason_b ? reason_a : fmt::format("A: {}; B: {}", reason_a, reason_b));
    } else if (figure.a && figure.b && *figure.a == *figure.b) {
      same.push_back({{"label", figure.what.shown.label},
                      {"value", shown(figure.a, figure.what, figure.a_uncertainty_ratio)}});
    } else {
      rows.push_back(figure_view(figure, other_work, may_be_noise(figure)));
      if (!figure.a) absent.add("only in B", figure.what.shown.label, reason_a);
      if (!figure.b) absent.add("only in A", figure.what.shown.label, reason_b);
    }
  }
  return {{"rows", rows}, {"same", same}, {"absent", absent.take()}};
}

}  // namespace profgate::render
