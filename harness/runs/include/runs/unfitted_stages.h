#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/records.h"

/// Stages by an expression that no range fitted. A server's recipe names steps that need not occur; where
/// nothing occurs at all, the expression is wrong.
namespace profgate::runs {

/// What a program was seen to do.
struct seen_stages {
  std::set<std::string> timed{};   ///< stages that have a sample
  std::set<std::string> opened{};  ///< stages that a range fits, whether it was closed or not
  /// The names of other ranges, as the program has them. Of very many the first: enough for a message.
  std::set<std::string> ranges{};
};
/// Adds what ranges tell, of a trace whose stages were named.
void add_ranges(const core::timeline& timeline, const config::resolved& config, seen_stages& seen);

/// Whether one has no sample.
bool lacks_stage(const config::resolved& config, const std::set<std::string>& timed);

/// A note for each that an expression describes where another stage has samples. Otherwise bad_input, with
/// the place of the setting and the ranges that there were; step_failure where there was none, or none that
/// fits was closed.
std::vector<std::string> notes_of_unfitted_stages(const config::resolved& config, const seen_stages& seen);

/// "stage 'decode' (range 'step_\d+')"; of a plain stage its name alone.
std::string stage_in_words(const config::resolved& config, const std::string& stage);

}  // namespace profgate::runs
