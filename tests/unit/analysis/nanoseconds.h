#pragma once

#include <cstdint>

namespace profgate::analysis {

inline constexpr std::int64_t ms = 1'000'000;

}  // namespace profgate::analysis
