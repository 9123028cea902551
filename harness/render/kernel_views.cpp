#include "kernel_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "drawing.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// A page of more rows is no longer read, and kernels.md has all of them.
constexpr std::size_t most_rows = 1000;
constexpr std::size_t longest_title_bytes = 200;
constexpr double icicle_width = 1000;
constexpr double layer_height = 30;
constexpr double narrowest = 2;  ///< what is narrower is drawn together with its neighbours

std::string text_or_empty(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_or(const json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

/// What was counted of a kernel under an operator, of the launches with the largest share.
void put_counters(const json& stage, std::vector<kernel_row>& rows) {
  if (!stage.contains("counters") || !stage["counters"].is_object()) return;
  std::map<std::pair<std::string, std::string>, const json*> counted;
  for (const json& kernel : stage["counters"]["kernels"])
    counted.emplace(std::pair{text_or_empty(kernel, "kernel_name"), text_or_empty(kernel, "op")}, &kernel);
  for (kernel_row& row : rows) {
    const auto found = counted.find({row.kernel_name, row.op});
    if (found == counted.end()) continue;
    row.reached_ratio = number_or(*found->second, "reached_ratio", -1);
    row.bound = text_or_empty(*found->second, "bound");
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
    row.own_ns += number_or(group, "own_ns", number_or(group, "total_ns", 0));
    row.calls_count += number_or(group, "calls_count", 0);
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
    row.own_ns = number_or(op, "exclusive_ns", 0);
    row.calls_count = number_or(op, "calls_count", 0);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string label_of(const kernel_row& row) {
  return core::to_valid_utf8(row.kernel_name.empty() ? row.op : core::readable_kernel_name(row.kernel_name));
}

/// One rectangle of the icicle over rows [first, last).
struct block {
  std::string label{};
  std::string stage_name{};
  std::string op{};
  std::string kernel{};  ///< as the table spells it
  double own_ns = 0;
  double share_ratio = 0;  ///< of the stage
  std::size_t tint = 0;
};

class icicle_builder {
 public:
  explicit icicle_builder(double total_ns) : m_total_ns(total_ns) {}

  /// Draws blocks side by side from `left` on; those that are too narrow become one. Returns the left edge of
  /// each.
  std::vector<double> draw(const std::vector<block>& blocks, double left, std::size_t layer) {
    std::vector<double> lefts;
    double others_ns = 0;
    std::size_t others = 0;
    const double start = left;
    double drawn_ns = 0;
    for (const block& one : blocks) {
      lefts.push_back(start + width_of(drawn_ns));
      drawn_ns += one.own_ns;
      if (width_of(one.own_ns) < narrowest) {
        others_ns += one.own_ns;
        ++others;
        continue;
      }
      put(one, lefts.back(), layer);
    }
    if (others > 0 && width_of(others_ns) >= narrowest) {
      block rest = blocks.back();
      rest.label = fmt::format("{} smaller", others);
      rest.kernel.clear();
      if (layer == 1) rest.op.clear();
      rest.own_ns = others_ns;
      rest.share_ratio =
          blocks.back().own_ns > 0 ? blocks.back().share_ratio * others_ns / blocks.back().own_ns : 0;
      put(rest, start + width_of(drawn_ns - others_ns), layer);
    }
    return lefts;
  }

  json take() { return std::move(m_rectangles); }

 private:
  double width_of(double own_ns) const { return icicle_width * own_ns / m_total_ns; }

  void put(const block& one, double left, std::size_t layer) {
    m_rectangles.push_back(
        {{"x", rounded_px(left)},
         {"y", layer_height * static_cast<double>(layer)},
         {"width", rounded_px(width_of(one.own_ns))},
         {"layer", layer},
         {"tint", one.tint % 6},
         {"label", one.label},
         {"stage", one.stage_name},
         {"op", one.op},
         {"kernel", one.kernel},
         {"title", fmt::format("{}: {}, {} of {}", one.label, core::format_duration(one.own_ns),
                               formatted(one.share_ratio, "percent"), one.stage_name)}});
  }

  double m_total_ns;
  json m_rectangles = json::array();
};

/// Rows of one stage by operator, the largest operator first, its largest kernel first.
std::vector<std::vector<const kernel_row*>> by_operator(const std::vector<const kernel_row*>& rows) {
  std::map<std::string, std::vector<const kernel_row*>> groups;
  for (const kernel_row* row : rows) groups[row->op].push_back(row);
  const auto sum_of = [](const std::vector<const kernel_row*>& group) {
    double sum = 0;
    for (const kernel_row* row : group) sum += row->own_ns;
    return sum;
  };
  std::vector<std::vector<const kernel_row*>> sorted;
  for (auto& [op, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return sum_of(a) > sum_of(b); });
  return sorted;
}

block sum_of_rows(const std::vector<const kernel_row*>& rows, std::string label) {
  block sum;
  sum.label = std::move(label);
  sum.stage_name = rows.front()->stage_name;
  for (const kernel_row* row : rows) {
    sum.own_ns += row->own_ns;
    sum.share_ratio += row->share_ratio;
  }
  return sum;
}

}  // namespace

std::vector<kernel_row> kernel_rows_of(const json& profile) {
  std::vector<kernel_row> all;
  std::size_t index = 0;
  for (const json& stage : profile["stages"]) {
    std::vector<kernel_row> rows = kernels_of(stage);
    if (rows.empty()) rows = operators_of(stage);
    std::erase_if(rows, [](const kernel_row& row) { return row.own_ns <= 0; });
    double stage_ns = 0;
    for (const kernel_row& row : rows) stage_ns += row.own_ns;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const kernel_row& a, const kernel_row& b) { return a.own_ns > b.own_ns; });
    for (kernel_row& row : rows) {
      row.stage = index;
      row.stage_name = core::to_valid_utf8(stage["name"].get<std::string>());
      row.share_ratio = row.own_ns / stage_ns;
      row.op = core::to_valid_utf8(row.op);
      all.push_back(std::move(row));
    }
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
    const double launch_ns = row->own_ns / std::max(row->calls_count, 1.0);
    list.push_back(
        {{"stage", row->stage_name},
         {"tint", row->stage % 4},
         {"op", row->op},
         {"label", core::shorten_middle(label_of(*row), 90)},
         {"title", core::shorten_middle(core::to_valid_utf8(row->kernel_name), longest_title_bytes)},
         {"share", formatted(row->share_ratio, "percent")},
         {"share_ratio", fmt::format("{:.4f}", row->share_ratio)},
         {"width", fmt::format("{:.1f}%", 100 * row->share_ratio)},
         {"own", core::format_duration(row->own_ns)},
         {"own_ns", fmt::format("{:.0f}", row->own_ns)},
         {"calls", formatted(row->calls_count, "count")},
         {"calls_count", row->calls_count},
         {"launch", core::format_duration(launch_ns)},
         {"launch_ns", fmt::format("{:.0f}", launch_ns)},
         {"roof", row->reached_ratio < 0 ? "" : formatted(row->reached_ratio, "percent")},
         {"roof_ratio", fmt::format("{:.3f}", row->reached_ratio)},
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
  for (const kernel_row& row : rows) total_ns += row.own_ns;
  if (total_ns <= 0) return nullptr;
  std::map<std::size_t, std::vector<const kernel_row*>> stages;
  for (const kernel_row& row : rows) stages[row.stage].push_back(&row);
  icicle_builder builder(total_ns);
  std::vector<block> stage_blocks;
  for (const auto& [index, stage_rows] : stages) {
    stage_blocks.push_back(sum_of_rows(stage_rows, stage_rows.front()->stage_name));
    stage_blocks.back().tint = index;
  }
  const std::vector<double> stage_lefts = builder.draw(stage_blocks, 0, 0);
  std::size_t place = 0;
  for (const auto& [index, stage_rows] : stages) {
    const auto operators = by_operator(stage_rows);
    std::vector<block> op_blocks;
    for (const auto& group : operators) {
      const std::string& op = group.front()->op;
      op_blocks.push_back(sum_of_rows(group, op.empty() ? "(no operator)" : op));
      op_blocks.back().op = op;
      op_blocks.back().tint = op_blocks.size() - 1;
    }
    const std::vector<double> op_lefts = builder.draw(op_blocks, stage_lefts[place++], 1);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].front()->kernel_name.empty()) continue;
      std::vector<block> kernel_blocks;
      for (const kernel_row* row : operators[i]) {
        block one = sum_of_rows({row}, label_of(*row));
        one.op = row->op;
        one.kernel = core::shorten_middle(label_of(*row), 90);
        one.tint = i;
        kernel_blocks.push_back(std::move(one));
      }
      builder.draw(kernel_blocks, op_lefts[i], 2);
    }
  }
  const bool has_kernels = !rows.front().kernel_name.empty();
  return {{"rectangles", builder.take()}, {"height", layer_height * (has_kernels ? 3 : 2)}};
}

}  // namespace profgate::render
