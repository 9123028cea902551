#pragma once

#include <chrono>
#include <cstdint>

namespace profgate::llm {

/// Runs from its construction.
class stopwatch {
 public:
  std::int64_t elapsed_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - m_start).count();
  }
  double elapsed_s() const { return static_cast<double>(elapsed_ns()) * 1e-9; }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point m_start = clock::now();
};

}  // namespace profgate::llm
