#include "comparison_labels.h"

#include <fmt/format.h>

#include <map>

#include "analysis/facts.h"

namespace profgate::compare {
namespace {

std::string fact_of(const compared_side& side, const std::string& name) {
  const auto found = side.facts.find(name);
  return found == side.facts.end() ? std::string() : found->second;
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
