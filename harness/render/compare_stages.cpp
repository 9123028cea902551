#include "compare_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compare_figures.h"
#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "difference_parts.h"
#include "difference_words.h"
#include "drawing.h"
#include "gate_words.h"
#include "template_engine.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t drawn_kernels = 8;
constexpr std::size_t listed_kernels = 20;        ///< in compare.md
constexpr std::size_t longest_whole_name = 4000;  ///< in pages; compare.json has all of it

/// Of a stage's kernels in both sides; a category is called as it is.
core::short_kernel_names names_in(const compare::compared_stage& stage) {
  std::vector<std::string> names;
  for (const compare::compared_kernel& kernel : stage.kernels) {
    if (!kernel.b_name.empty()) names.push_back(core::to_valid_utf8(kernel.b_name));
    if (!kernel.a_name.empty() && !is_one_name(kernel)) names.push_back(core::to_valid_utf8(kernel.a_name));
  }
  return core::short_kernel_names(std::move(names));
}

std::string each(double total_ns, double launches) {
  return launches > 0 ? precise_duration(total_ns / launches) : std::string(empty_cell);
}

const char* tone_of_kernel(const compare::compared_kernel& kernel, bool is_judged) {
  if (!is_judged) return "plain";
  if (kernel.a_ns > 0 && !kernel.b_name.empty())
    return change_tone(analysis::better::lower, kernel.b_ns / kernel.a_ns - 1);
  return kernel.b_name.empty() ? "better" : "worse";
}

json kernel_view(const compare::compared_kernel& kernel, double largest_ns, bool is_judged,
                 const core::short_kernel_names& names) {
  const bool in_a = !kernel.a_name.empty();
  const bool in_b = !kernel.b_name.empty();
  const double difference_ns = kernel.b_ns - kernel.a_ns;
  const std::string name = names.of(core::to_valid_utf8(in_b ? kernel.b_name : kernel.a_name));
  const std::string was =
      in_a && in_b && !is_one_name(kernel) ? names.of(core::to_valid_utf8(kernel.a_name)) : "";
  const auto share = [&](double ns) { return largest_ns > 0 ? std::round(ns / largest_ns * 1000) / 10 : 0; };
  return {{"name", name},
          {"full_name", core::shorten_middle(core::to_valid_utf8(in_b ? kernel.b_name : kernel.a_name),
                                             longest_whole_name)},
          {"was", was == name ? "" : was},
          {"path", core::to_valid_utf8(kernel.path)},
          {"device", core::to_valid_utf8(kernel.device)},
          {"category", core::to_valid_utf8(kernel.category)},
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
          {"tone", tone_of_kernel(kernel, is_judged)}};
}

std::string launches(double count) {
  return fmt::format("{:.6g} launch{}", count, count == 1 ? "" : "es");
}

std::string bar_detail(const compare::compared_kernel& kernel, const core::short_kernel_names& names) {
  const std::string was =
      is_in_place_of_another(kernel)
          ? fmt::format("in place of {}, ",
                        core::shorten_middle(names.of(core::to_valid_utf8(kernel.a_name)), 24))
          : "";
  const std::string path = (kernel.device.empty() ? "" : kernel.device + ", ") +
                           (kernel.path.empty() ? "" : core::shorten_middle(kernel.path, 24) + ": ") + was;
  if (kernel.a_name.empty()) return path + fmt::format("only in B, {}", launches(kernel.b_launches));
  if (kernel.b_name.empty()) return path + fmt::format("only in A, {}", launches(kernel.a_launches));
  const std::string times =
      fmt::format("{} → {} each", each(kernel.a_ns, kernel.a_launches), each(kernel.b_ns, kernel.b_launches));
  if (kernel.a_launches == kernel.b_launches)
    return path + fmt::format("{}, {}", times, launches(kernel.b_launches));
  return path + fmt::format("{}, {:.6g} → {}", times, kernel.a_launches, launches(kernel.b_launches));
}

waterfall fall_of(const compare::compared_stage& stage, bool is_judged,
                  const core::short_kernel_names& names) {
  waterfall fall;
  fall.title = fmt::format("Kernel time of {}{}", stage.name, per_text(stage));
  fall.from_label = "A";
  fall.to_label = "B";
  fall.axis_label = "B − A";
  fall.is_judged = is_judged;
  waterfall_bar rest{"everything else", "", 0};
  std::size_t rest_count = 0;
  for (const compare::compared_kernel& kernel : stage.kernels) {
    fall.from_ns += kernel.a_ns;
    fall.to_ns += kernel.b_ns;
    if (fall.bars.size() < drawn_kernels) {
      fall.bars.push_back(
          {names.of(core::to_valid_utf8(kernel.b_name.empty() ? kernel.a_name : kernel.b_name)),
           bar_detail(kernel, names), kernel.b_ns - kernel.a_ns});
    } else {
      rest.delta_ns += kernel.b_ns - kernel.a_ns;
      ++rest_count;
    }
  }
  rest.detail = fmt::format("{} smaller difference{}", rest_count, rest_count == 1 ? "" : "s");
  if (rest_count > 0) fall.bars.push_back(std::move(rest));
  return fall;
}

