#include "llm/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

double cosine(std::span<const float> logits, const reference& expected) {
  double product = 0;
  double norm = 0;
  double expected_norm = 0;
  for (const auto& [token, value] : expected.last_logits) {
    product += double{logits[token]} * double{value};
    norm += std::pow(double{logits[token]}, 2);
    expected_norm += std::pow(double{value}, 2);
  }
  return product / std::sqrt(norm * expected_norm);
}

agreement required_agreement(const std::string& dtype, bool has_experts) {
  if (dtype == "float32") return {1e-3, 0.999, true};
  return {std::numeric_limits<double>::infinity(), has_experts ? 0.99 : 0.998, false};
}

void require_finite(std::span<const float> logits, const std::optional<std::string>& checkpoint) {
  const auto undefined =
      std::find_if(logits.begin(), logits.end(), [](float logit) { return !std::isfinite(logit); });
  if (undefined == logits.end()) return;
  const std::string found = "logit " + std::to_string(undefined - logits.begin()) + " of " +
                            std::to_string(logits.size()) + " is " + std::to_string(*undefined);
  if (!checkpoint)
    throw judged_bad(found + ": the engine computes no numbers from synthetic weights",
                     "report it with config.yaml; this is not expected");
  throw bad_input(
      *checkpoint + ": " + found + ": its weights hold NaN or infinity, or overflow in " + "the computation",
      "fetch the checkpoint again, or use the one it was made from");
}

reference_match check_against(decoder& engine, const reference& expected, const agreement& required,
                              const std::optional<std::string>& checkpoint) {
  const std::string title = "reference '" + expected.name + "': ";
  const std::string remedy =
      "nothing was timed: the engine computes something else than the reference; check the "
      "model's shape, weights and the build";
  const auto batch = static_cast<std::size_t>(engine.batch());
  std::vector<token_id> prompts;
  for (std::size_t sequence = 0; sequence < batch; ++sequence)
    prompts.insert(prompts.end(), expected.prompt.begin(), expected.prompt.end());
  engine.reset();
  engine.prefill(prompts);
  engine.finish();

  const auto logits = engine.logits();
  require_finite(logits, checkpoint);
  reference_match match{expected.name, 0, 1};
  for (std::size_t sequence = 0; sequence < batch; ++sequence) {
    const auto of_sequence = logits.subspan(sequence * (logits.size() / batch), logits.size() / batch);
    const double distance = relative_distance(of_sequence, expected);
    const double angle_cosine = cosine(of_sequence, expected);
    match.distance = std::fmax(match.distance, distance);
    match.cosine = std::fmin(match.cosine, angle_cosine);
    // Negated so that a NaN fails too: a reference may hold some.
    if (!(distance <= required.largest_distance))
      throw judged_bad(title + "the logits are " + std::to_string(match.distance) + " away, allowed is " +
                           std::to_string(required.largest_distance) + " (relative)",
                       remedy);
    if (!(angle_cosine >= required.least_cosine))
      throw judged_bad(title + "the logits' cosine is " + std::to_string(match.cosine) +
                           ", required is at least " + std::to_string(required.least_cosine),
                       remedy);
  }
  for (std::size_t step = 1; step < expected.greedy.size(); ++step) engine.decode_step();
  engine.finish();
  const auto choices = engine.choices();
  for (std::size_t i = 0; required.same_tokens && i < choices.size(); ++i)
    if (choices[i] != expected.greedy[i / batch])
      throw judged_bad(title + "greedy token " + std::to_string(i / batch) + " is " +
                           std::to_string(choices[i]) + ", not " + std::to_string(expected.greedy[i / batch]),
                       remedy);
  engine.reset();
  return match;
}

}  // namespace profgate::llm
