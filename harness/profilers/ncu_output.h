#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What ncu says on its output, in words that its exit code does not have.
namespace profgate::profilers {

/// The driver keeps the counters to administrators.
bool says_counters_denied(std::string_view output);

/// "'--section NoSuchSection'": of an option that matched nothing; empty: none.
std::string unmatched_option(std::string_view output);

/// The first thing that ncu calls an error, without its mark; empty: none.
std::string first_error(std::string_view output);

bool says_nothing_profiled(std::string_view output);

/// Why nothing was profiled: the filter by NVTX range, or by kernel, with the kernels that there were.
std::string why_nothing_profiled(std::string_view output);

}  // namespace profgate::profilers
