#include <fmt/format.h>

#include "core/stage_names.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Where it is worth a word; else null. A model that takes texts of any length meets one that is a token
/// longer than the last by chance, now and then; a loop that decodes has at least a step for each prompt.
const core::steps_without_cache* recomputing_steps(const run_facts& facts) {
  const std::optional<core::steps_without_cache>& seen = facts.bare.without_cache;
  if (!seen || seen->calls < seen->prefill_calls || 2 * seen->calls < seen->decode_calls) return nullptr;
  return &*seen;
}

/// "31 of 31 decode steps were fed 17 to 47 tokens a sequence and no cache: 992 tokens computed for 31".
std::string fed_again_words(const core::steps_without_cache& seen) {
  const std::string lengths = seen.shortest_tokens == seen.longest_tokens
                                  ? std::to_string(seen.longest_tokens)
                                  : fmt::format("{} to {}", seen.shortest_tokens, seen.longest_tokens);
  return fmt::format(
      "{} of {} decode steps were fed {} tokens a sequence and no cache: {} tokens computed for {} new",
      seen.calls, seen.decode_calls, lengths, seen.fed_tokens, seen.calls);
}

}  // namespace

std::optional<std::string> cache_sentence(const run_facts& facts) {
  const core::steps_without_cache* const seen = recomputing_steps(facts);
  if (seen == nullptr) return std::nullopt;
  return fmt::format("It decodes without a KV cache, so each step computes the whole sequence again ({}).",
                     fed_again_words(*seen));
}

void judge_cache(const run_facts& facts, const stage_figures& stage, findings& result) {
  const core::steps_without_cache* const seen = recomputing_steps(facts);
  if (seen == nullptr || stage.bare.name != core::decode_all_stage) return;
  const std::string evidence = fed_again_words(*seen);
  result.takeaways.push_back({stage.bare.name,
                              "It decodes without a KV cache: each step computes the whole sequence again.",
                              evidence});
  const auto unknown = measured<double>::absent("no run of it with a cache was measured");
  recommendation item{stage.bare.name,
                      "Use the KV cache, so that a step computes its one new token: in transformers "
                      "generate() with use_cache=True, or past_key_values of a call passed on to the next; "
                      "in a model of your own keep each layer's keys and values.",
                      evidence,
                      saved_time::all_kernels,
                      unknown,
                      unknown,
                      ""};
  item.comes_first = true;  // the other rows are about work that is not needed
  result.recommendations.push_back(std::move(item));
}

}  // namespace profgate::analysis
