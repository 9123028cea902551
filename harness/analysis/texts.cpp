#include "analysis/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "analysis/statistics.h"
#include "core/length_counts.h"
#include "core/stage_names.h"

namespace profgate::analysis {
namespace {

/// Which samples are the first of their process, and warm up.
std::vector<bool> find_warm_up(const std::vector<std::int64_t>& samples_ns,
                               const std::vector<std::uint32_t>& processes) {
  std::map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < samples_ns.size(); ++i) places[processes[i]].push_back(i);
  std::vector<bool> is_cold(samples_ns.size());
  for (const auto& [process, own] : places) {
    std::vector<double> times_ns;
    for (const std::size_t place : own) times_ns.push_back(static_cast<double>(samples_ns[place]));
    const std::size_t cold = cold_samples(*describe(std::move(times_ns), ""));
    for (std::size_t i = 0; i < cold; ++i) is_cold[own[i]] = true;
  }
  return is_cold;
}

template <typename element>
void erase_where(const std::vector<bool>& is_erased, std::vector<element>& elements) {
  std::size_t next = 0;
  std::erase_if(elements, [&](const element&) { return is_erased[next++]; });
}

/// Of the stage's samples.
std::vector<std::uint32_t> processes_of(const bare_facts& facts, const std::string& stage,
                                        std::size_t samples) {
  const auto known = facts.stage_processes.find(stage);
  if (known != facts.stage_processes.end() && known->second.size() == samples) return known->second;
  return std::vector<std::uint32_t>(samples);
}

/// How many of the times of further tokens lie in each sample of decode_all, these in the order of texts: one
/// of each step, or one from each step to the next. Nothing: nobody tells.
std::optional<std::vector<std::int64_t>> tokens_of_samples(const bare_facts& facts,
                                                           const std::vector<std::size_t>& order) {
  if (facts.decode_steps.size() == order.size()) {
    for (const std::int64_t steps_between : {0, 1}) {
      std::vector<std::int64_t> tokens;
      for (const std::size_t sample : order)
        tokens.push_back(std::max<std::int64_t>(facts.decode_steps[sample] - steps_between, 0));
      const auto all = std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0});
      if (all == static_cast<std::int64_t>(facts.further_token_ns.size())) return tokens;
    }
  }
  std::vector<std::int64_t> tokens = tokens_of_texts(facts);
  return tokens.size() == order.size() ? std::optional(std::move(tokens)) : std::nullopt;
}

/// Takes the tokens that samples of decode_all have out of the times of tokens.
void leave_out_tokens(bare_facts& facts, const std::vector<bool>& is_left_out) {
  const std::vector<std::size_t> order =
      in_order_of_texts(processes_of(facts, core::decode_all_stage, is_left_out.size()));
  const std::optional<std::vector<std::int64_t>> tokens = tokens_of_samples(facts, order);
  if (!tokens) return;
  std::vector<bool> is_token_left_out;
  facts.further_tokens.clear();
  for (std::size_t text = 0; text < order.size(); ++text) {
    const bool is_out = is_left_out[order[text]];
    is_token_left_out.insert(is_token_left_out.end(), static_cast<std::size_t>((*tokens)[text]), is_out);
    if (!is_out && (*tokens)[text] > 0) facts.further_tokens.push_back((*tokens)[text]);
  }
  erase_where(is_token_left_out, facts.further_token_ns);
}

/// With what is known of each of them.
void leave_out_samples(bare_facts& facts, const std::string& stage, const std::vector<bool>& is_left_out) {
  if (stage == core::decode_all_stage) {
    leave_out_tokens(facts, is_left_out);
    if (facts.decode_steps.size() == is_left_out.size()) erase_where(is_left_out, facts.decode_steps);
  }
  const auto processes = facts.stage_processes.find(stage);
  if (processes != facts.stage_processes.end() && processes->second.size() == is_left_out.size())
    erase_where(is_left_out, processes->second);
  erase_where(is_left_out, facts.stage_samples_ns.at(stage));
}

}  // namespace

std::vector<std::size_t> in_order_of_texts(const std::vector<std::uint32_t>& processes) {
  std::vector<std::size_t> order(processes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return processes[a] < processes[b]; });
  return order;
}

std::vector<std::int64_t> tokens_of_texts(const bare_facts& facts) {
  const std::size_t tokens = facts.further_token_ns.size();
  for (const std::vector<std::int64_t>& counts : {facts.further_tokens, facts.decode_steps}) {
    const double told = std::accumulate(counts.begin(), counts.end(), 0.0);
    if (told > 0 && told == static_cast<double>(tokens)) return counts;
  }
  const auto decoded = facts.stage_samples_ns.find(core::decode_all_stage);
  const std::size_t texts = decoded == facts.stage_samples_ns.end() ? 1 : decoded->second.size();
  if (texts == 0 || tokens % texts != 0) return {static_cast<std::int64_t>(tokens)};
  return std::vector<std::int64_t>(texts, static_cast<std::int64_t>(tokens / texts));
}

void leave_out_warm_up(bare_facts& facts) {
  std::vector<std::uint32_t> processes =
      processes_of(facts, core::prefill_stage, facts.first_token_ns.size());
  std::sort(processes.begin(), processes.end());  // as texts are
  erase_where(find_warm_up(facts.first_token_ns, processes), facts.first_token_ns);
  for (const auto& [stage, samples_ns] : facts.stage_samples_ns) {
    processes = processes_of(facts, stage, samples_ns.size());
    const std::vector<bool> is_cold = find_warm_up(samples_ns, processes);
    std::map<std::uint32_t, std::vector<std::int64_t>> cold_ns;
    for (std::size_t i = 0; i < samples_ns.size(); ++i)
      if (is_cold[i]) cold_ns[processes[i]].push_back(samples_ns[i]);
    for (auto& [process, own] : cold_ns) facts.warm_up_ns[stage].push_back(std::move(own));
    if (!cold_ns.empty()) leave_out_samples(facts, stage, is_cold);
  }
}

void leave_out_other_lengths(bare_facts& facts) {
  const auto decoded = facts.stage_samples_ns.find(core::decode_all_stage);
  if (decoded == facts.stage_samples_ns.end() || decoded->second.size() != facts.decode_steps.size()) return;
  core::length_counts texts;
  for (const std::int64_t steps : facts.decode_steps) texts.add(steps);
  const std::optional<std::int64_t> usual = texts.of_most();
  if (!usual || texts.texts_of(*usual) == texts.texts()) return;
  std::vector<bool> is_other;
  for (const std::int64_t steps : facts.decode_steps) is_other.push_back(steps != *usual);
  leave_out_samples(facts, core::decode_all_stage, is_other);
  const core::length_counts others = texts.without(*usual);
  facts.other_lengths = fmt::format("{} of its {} texts {} {} decode step{}, the others {}", others.texts(),
                                    texts.texts(), others.texts() == 1 ? "has" : "have", others.range(),
                                    others.longest() == 1 ? "" : "s", *usual);
}

}  // namespace profgate::analysis
