#pragma once

#include <string>

#include "gate/attribution.h"

/// Differences and their causes in words, as tables and pictures show them.
namespace profgate::render {

/// "slower: 5.10 → 6.30 µs a launch, 28 launches": a cause without its size and name.
std::string detail_of(const gate::cause& cause);

/// "kernels slower", "more idle", …: what a table groups causes by.
std::string group_of(const gate::cause& cause);

/// "36.95 ms": a digit more than core's, for two times that are nearly the same.
std::string precise_duration(double duration_ns);

/// "+3.21 ms", "−12.3 µs" with a true minus sign.
std::string signed_duration(double delta_ns);

}  // namespace profgate::render
