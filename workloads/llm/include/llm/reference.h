#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "llm/decoder.h"

namespace profgate::llm {

/// What another implementation computed for a prompt on the same weights.
struct reference {
  struct known_logit {
    std::size_t token = 0;
    float value = 0;
  };

  std::string name;
  std::vector<token_id> prompt;
  std::vector<token_id> greedy;
  std::vector<known_logit> last_logits;  ///< all of the last position's, or a chosen few
};

/// The entry `name` of a JSON file, or the file itself where it is one entry (a checkpoint's reference.json).
/// An entry has input_ids or (prompt_tag, prompt_len); last_logits or (last_top16_ids, last_top16,
/// last_first16); and greedy. Throws bad_input naming what is missing.
reference read_reference(const std::string& file, const std::string& name, std::int64_t vocab_size);

/// How near an engine must come to a reference that was computed in float32.
struct agreement {
  double largest_distance = 0;  ///< relative_distance() of the logits
  double least_cosine = 0;
  bool same_tokens = false;
};

/// float32 must reproduce the reference. bfloat16 rounds every activation: its logits point the same way,
/// with experts a little less so, since their choice may flip at near-ties.
agreement required_agreement(const std::string& dtype, bool has_experts);

/// How near it came; of a batch, the farthest sequence.
struct reference_match {
  std::string name;
  double distance = 0;
  double cosine = 0;
};

/// Throws where a logit is NaN or infinite: such logits hash and repeat as well as any. Of a checkpoint it is
/// bad input, which names it; of synthetic weights (nothing) the engine is at fault.
void require_finite(std::span<const float> logits, const std::optional<std::string>& checkpoint);

/// ||a - b|| / ||b|| over the logits that the reference knows.
double relative_distance(std::span<const float> logits, const reference& expected);
/// a . b / (||a|| ||b||) over the same.
double cosine(std::span<const float> logits, const reference& expected);

/// Runs the reference's prompt in every sequence of the engine. Throws judged_bad where one of them does not
/// agree as required, and as require_finite() does. Leaves the decoder reset.
reference_match check_against(decoder& engine, const reference& expected, const agreement& required,
                              const std::optional<std::string>& checkpoint = std::nullopt);

}  // namespace profgate::llm
