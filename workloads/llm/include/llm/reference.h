#pragma once

#include <cstdint>
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

/// ||a - b|| / ||b|| over the logits that the reference knows.
double relative_distance(std::span<const float> logits, const reference& expected);

/// Runs the reference's prompt and returns the distance of its logits. Throws judged_bad where it is above
/// largest_reference_distance or a greedy token differs. Leaves the decoder reset.
double check_against(decoder& engine, const reference& expected);

constexpr double largest_reference_distance = 1e-3;

}  // namespace profgate::llm