bool are_calls_unknown(const compare::compared_stage& stage) {
  return std::any_of(stage.operators.begin(), stage.operators.end(),
                     [](const compare::compared_operator& row) {
                       return (row.a && !row.a->calls) || (row.b && !row.b->calls);
                     });
}

json operators_view(const compare::compared_stage& stage, bool is_judged) {
  double largest_ns = 0;
  for (const compare::compared_operator& row : stage.operators)
    largest_ns = std::max({largest_ns, row.a ? row.a->time_ns : 0, row.b ? row.b->time_ns : 0});
  json rows = json::array();
  for (const compare::compared_operator& row : stage.operators) {
    compare::compared_kernel as_kernel;
    as_kernel.a_name = row.a ? row.name : "";
    as_kernel.b_name = row.b ? row.name : "";
    if (row.a) {
      as_kernel.a_launches = row.a->calls.value_or(0);
      as_kernel.a_ns = row.a->time_ns;
    }
    if (row.b) {
      as_kernel.b_launches = row.b->calls.value_or(0);
      as_kernel.b_ns = row.b->time_ns;
    }
    as_kernel.device = row.device;
    rows.push_back(kernel_view(as_kernel, largest_ns, is_judged, {}));
    if (row.a && !row.a->calls) rows.back()["a_launches"] = empty_cell;
    if (row.b && !row.b->calls) rows.back()["b_launches"] = empty_cell;
    rows.back()["name"] = core::to_valid_utf8(row.name);
  }
  return rows;
}

std::string kernel_note(const compare::compared_stage& stage, const waterfall& fall) {
  return fmt::format("{} {} times{}, {}: {} → {}, {}, which the differences add up to.",
                     stage.by_category ? "By category, since the models differ."
                                       : "Matched by name, operator and kind of work.",
                     stage.is_exclusive_time ? "Own" : "Whole", per_text(stage),
                     stage.is_exclusive_time ? "without waits for the kernel before"
                                             : "waits for the kernel before included",
                     precise_duration(fall.from_ns), precise_duration(fall.to_ns),
                     signed_duration(fall.to_ns - fall.from_ns));
}

/// Of the kernels that compare.md lists, where the short name is not all of it.
json listed_whole_names(const compare::compared_stage& stage, const core::short_kernel_names& names) {
  json list = json::array();
  if (stage.by_category) return list;
  std::set<std::string> listed;
  for (std::size_t i = 0; i < std::min(listed_kernels, stage.kernels.size()); ++i) {
    const compare::compared_kernel& kernel = stage.kernels[i];
    for (const std::string& name : {kernel.b_name, is_one_name(kernel) ? "" : kernel.a_name}) {
      const std::string whole = core::to_valid_utf8(name);
      const std::string brief = names.of(whole);
      if (brief == whole || !listed.insert(whole).second) continue;
      list.push_back({{"short", brief}, {"whole", core::shorten_middle(whole, longest_whole_name)}});
    }
  }
  return list;
}

