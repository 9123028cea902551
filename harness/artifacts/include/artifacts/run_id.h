#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "artifacts/utc_time.h"

namespace profgate::artifacts {

/// Checks that `pair` is <model>.<config> of letters, digits and ._+- that is safe in a path and in a test
/// name; bad_input otherwise.
void require_valid_pair(std::string_view pair);

/// "20261115-015206-llama-tiny.smoke"; the second run of one second gets "-2".
std::string make_run_id(std::string_view pair, utc_clock::time_point when, int ordinal);

/// What the name of a run directory says without looking into it.
struct run_id_parts {
  std::string time;  ///< "20261115-015206", UTC; sorts as text
  std::string rest;  ///< the pair, and "-2" where it was not the first of its second
};

/// Nothing where `name` is not a run id.
std::optional<run_id_parts> parse_run_id(std::string_view name);

}  // namespace profgate::artifacts
