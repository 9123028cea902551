#include "kernel_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/escape.h"
#include "core/units.h"
#include "drawing.h"
#include "label_places.h"
#include "traced_time.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// A page of more rows is no longer read, and kernels.md has all of them.
constexpr std::size_t most_rows = 1000;
constexpr std::size_t longest_title_bytes = 160;
constexpr double icicle_width = 1000;
constexpr double layer_height = 30;
constexpr double label_character_px = 7.6;
constexpr std::size_t named_tints = 6;
constexpr std::size_t rest_tint = 6;      ///< grey
constexpr std::size_t stage_colours = 4;  ///< those of the table's bars and of the roofline's dots
constexpr double narrowest = 3;           ///< what is narrower is drawn together with its neighbours

/// What was counted of a kernel under an operator: of its roof all counted grids together, the time of all at
/// the roof over that which they take; bound by what bounds the grid with the largest share.
void put_counters(const json& stage, std::vector<kernel_row>& rows) {
  if (!stage.contains("counters") || !stage["counters"].is_object()) return;
  struct counted_grids {
    std::string bound{};
    double share = 0;
    double share_at_roof = 0;
  };
  std::map<std::pair<std::string, std::string>, counted_grids> counted;
  for (const json& kernel : stage["counters"]["kernels"]) {
    const auto [found, is_largest] =
        counted.try_emplace({text_or_empty(kernel, "kernel_name"), text_or_empty(kernel, "op")});
    if (is_largest) found->second.bound = text_or_empty(kernel, "bound");
    const auto share = number(kernel, "share_ratio");
    const auto reached = number(kernel, "reached_ratio");
    if (!share || !reached) continue;
    found->second.share += *share;
    found->second.share_at_roof += *share * *reached;
  }
  for (kernel_row& row : rows) {
    const auto found = counted.find({row.kernel_name, row.op});
    if (found == counted.end()) continue;
    row.bound = found->second.bound;
    if (found->second.share > 0) row.reached_ratio = found->second.share_at_roof / found->second.share;
  }
}

std::vector<kernel_row> kernels_of(const json& stage) {
  std::map<std::pair<std::string, std::string>, kernel_row> by_name;
  for (const json& group : stage.value("kernel_groups", json::array())) {
    const std::string name = text_or_empty(group, "kernel_name");
    const std::string op = text_or_empty(group, "op_name");
    kernel_row& row = by_name[{name, op}];
    row.kernel_name = name;
    row.op = op;
    row.category = text_or_empty(group, "category");
    row.own_ns += number(group, "own_ns").value_or(number(group, "total_ns").value_or(0));
    row.calls_count += number(group, "calls_count").value_or(0);
  }
  std::vector<kernel_row> rows;
  for (auto& [key, row] : by_name) rows.push_back(std::move(row));
  put_counters(stage, rows);
  return rows;
}

