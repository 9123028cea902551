#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What goes wrong in files that people write, for errors that say what was meant.
namespace profgate::core {

/// The candidate a person most likely meant by `word`, or nothing if none is close (edit distance at most a
/// third of the longer word's length, and at least one edit is always forgiven).
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// What there is instead of what was asked for, the first few: "compute, load, …".
std::string first_few(const std::vector<std::string>& names);

/// Whether a line of a file that people merge was left by git: "<<<<<<< HEAD", "=======", …
bool is_merge_marker(std::string_view line);

}  // namespace profgate::core
