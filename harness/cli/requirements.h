#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "doctor_checks.h"

/// What must be there for a run to count: PROFGATE_REQUIRE=gpu,nsys. A machine that is there to measure must
/// not pass by skipping everything.
namespace profgate::cli {

inline constexpr const char* require_gpu_word = "gpu";
inline constexpr const char* require_nsys_word = "nsys";
inline constexpr const char* require_ncu_word = "ncu";
inline constexpr const char* require_baseline_word = "baseline";

/// The words of "gpu,nsys"; bad_input, naming `source`, for one that is none of `known`.
std::set<std::string> parse_requirements(std::string_view words, const std::string& source,
                                         const std::vector<std::string>& known);

/// Those of PROFGATE_REQUIRE.
std::set<std::string> required_here();

/// For what this machine lacks: not_possible, a skip; step_failure where PROFGATE_REQUIRE names `word`.
[[noreturn]] void skip_unless_required(const std::string& word, const std::string& what_is_missing,
                                       const std::string& remedy);

/// The checks of the doctor that `words` require and that are not good: "gpu: no NVIDIA driver is loaded".
std::vector<std::string> unmet(const std::set<std::string>& words, const std::vector<check>& checks);

}  // namespace profgate::cli