std::vector<kernel_row> operators_of(const json& stage) {
  std::vector<kernel_row> rows;
  for (const json& op : stage.value("operators", json::array())) {
    kernel_row row;
    row.op = text_or_empty(op, "op_name");
    row.own_ns = number(op, "exclusive_ns").value_or(0);
    row.calls_count = number(op, "calls_count").value_or(0);
    row.share_ratio = number(op, "share_ratio").value_or(-1);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// What a stage spends in none of its operators, so that the picture shows all of it.
std::optional<kernel_row> uncovered_of(const json& stage) {
  if (!stage.contains("traced") || !stage["traced"].is_object()) return std::nullopt;
  const auto uncovered_ns = number(stage["traced"], "uncovered_ns");
  const double host_ns = host_ns_of(stage["traced"]);
  if (!uncovered_ns || *uncovered_ns <= 0 || host_ns <= 0) return std::nullopt;
  kernel_row row;
  row.op = "(no operator)";
  row.own_ns = *uncovered_ns;
  row.share_ratio = *uncovered_ns / host_ns;
  return row;
}

/// One rectangle of the icicle over the rows whose places are in [first_place, end_place).
struct block {
  std::string label{};
  std::string stage_name{};
  double own_ns = 0;
  double share_ratio = 0;  ///< of the stage
  std::size_t tint = 0;
  bool is_stage = false;  ///< drawn in full colour, which no operator has
  std::size_t first_place = 0;
  std::size_t end_place = 0;
};

class icicle_builder {
 public:
  explicit icicle_builder(double total_ns) : m_total_ns(total_ns) {}

  /// Draws blocks side by side from `left` on; neighbours that are too narrow become one. Returns the left
  /// edge of each.
  std::vector<double> draw(const std::vector<block>& blocks, double left, std::size_t layer) {
    std::vector<double> lefts;
    std::vector<block> narrow;
    double drawn_ns = 0;
    for (const block& one : blocks) {
      lefts.push_back(left + width_of(drawn_ns));
      drawn_ns += one.own_ns;
      if (width_of(one.own_ns) < narrowest) {
        narrow.push_back(one);
        continue;
      }
      put_together(narrow, lefts.back(), layer);
      narrow.clear();
      put(one, lefts.back(), layer);
    }
    put_together(narrow, left + width_of(drawn_ns), layer);
    return lefts;
  }

  json take() { return std::move(m_rectangles); }

 private:
  double width_of(double own_ns) const { return icicle_width * own_ns / m_total_ns; }

  /// Neighbours that end at `right`, as one.
  void put_together(const std::vector<block>& narrow, double right, std::size_t layer) {
    if (narrow.empty()) return;
    block sum = narrow.front();
    sum.own_ns = sum.share_ratio = 0;
    for (const block& one : narrow) {
      sum.own_ns += one.own_ns;
      sum.share_ratio += one.share_ratio;
    }
    if (width_of(sum.own_ns) < narrowest) return;
    sum.label = fmt::format("{} smaller", narrow.size());
    sum.end_place = narrow.back().end_place;
    sum.tint = sum.is_stage ? 0 : rest_tint;
    put(sum, right - width_of(sum.own_ns), layer);
  }

  void put(const block& one, double left, std::size_t layer) {
    m_rectangles.push_back(
        {{"x", rounded_px(left)},
         {"text_x", rounded_px(left + 5)},
         {"y", layer_height * static_cast<double>(layer)},
         {"width", rounded_px(width_of(one.own_ns))},
         {"layer", layer},
         {"fill", fmt::format("{}{}", one.is_stage ? 'f' : 't', one.tint)},
         {"label", one.label},
         {"shown", fitting_label(one.label, width_of(one.own_ns), label_character_px)},
         {"first_place", one.first_place},
         {"end_place", one.end_place},
         {"title", fmt::format("{}: {}, {} of {}", one.label, core::format_duration(one.own_ns),
                               formatted(one.share_ratio, "percent"), one.stage_name)}});
  }

  double m_total_ns;
  json m_rectangles = json::array();
};

/// Rows of one stage by operator, the largest operator first, its largest kernel first.
template <typename row_pointer>
std::vector<std::vector<row_pointer>> by_operator(const std::vector<row_pointer>& rows) {
  std::map<std::string, std::vector<row_pointer>> groups;
  for (const row_pointer row : rows) groups[row->op].push_back(row);
  const auto sum_of = [](const std::vector<row_pointer>& group) {
    double sum = 0;
    for (const row_pointer row : group) sum += row->own_ns;
    return sum;
  };
  std::vector<std::vector<row_pointer>> sorted;
  for (auto& [op, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return sum_of(a) > sum_of(b); });
  return sorted;
}

/// One tint for one name in all stages, the largest names first.
template <typename name_of_row>
std::map<std::string, std::size_t> tints_of(const std::vector<kernel_row>& rows, const name_of_row& name_of) {
  std::map<std::string, double> own_ns;
  for (const kernel_row& row : rows) own_ns[name_of(row)] += row.own_ns;
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, ns] : own_ns) sorted.emplace_back(-ns, name);
  std::sort(sorted.begin(), sorted.end());
  std::map<std::string, std::size_t> tints;
  for (const auto& [ns, name] : sorted) tints.emplace(name, tints.size() % named_tints);
  return tints;
}

block sum_of_rows(const std::vector<const kernel_row*>& rows, std::string label) {
  block sum;
  sum.label = std::move(label);
  sum.stage_name = rows.front()->stage_name;
  sum.first_place = std::numeric_limits<std::size_t>::max();
  for (const kernel_row* row : rows) {
    sum.own_ns += row->own_ns;
    sum.share_ratio += row->share_ratio;
    sum.first_place = std::min(sum.first_place, row->place.value_or(sum.first_place));
    sum.end_place = std::max(sum.end_place, row->place ? *row->place + 1 : 0);
  }
  return sum;
}

}  // namespace

std::vector<kernel_row> kernel_rows_of(const json& profile, const core::short_kernel_names& names) {
  std::vector<kernel_row> all;
  std::size_t index = 0;
  std::size_t places = 0;
  for (const json& stage : profile["stages"]) {
    std::vector<kernel_row> rows = kernels_of(stage);
    const bool are_operators = rows.empty();
    if (are_operators) {
      rows = operators_of(stage);
      if (auto uncovered = uncovered_of(stage); uncovered && !rows.empty())
        rows.push_back(std::move(*uncovered));
    }
    std::erase_if(rows, [](const kernel_row& row) { return row.own_ns <= 0; });
    double stage_ns = 0;
    for (const kernel_row& row : rows) stage_ns += row.own_ns;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const kernel_row& a, const kernel_row& b) { return a.own_ns > b.own_ns; });
    for (kernel_row& row : rows) {
      row.stage = index;
      row.stage_name = core::to_valid_utf8(stage["name"].get<std::string>());
      if (!are_operators) row.share_ratio = row.own_ns / stage_ns;
      row.op = core::to_valid_utf8(row.op);
      row.label = row.kernel_name.empty() ? row.op : core::to_valid_utf8(names.of(row.kernel_name));
    }
    std::vector<kernel_row*> drawn;
    for (kernel_row& row : rows)
      if (row.share_ratio >= 0) drawn.push_back(&row);
    for (const std::vector<kernel_row*>& group : by_operator(drawn))
      for (kernel_row* row : group) row->place = places++;
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
    ++index;
  }
  return all;
}