/// "new: planted (+23.0 µs), 4 more", largest first; empty: none.
std::string in_one_side(const char* word, std::vector<std::pair<double, std::string>> found) {
  constexpr std::size_t most_named = 3;
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  std::string text;
  for (std::size_t i = 0; i < std::min(most_named, found.size()); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", found[i].second, signed_duration(found[i].first));
  if (found.size() > most_named) text += fmt::format(", {} more", found.size() - most_named);
  return text.empty() ? "" : fmt::format("{}: {}", word, text);
}

/// Operators, and kernels outside of them, that only one side has: no noise makes those. Empty where a side
/// has none at all, or the models differ.
std::string only_in_one(const compare::compared_stage& stage, const core::short_kernel_names& names) {
  if (stage.by_category) return "";
  std::vector<std::pair<double, std::string>> added;
  std::vector<std::pair<double, std::string>> gone;
  std::set<std::string> operators;
  const auto is_in_both = [](const auto& rows, const auto& is_in_a, const auto& is_in_b) {
    return std::any_of(rows.begin(), rows.end(), is_in_a) && std::any_of(rows.begin(), rows.end(), is_in_b);
  };
  if (is_in_both(
          stage.operators, [](const auto& row) { return row.a.has_value(); },
          [](const auto& row) { return row.b.has_value(); })) {
    for (const compare::compared_operator& row : stage.operators) {
      if (row.a && row.b) continue;
      operators.insert(row.name);
      const std::string name = core::to_valid_utf8(row.name);
      if (row.b) added.emplace_back(row.b->time_ns, name);
      if (row.a) gone.emplace_back(-row.a->time_ns, name);
    }
  }
  if (is_in_both(
          stage.kernels, [](const auto& kernel) { return !kernel.a_name.empty(); },
          [](const auto& kernel) { return !kernel.b_name.empty(); })) {
    for (const compare::compared_kernel& kernel : stage.kernels) {
      if (operators.contains(kernel.path)) continue;
      if (kernel.a_name.empty())
        added.emplace_back(kernel.b_ns, names.of(core::to_valid_utf8(kernel.b_name)));
      if (kernel.b_name.empty())
        gone.emplace_back(-kernel.a_ns, names.of(core::to_valid_utf8(kernel.a_name)));
    }
  }
  const std::string first = in_one_side("new", std::move(added));
  const std::string second = in_one_side("gone", std::move(gone));
  return first + (first.empty() || second.empty() ? "" : "; ") + second;
}

/// What is known of how sure the difference is; empty where a side lacks the stage.
std::string shift_text(const compare::compared_stage& stage) {
  const bool has_times =
      stage.in_a && stage.in_b && stage.figures.front().a.has_value() && stage.figures.front().b.has_value();
  if (!has_times) return "";
  if (stage.is_same_run) return "It is the same run.";
  if (!stage.shift) return "Too few repetitions to tell it from noise.";
  if (!stage.shift->may_be_noise()) return "";
  const std::string bounds =
      fmt::format("90 % CI {} to {}", core::format_signed_percent(stage.shift->lower_ratio),
                  core::format_signed_percent(stage.shift->upper_ratio));
  if (stage.shift->may_be_none())
    return fmt::format("Its median may as well be the same ({}): this may be noise.", bounds);
  return fmt::format(
      "Two starts of the same program differ by {:g} %, and it may be no more ({}): this may be noise.",
      100 * compare::start_noise_ratio, bounds);
}

/// "64 tokens in A, 16 in B": what was divided by.
std::string unit_note(const compare::compared_stage& stage) {
  if (stage.per.empty()) return "";
  const double a = stage.per == "token" ? stage.a_unit.repetition : stage.a_unit.trace;
  const double b = stage.per == "token" ? stage.b_unit.repetition : stage.b_unit.trace;
  const std::string counts =
      a == b ? fmt::format("{:.0f}", a) : fmt::format("{:.0f} in A and {:.0f} in B", a, b);
  return stage.per == "token" ? fmt::format("Tokens that it decodes: {}.", counts)
                              : fmt::format("Times that it was traced: {}.", counts);
}

}  // namespace

bool is_one_name(const compare::compared_kernel& kernel) {
  return kernel.a_name == kernel.b_name ||
         core::readable_kernel_name(kernel.a_name) == core::readable_kernel_name(kernel.b_name);
}

bool is_in_place_of_another(const compare::compared_kernel& kernel) {
  return !kernel.a_name.empty() && !kernel.b_name.empty() && !is_one_name(kernel);
}

std::string per_text(const compare::compared_stage& stage) {
  return stage.per.empty() ? "" : " per " + stage.per;
}

json stage_view(const compare::compared_stage& whole, bool other_work,
                const std::filesystem::path& templates_dir) {
  const compare::compared_stage stage = in_units(whole);
  const bool is_judged = !other_work && !may_be_noise(stage);
  const core::short_kernel_names names = names_in(stage);
  double largest_ns = 0;
  for (const compare::compared_kernel& kernel : stage.kernels)
    largest_ns = std::max({largest_ns, kernel.a_ns, kernel.b_ns});
  json kernels = json::array();
  for (const compare::compared_kernel& kernel : stage.kernels) {
    kernels.push_back(kernel_view(kernel, largest_ns, is_judged, names));
    // in a table of categories it goes without saying
    if (stage.by_category && kernel.match == gate::matched_by::category) kernels.back()["matched_by"] = "";
  }
  const waterfall fall = fall_of(stage, is_judged, names);
  json view{{"name", core::to_valid_utf8(stage.name)},
            {"per", stage.per},
            {"unit_note", unit_note(stage)},
            {"only_in_one", only_in_one(stage, names)},
            {"parts", parts_of_difference(stage, names)},
            {"presence", stage.in_a && stage.in_b ? ""
                         : stage.in_a             ? "only in A"
                                                  : "only in B"},
            {"headline", figure_view(stage.figures.front(), other_work, may_be_noise(stage))},
            {"shift", shift_text(stage)},
            {"may_be_noise", may_be_noise(stage)},
            {"figures", figures_view(stage.figures, other_work,
                                     [&](const compare::compared_figure&) { return may_be_noise(stage); })},
            {"by_category", stage.by_category},
            {"by_device", stage.by_device},
            {"kernels", kernels},
            {"kernels_absent_reason", core::to_valid_utf8(stage.kernels_absent_reason)},
            {"kernel_note", kernel_note(stage, fall)},
            {"whole_names", listed_whole_names(stage, names)},
            {"operators", operators_view(stage, is_judged)},
            {"are_calls_unknown", are_calls_unknown(stage)},
            {"a_operator_time", stage.a_operator_time},
            {"b_operator_time", stage.b_operator_time},
            {"picture", ""},
            {"svg", ""}};
  if (!stage.kernels.empty())
    view["svg"] = fill_template_file(drawing_of("", {}, {fall}), templates_dir / "waterfall.svg.inja");
  return view;
}

}  // namespace profgate::render
