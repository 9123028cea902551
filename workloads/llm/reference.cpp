#include "llm/reference.h"

#include <algorithm>
#include <cmath>

#include "llm/failure.h"
#include "llm/json_file.h"
#include "llm/synthetic_weights.h"

namespace profgate::llm {
namespace {

using nlohmann::json;

json find_entry(const std::string& file, const std::string& name) {
  json document = read_json_file(file);
  if (document.is_object()) {
    if (document.contains(name)) return document.at(name);
    if (document.contains("last_logits")) return document;
  }
  throw bad_input(file + ": no reference '" + name + "'",
                  "set model.reference to an entry of the file, or leave it out");
}

std::vector<reference::known_logit> read_logits(const json& entry) {
  std::vector<reference::known_logit> logits;
  if (entry.contains("last_logits")) {
    for (const auto value : entry.at("last_logits").get<std::vector<float>>())
      logits.push_back({logits.size(), value});
    return logits;
  }
  const auto first = entry.at("last_first16").get<std::vector<float>>();
  for (std::size_t token = 0; token < first.size(); ++token) logits.push_back({token, first[token]});
  const auto top_ids = entry.at("last_top16_ids").get<std::vector<std::size_t>>();
  const auto top = entry.at("last_top16").get<std::vector<float>>();
  for (std::size_t i = 0; i < top_ids.size(); ++i) logits.push_back({top_ids[i], top.at(i)});
  return logits;
}

}  // namespace

reference read_reference(const std::string& file, const std::string& name, std::int64_t vocab_size) {
  const json entry = find_entry(file, name);
  reference result;
  result.name = name;
  try {
    result.prompt = entry.contains("input_ids")
                        ? entry.at("input_ids").get<std::vector<token_id>>()
                        : synthetic_tokens(entry.at("prompt_tag").get<std::string>(),
                                           entry.at("prompt_len").get<std::int64_t>(), vocab_size);
    result.greedy = entry.at("greedy").get<std::vector<token_id>>();
    result.last_logits = read_logits(entry);
  } catch (const std::exception& error) {  // of the JSON library, or a list shorter than its ids
    throw bad_input(file + ": reference '" + name + "' is incomplete: " + error.what(), "correct the file");
  }
  if (result.prompt.empty() || result.greedy.empty() || result.last_logits.empty())
    throw bad_input(file + ": reference '" + name + "' has no prompt, no tokens or no logits",
                    "correct the file");
  const bool of_this_vocabulary =
      std::all_of(result.last_logits.begin(), result.last_logits.end(),
                  [&](const auto& logit) { return logit.token < static_cast<std::size_t>(vocab_size); });
  if (!of_this_vocabulary)
    throw bad_input(file + ": reference '" + name + "' is of a model with a larger vocabulary",
                    "set model.reference to an entry of this model");
  return result;
}

double relative_distance(std::span<const float> logits, const reference& expected) {
  double difference = 0;
  double norm = 0;
  for (const auto& [token, value] : expected.last_logits) {
    difference += std::pow(double{logits[token]} - double{value}, 2);
    norm += std::pow(double{value}, 2);
  }
  return std::sqrt(difference / norm);
}

double check_against(decoder& engine, const reference& expected) {
  const std::string title = "reference '" + expected.name + "': ";
  const std::string remedy =
      "nothing was timed: the engine computes something else than the reference; check the "
      "model's shape, weights and the build";
  engine.reset();
  auto logits = engine.prefill(expected.prompt);
  const double distance = relative_distance(logits, expected);
  // Negated so that a NaN fails too.
  if (!(distance <= largest_reference_distance))
    throw judged_bad(title + "the logits are " + std::to_string(distance) + " away, allowed is " +
                         std::to_string(largest_reference_distance) + " (relative)",
                     remedy);
  for (std::size_t i = 0; i < expected.greedy.size(); ++i) {
    const token_id token = argmax(logits);
    if (token != expected.greedy[i])
      throw judged_bad(title + "greedy token " + std::to_string(i) + " is " + std::to_string(token) +
                           ", not " + std::to_string(expected.greedy[i]),
                       remedy);
    if (i + 1 < expected.greedy.size()) logits = engine.decode_step(token);
  }
  engine.reset();
  return distance;
}

}  // namespace profgate::llm
