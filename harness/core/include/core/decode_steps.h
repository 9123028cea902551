#pragma once

#include <cstdint>

namespace profgate::core {

/// Decode steps that were fed their whole sequence again, since the program keeps no KV cache.
struct steps_without_cache {
  std::int64_t calls = 0;
  std::int64_t decode_calls = 0;  ///< with a cache or without
  std::int64_t prefill_calls = 0;
  std::int64_t fed_tokens = 0;  ///< of a sequence, summed over the calls
  std::int64_t shortest_tokens = 0;
  std::int64_t longest_tokens = 0;
};

}  // namespace profgate::core
