#pragma once

#include <chrono>
#include <string>

namespace profgate::core {

using utc_clock = std::chrono::system_clock;

/// "2026-11-15T01:52:06Z", the form of every time in our JSON.
std::string utc_timestamp(utc_clock::time_point when = utc_clock::now());

/// "20261115-015206", the form in a run id.
std::string utc_compact(utc_clock::time_point when);

}  // namespace profgate::core
