#pragma once

#include <cstdint>

namespace profgate::render {

/// Whole, as recorded times are; a judgement's fractions of them become doubles.
inline constexpr std::int64_t us = 1'000;
inline constexpr std::int64_t ms = 1'000'000;

}  // namespace profgate::render
