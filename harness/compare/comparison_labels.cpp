#include "comparison_labels.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "analysis/facts.h"

namespace profgate::compare {
namespace {

std::string fact_of(const compared_side& side, const std::string& name) {
  const auto found = side.facts.find(name);
  return found == side.facts.end() ? std::string() : found->second;
}

/// Of the GPU that it ran on; empty: not known.
std::string uuid_of(const compared_side& side) {
  const std::string uuid = fact_of(side, "gpu.0.uuid");
  return uuid.starts_with("not ") ? "" : uuid;
}

struct clock_pair {
  double a_mhz = 0;
  double b_mhz = 0;
  std::string where{};  ///< " in decode_all"; of a run set empty: it is that of whole processes

  double change_ratio() const { return b_mhz / a_mhz - 1; }
};

/// The SM clocks that differ most; nothing where they are the same within what the gate lets pass.
std::optional<clock_pair> other_clocks(const compared_side& a, const compared_side& b) {
  constexpr double most_difference_ratio = 0.01;
  std::optional<clock_pair> found;
  const auto look_at = [&](double a_mhz, double b_mhz, const std::string& where) {
    if (a_mhz <= 0 || b_mhz <= 0) return;
    const clock_pair clocks{a_mhz, b_mhz, where};
    const double least = found ? std::abs(found->change_ratio()) : most_difference_ratio;
    if (std::abs(clocks.change_ratio()) > least) found = clocks;
  };
  const auto number = [](const std::string& text) { return std::strtod(text.c_str(), nullptr); };
  const char* const of_processes = "processes.sm_clock_median_mhz";
  look_at(number(fact_of(a, of_processes)), number(fact_of(b, of_processes)), "");
  const std::string key = "/telemetry/sm_clock_median_mhz";
  for (const side_stage& stage : a.stages) {
    for (const side_stage& other : b.stages) {
      if (other.name != stage.name || !stage.figures.contains(key) || !other.figures.contains(key)) continue;
      look_at(stage.figures.at(key).value_or(0), other.figures.at(key).value_or(0), " in " + stage.name);
    }
  }
  return found;
}

/// The same kind of machine, and yet another.
void add_machine_labels(const profile_comparison& result, std::vector<std::string>& labels) {
  const std::string uuid_a = uuid_of(result.a);
  const std::string uuid_b = uuid_of(result.b);
  if (!uuid_a.empty() && !uuid_b.empty() && uuid_a != uuid_b)
    labels.push_back(
        fmt::format("Two GPUs of one kind, {} and {}: no two are equally fast.", uuid_a, uuid_b));
  if (result.is_other_work) return;  // which can be what the clock follows
  if (const std::optional<clock_pair> clocks = other_clocks(result.a, result.b))
    labels.push_back(fmt::format(
        "Another SM clock{}: {:.0f} MHz in A and {:.0f} MHz in B, {}{:.1f} %.", clocks->where, clocks->a_mhz,
        clocks->b_mhz, clocks->change_ratio() < 0 ? "−" : "+", 100 * std::abs(clocks->change_ratio())));
}

}  // namespace

void compare_facts(const compared_side& a, const compared_side& b, profile_comparison& result) {
  const auto find = [](const compared_side& side, const std::string& name) {
    const auto found = side.facts.find(name);
    return found == side.facts.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  std::map<std::string, bool> names;
  for (const compared_side* side : {&a, &b})
    for (const auto& [name, value] : side->facts) names[name] = true;
  for (const auto& [name, present] : names) {
    const std::optional<std::string> of_a = find(a, name);
    const std::optional<std::string> of_b = find(b, name);
    if (of_a == of_b) {
      result.same.emplace_back(name, *of_a);
    } else {
      result.differs.push_back({name, of_a, of_b});
    }
  }
}

std::string other_work_text(const profile_comparison& result) {
  std::string text;
  for (const differing_fact& fact : result.differs) {
    const bool is_work = fact.name.starts_with("input.") || fact.name == "model.dtype" ||
                         fact.name == "model.weights" || fact.name.starts_with("model.dims.");
    if (!is_work || !fact.a || !fact.b) continue;
    const std::string name = fact.name.substr(fact.name.rfind('.') + 1);
    text += fmt::format("{}{} {} and {}", text.empty() ? "" : ", ", name, *fact.a, *fact.b);
  }
  return text;
}

void name_peaks(profile_comparison& result) {
  const std::optional<bool>& of_a = result.a.are_peaks_configured;
  const std::optional<bool>& of_b = result.b.are_peaks_configured;
  if (!of_a && !of_b) return;
  const auto word = [](bool are_configured) {
    return fmt::format("{} peak", analysis::whose_peaks(are_configured));
  };
  const std::string words = !of_a || !of_b || *of_a == *of_b
                                ? word(of_a ? *of_a : *of_b)
                                : fmt::format("{} of A, {} of B", word(*of_a), word(*of_b));
  const std::string default_words = word(false);
  const auto name_in = [&](std::vector<compared_figure>& figures) {
    for (compared_figure& figure : figures) {
      std::string& label = figure.what.shown.label;
      if (figure.what.key.ends_with("_over_vendor_ratio") && label.ends_with(default_words))
        label.replace(label.size() - default_words.size(), default_words.size(), words);
    }
  };
  name_in(result.figures);
  for (compared_stage& stage : result.stages) name_in(stage.figures);
}

std::vector<std::string> labels_of(const profile_comparison& result) {
  const compared_side& a = result.a;
  const compared_side& b = result.b;
  std::vector<std::string> labels;
  if (result.is_same_run) labels.emplace_back("A and B are the same run.");
  if (!result.is_cross_device) add_machine_labels(result, labels);
  if (result.is_cross_device) {
    labels.push_back(
        fmt::format("Two devices, {} and {}: differences are the machines' as much as the "
                    "programs'. No gate would compare them.",
                    a.device_name, b.device_name));
  }
  if (result.is_cross_model) {
    labels.push_back(fmt::format(
        "Two models, {} and {}: kernels are set side by side by category, not by name.", a.model, b.model));
  } else if (a.config != b.config) {
    labels.push_back(fmt::format("Two configurations, {} and {}: they do other work.", a.config, b.config));
  }
  if (!result.is_cross_model) {
    if (const std::string text = other_work_text(result); !text.empty())
      labels.push_back(fmt::format("Other work: {}.", text));
  }
  const std::string tool_a = fact_of(a, "timeline.tool");
  const std::string tool_b = fact_of(b, "timeline.tool");
  if (!tool_a.empty() && !tool_b.empty() && tool_a != tool_b) {
    labels.push_back(fmt::format(
        "A was traced by {}, B by {}: kernels are alike, gaps and host times are not.", tool_a, tool_b));
  }
  for (const compared_side* side : {&a, &b}) {
    if (fact_of(*side, "git.dirty") == "true") {
      labels.push_back(fmt::format("{} was built from a changed checkout: it is not what its commit says.",
                                   side == &a ? "A" : "B"));
    }
  }
  for (const compared_side* side : {&a, &b})
    for (const std::string& problem : side->problems)
      labels.push_back(fmt::format("The trace of {} is not whole: {}.", side == &a ? "A" : "B", problem));
  return labels;
}

}  // namespace profgate::compare
