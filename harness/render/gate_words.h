#pragma once

#include <array>
#include <string_view>

#include "gate/judgement.h"

/// The words that verdict.json uses for the gate's enumerations.
namespace profgate::render {

template <class Value>
struct word {
  Value value;
  std::string_view text;
};

inline constexpr std::array<word<gate::cause_kind>, 6> cause_kind_words{{
    {gate::cause_kind::duration, "duration"},
    {gate::cause_kind::launches, "launches"},
    {gate::cause_kind::new_operation, "new"},
    {gate::cause_kind::gone_operation, "gone"},
    {gate::cause_kind::replaced, "replaced"},
    {gate::cause_kind::idle, "idle"},
}};

inline constexpr std::array<word<gate::matched_by>, 5> matched_by_words{{
    {gate::matched_by::nothing, "nothing"},
    {gate::matched_by::exact_name, "exact name"},
    {gate::matched_by::normalised_name, "normalised name"},
    {gate::matched_by::launch_order, "launch order"},
    {gate::matched_by::category, "category"},
}};

inline constexpr std::array<word<gate::exact_kind>, 13> exact_kind_words{{
    {gate::exact_kind::new_kernel, "new kernel"},
    {gate::exact_kind::gone_kernel, "gone kernel"},
    {gate::exact_kind::launches, "launches"},
    {gate::exact_kind::launches_per_token, "launches a token"},
    {gate::exact_kind::graph_nodes, "graph nodes"},
    {gate::exact_kind::graph_copies, "graph copies"},
    {gate::exact_kind::moved, "moved"},
    {gate::exact_kind::launch_configuration, "launch configuration"},
    {gate::exact_kind::operation_launches, "launches of one"},
    {gate::exact_kind::machine_code, "machine code"},
    {gate::exact_kind::copied_bytes, "copied bytes"},
    {gate::exact_kind::synchronisations, "synchronisations"},
    {gate::exact_kind::routing, "routing"},
}};

template <class Words, class Value>
std::string_view text_of(const Words& words, Value value) {
  for (const auto& entry : words) {
    if (entry.value == value) return entry.text;
  }
  return words.front().text;
}

}  // namespace profgate::render
