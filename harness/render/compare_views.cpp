#include "render/compare_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "drawing.h"
#include "gate_words.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t drawn_kernels = 8;
constexpr double widest_bar_ratio = 0.5;      ///< a change of this size fills half of a bar's column
constexpr double coloured_from_ratio = 0.01;  ///< smaller changes are shown, but not as good or bad

std::string valid(const std::string& text) {
  return core::to_valid_utf8(text);
}

std::string shown(const analysis::measured<double>& figure, const std::string& format) {
  if (!figure) return empty_cell;
  return formatted(*figure, format == "duration" ? "precise_duration" : format);
}

/// "+5.1 %", or "×6.9" where percent are hard to read; neither where a side is not above zero.
std::string change_text(double a, double b) {
  if (a <= 0 || b <= 0) return empty_cell;
  const double factor = b / a;
  if (factor > 3) return fmt::format("×{:.{}f}", factor, factor < 10 ? 1 : 0);
  if (factor < 1.0 / 3) return fmt::format("×{:.2g}", factor);
  return signed_percent(factor - 1);
}

/// "better", "worse" or "plain".
const char* tone_of(analysis::better which, double change) {
  if (which == analysis::better::neither || std::abs(change) < coloured_from_ratio) return "plain";
  return (change > 0) == (which == analysis::better::higher) ? "better" : "worse";
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
  return (difference > 0 ? "+" : "−") + formatted(std::abs(difference), format);
}

