#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace profgate::llm {

/// Zeroed memory for large arrays, on huge pages where the system has them: a decode step walks through
/// gigabytes, and with 4 KiB pages address translation becomes part of the measurement.
class float_arena {
 public:
  float_arena() = default;
  float_arena(const float_arena&) = delete;
  float_arena& operator=(const float_arena&) = delete;
  ~float_arena();

  /// count floats, aligned to a cache line, valid as long as the arena. Throws not_possible without memory.
  std::span<float> take(std::size_t count);

 private:
  struct block {
    void* memory;
    std::size_t bytes;
  };
  std::vector<block> m_blocks;
  std::span<float> m_rest;  ///< unused end of the newest block
};

}  // namespace profgate::llm