json kernel_table_of(const std::vector<kernel_row>& rows) {
  std::vector<const kernel_row*> shown;
  for (const kernel_row& row : rows) shown.push_back(&row);
  std::stable_sort(shown.begin(), shown.end(),
                   [](const kernel_row* a, const kernel_row* b) { return a->own_ns > b->own_ns; });
  const std::size_t left_out = shown.size() > most_rows ? shown.size() - most_rows : 0;
  shown.resize(shown.size() - left_out);
  json list = json::array();
  for (const kernel_row* row : shown) {
    const bool is_called = row->calls_count > 0;  // the rest of a stage is not, and its cells are left out
    const double launch_ns = row->own_ns / std::max(row->calls_count, 1.0);
    list.push_back(
        {{"stage", row->stage_name},
         {"tint", row->stage % stage_colours},
         {"place", row->place ? std::to_string(*row->place) : "-1"},
         {"op", row->op},
         {"label", row->label},
         {"title", core::shorten_middle(core::to_valid_utf8(row->kernel_name), longest_title_bytes)},
         {"share", row->share_ratio < 0 ? std::string(empty_cell) : formatted(row->share_ratio, "percent")},
         {"share_ratio", fmt::format("{:.4f}", std::max(0.0, row->share_ratio))},
         {"own", core::format_duration(row->own_ns)},
         {"own_ns", fmt::format("{:.0f}", row->own_ns)},
         {"calls", is_called ? fmt::format("{:.0f}", row->calls_count) : ""},
         {"calls_count", fmt::format("{:.0f}", row->calls_count)},
         {"launch", is_called ? core::format_duration(launch_ns) : ""},
         {"roof", row->reached_ratio < 0 ? "" : formatted(row->reached_ratio, "ceiling")},
         {"roof_ratio", row->reached_ratio < 0 ? "-1" : fmt::format("{:.3f}", row->reached_ratio)},
         {"bound", row->bound}});
  }
  const bool are_kernels = !rows.empty() && !rows.front().kernel_name.empty();
  const bool has_counters =
      std::any_of(rows.begin(), rows.end(), [](const kernel_row& row) { return !row.bound.empty(); });
  return {{"rows", std::move(list)},
          {"left_out", left_out},
          {"are_kernels", are_kernels},
          {"has_counters", has_counters}};
}

json icicle_of(const std::vector<kernel_row>& rows) {
  double total_ns = 0;
  std::map<std::size_t, std::vector<const kernel_row*>> stages;
  for (const kernel_row& row : rows) {
    if (row.share_ratio < 0) continue;  // beside the stage
    total_ns += row.own_ns;
    stages[row.stage].push_back(&row);
  }
  if (total_ns <= 0) return nullptr;
  const bool has_kernels = !rows.front().kernel_name.empty();
  // Without operators their layer would repeat the stages'.
  const bool has_operators = !has_kernels || std::any_of(rows.begin(), rows.end(), [](const kernel_row& row) {
    return !row.op.empty();
  });
  const auto tints = tints_of(
      rows, [&](const kernel_row& row) -> const std::string& { return has_operators ? row.op : row.label; });
  icicle_builder builder(total_ns);
  std::vector<block> stage_blocks;
  for (const auto& [index, stage_rows] : stages) {
    stage_blocks.push_back(sum_of_rows(stage_rows, stage_rows.front()->stage_name));
    stage_blocks.back().tint = index % stage_colours;
    stage_blocks.back().is_stage = true;
  }
  const std::vector<double> stage_lefts = builder.draw(stage_blocks, 0, 0);
  std::size_t place = 0;
  for (const auto& [index, stage_rows] : stages) {
    const auto operators = by_operator(stage_rows);
    std::vector<block> op_blocks;
    for (const auto& group : operators) {
      const std::string& op = group.front()->op;
      op_blocks.push_back(sum_of_rows(group, op.empty() ? "(no operator)" : op));
      if (has_operators) op_blocks.back().tint = tints.at(op);
    }
    const double stage_left = stage_lefts[place++];
    const std::vector<double> op_lefts =
        has_operators ? builder.draw(op_blocks, stage_left, 1) : std::vector<double>{stage_left};
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].front()->kernel_name.empty()) continue;
      std::vector<block> kernel_blocks;
      for (const kernel_row* row : operators[i]) {
        block one = sum_of_rows({row}, row->label);
        one.tint = tints.at(has_operators ? row->op : row->label);
        kernel_blocks.push_back(std::move(one));
      }
      builder.draw(kernel_blocks, op_lefts[i], has_operators ? 2 : 1);
    }
  }
  return {{"rectangles", builder.take()},
          {"height", layer_height * (has_kernels && has_operators ? 3 : 2)},
          {"title", !has_kernels     ? "Time by stage and operator"
                    : !has_operators ? "Time by stage and kernel"
                                     : "Time by stage, operator and kernel"},
          {"has_operators", has_operators}};
}

}  // namespace profgate::render