json figure_view(const compare::compared_figure& figure, bool other_work) {
  json row{{"label", figure.what.shown.label},
           {"a", shown(figure.a, figure.what.shown.format)},
           {"b", shown(figure.b, figure.what.shown.format)},
           {"a_reason", figure.a ? "" : valid(figure.a.reason())},
           {"b_reason", figure.b ? "" : valid(figure.b.reason())},
           {"difference", empty_cell},
           {"change", empty_cell},
           {"tone", "plain"},
           {"bar_left", 50},
           {"bar_width", 0}};
  if (!figure.a || !figure.b) return row;
  row["difference"] = difference_of(figure);
  row["change"] = change_text(*figure.a, *figure.b);
  if (*figure.a <= 0 || *figure.b < 0) return row;
  const double change = *figure.b / *figure.a - 1;
  // a larger model is slower, which is no fault of it; what it makes of its device can be compared
  const bool is_judged = !other_work || figure.what.shown.format == "percent";
  put_bar(row, change, is_judged ? tone_of(figure.what.shown.which, change) : "plain");
  return row;
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

/// Rows that differ, those that are the same, and why the others are empty.
json figures_view(const std::vector<compare::compared_figure>& figures, bool other_work) {
  json rows = json::array();
  json same = json::array();
  empty_cells absent;
  for (const compare::compared_figure& figure : figures) {
    const std::string reason_a = valid(figure.a.reason());
    const std::string reason_b = valid(figure.b.reason());
    if (!figure.a && !figure.b) {
      absent.add("in neither", figure.what.shown.label,
                 reason_a == reason_b ? reason_a : fmt::format("A: {}; B: {}", reason_a, reason_b));
    } else if (figure.a && figure.b && *figure.a == *figure.b) {
      same.push_back(
          {{"label", figure.what.shown.label}, {"value", shown(figure.a, figure.what.shown.format)}});
    } else {
      rows.push_back(figure_view(figure, other_work));
      if (!figure.a) absent.add("only in B", figure.what.shown.label, reason_a);
      if (!figure.b) absent.add("only in A", figure.what.shown.label, reason_b);
    }
  }
  return {{"rows", rows}, {"same", same}, {"absent", absent.take()}};
}

std::string readable_and_short(const std::string& name) {
  return core::shorten_middle(core::readable_kernel_name(valid(name)), 120);
}

std::string each(double total_ns, double launches) {
  return launches > 0 ? precise_duration(total_ns / launches) : std::string(empty_cell);
}

json kernel_view(const compare::compared_kernel& kernel, double largest_ns) {
  const bool in_a = !kernel.a_name.empty();
  const bool in_b = !kernel.b_name.empty();
  const double difference_ns = kernel.b_ns - kernel.a_ns;
  const std::string name = readable_and_short(in_b ? kernel.b_name : kernel.a_name);
  const std::string was = in_a && in_b ? readable_and_short(kernel.a_name) : "";
  const auto share = [&](double ns) { return largest_ns > 0 ? std::round(ns / largest_ns * 1000) / 10 : 0; };
  return {{"name", name},
          {"full_name", core::shorten_middle(valid(in_b ? kernel.b_name : kernel.a_name), 400)},
          {"was", was == name ? "" : was},
          {"path", valid(kernel.path)},
          {"device", valid(kernel.device)},
          {"category", valid(kernel.category)},
          {"matched_by", in_a && in_b ? std::string(text_of(matched_by_words, kernel.match))
                         : in_a       ? "only in A"
                                      : "only in B"},
          {"a_launches", in_a ? formatted(kernel.a_launches, "count") : empty_cell},
          {"b_launches", in_b ? formatted(kernel.b_launches, "count") : empty_cell},
          {"a_each", in_a ? each(kernel.a_ns, kernel.a_launches) : empty_cell},
          {"b_each", in_b ? each(kernel.b_ns, kernel.b_launches) : empty_cell},
          {"a", in_a ? precise_duration(kernel.a_ns) : empty_cell},
          {"b", in_b ? precise_duration(kernel.b_ns) : empty_cell},
          {"a_width", share(kernel.a_ns)},
          {"b_width", share(kernel.b_ns)},
          {"difference", signed_duration(difference_ns)},
          {"change",
           in_a && in_b && kernel.a_ns > 0 ? change_text(kernel.a_ns, kernel.b_ns) : std::string(empty_cell)},
          {"tone", kernel.a_ns > 0 && in_b ? tone_of(analysis::better::lower, kernel.b_ns / kernel.a_ns - 1)
                   : in_b                  ? "worse"
                                           : "better"}};
}

std::string launches(double count) {
  return fmt::format("{:.6g} launch{}", count, count == 1 ? "" : "es");
}

std::string bar_detail(const compare::compared_kernel& kernel) {
  const std::string path = (kernel.device.empty() ? "" : kernel.device + ", ") +
                           (kernel.path.empty() ? "" : core::shorten_middle(kernel.path, 24) + ": ");
  if (kernel.a_name.empty()) return path + fmt::format("only in B, {}", launches(kernel.b_launches));
  if (kernel.b_name.empty()) return path + fmt::format("only in A, {}", launches(kernel.a_launches));
  const std::string times =
      fmt::format("{} → {} each", each(kernel.a_ns, kernel.a_launches), each(kernel.b_ns, kernel.b_launches));
  if (kernel.a_launches == kernel.b_launches)
    return path + fmt::format("{}, {}", times, launches(kernel.b_launches));
  return path + fmt::format("{}, {:.6g} → {}", times, kernel.a_launches, launches(kernel.b_launches));
}

waterfall fall_of(const compare::compared_stage& stage) {
  waterfall fall{fmt::format("Kernel time of {}", stage.name), "A", 0, "B", 0, {}};
  waterfall_bar rest{"everything else", "", 0};
  std::size_t rest_count = 0;
  for (const compare::compared_kernel& kernel : stage.kernels) {
    fall.from_ns += kernel.a_ns;
    fall.to_ns += kernel.b_ns;
    if (fall.bars.size() < drawn_kernels) {
      fall.bars.push_back({readable_and_short(kernel.b_name.empty() ? kernel.a_name : kernel.b_name),
                           bar_detail(kernel), kernel.b_ns - kernel.a_ns});
    } else {
      rest.delta_ns += kernel.b_ns - kernel.a_ns;
      ++rest_count;
    }
  }
  rest.detail = fmt::format("{} smaller difference{}", rest_count, rest_count == 1 ? "" : "s");
  if (rest_count > 0) fall.bars.push_back(std::move(rest));
  return fall;
}

json operators_view(const compare::compared_stage& stage) {
  double largest_ns = 0;
  for (const compare::compared_operator& row : stage.operators)
    largest_ns = std::max({largest_ns, row.a ? row.a->time_ns : 0, row.b ? row.b->time_ns : 0});
  json rows = json::array();
  for (const compare::compared_operator& row : stage.operators) {
    compare::compared_kernel as_kernel;
    as_kernel.a_name = row.a ? row.name : "";
    as_kernel.b_name = row.b ? row.name : "";
    if (row.a) {
      as_kernel.a_launches = row.a->calls;
      as_kernel.a_ns = row.a->time_ns;
    }
    if (row.b) {
      as_kernel.b_launches = row.b->calls;
      as_kernel.b_ns = row.b->time_ns;
    }
    as_kernel.device = row.device;
    rows.push_back(kernel_view(as_kernel, largest_ns));
    rows.back()["name"] = valid(row.name);
  }
  return rows;
}

std::string kernel_note(const compare::compared_stage& stage, const waterfall& fall) {
  return fmt::format("{} {}: {} → {}, {}, which the rows add up to.",
                     stage.by_category ? "By category, since the models differ."
                                       : "Matched by name, operator and kind of work.",
                     stage.is_exclusive_time ? "Own times, without waits for the kernel before"
                                             : "Whole times, waits for the kernel before included",
                     precise_duration(fall.from_ns), precise_duration(fall.to_ns),
                     signed_duration(fall.to_ns - fall.from_ns));
}

json stage_view(const compare::compared_stage& stage, const std::filesystem::path& templates_dir) {
  double largest_ns = 0;
  for (const compare::compared_kernel& kernel : stage.kernels)
    largest_ns = std::max({largest_ns, kernel.a_ns, kernel.b_ns});
  json kernels = json::array();
  for (const compare::compared_kernel& kernel : stage.kernels) {
    kernels.push_back(kernel_view(kernel, largest_ns));
    // in a table of categories it goes without saying
    if (stage.by_category && kernel.match == gate::matched_by::category) kernels.back()["matched_by"] = "";
  }
  const waterfall fall = fall_of(stage);
  json view{{"name", valid(stage.name)},
            {"presence", stage.in_a && stage.in_b ? ""
                         : stage.in_a             ? "only in A"
                                                  : "only in B"},
            {"headline", figure_view(stage.figures.front(), stage.by_category)},
            {"spread", !stage.spreads_overlap   ? "unknown"
                       : *stage.spreads_overlap ? "overlap"
                                                : "apart"},
            {"figures", figures_view(stage.figures, stage.by_category)},
            {"by_category", stage.by_category},
            {"by_device", stage.by_device},
            {"kernels", kernels},
            {"kernels_absent_reason", valid(stage.kernels_absent_reason)},
            {"kernel_note", kernel_note(stage, fall)},
            {"operators", operators_view(stage)},
            {"a_operator_time", stage.a_operator_time},
            {"b_operator_time", stage.b_operator_time},
            {"svg", ""}};
  if (!stage.kernels.empty())
    view["svg"] = fill_template_file(drawing_of("", {}, {fall}), templates_dir / "waterfall.svg.inja");
  return view;
}

json side_view(const compare::compared_side& side) {
  const auto or_dash = [](const std::string& text) {
    return text.empty() ? std::string(empty_cell) : valid(text);
  };
  return {{"name", or_dash(side.name)},
          {"source", side.source},
          {"pair", or_dash(side.pair)},
          {"model", or_dash(side.model)},
          {"config", or_dash(side.config)},
          {"device", or_dash(side.device_name)},
          {"commit", or_dash(side.commit.substr(0, 12))},
          {"created", or_dash(side.created_utc)}};
}

json view_of(const compare::profile_comparison& comparison, const std::filesystem::path& templates_dir) {
  json labels = json::array();
  for (const std::string& label : comparison.labels) labels.push_back(valid(label));
  json differs = json::array();
  for (const compare::differing_fact& fact : comparison.differs) {
    differs.push_back({{"name", valid(fact.name)},
                       {"a", valid(fact.a.value_or("not recorded"))},
                       {"b", valid(fact.b.value_or("not recorded"))}});
  }
  json same = json::array();
  for (const auto& [name, value] : comparison.same)
    same.push_back({{"name", valid(name)}, {"value", valid(value)}});
  json stages = json::array();
  for (const compare::compared_stage& stage : comparison.stages)
    stages.push_back(stage_view(stage, templates_dir));
  return {{"a", side_view(comparison.a)},
          {"b", side_view(comparison.b)},
          {"is_cross_device", comparison.is_cross_device},
          {"is_cross_model", comparison.is_cross_model},
          {"labels", labels},
          {"figures", figures_view(comparison.figures, comparison.is_cross_model)},
          {"stages", stages},
          {"differs", differs},
          {"same", same}};
}

}  // namespace

std::string compare_markdown(const compare::profile_comparison& comparison,
                             const std::filesystem::path& templates_dir) {
  return tidy_markdown(
      fill_template_file(view_of(comparison, templates_dir), templates_dir / "compare.md.inja"));
}

std::string compare_html(const compare::profile_comparison& comparison,
                         const std::filesystem::path& templates_dir) {
  return fill_template_file(view_of(comparison, templates_dir), templates_dir / "compare.html.inja");
}

}  // namespace profgate::render
