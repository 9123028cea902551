#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare/profile_comparison.h"

/// Figures of two sides as rows and bars.
namespace profgate::render {

/// "+5.1 %", or "×6.9" and "÷130" where percent are hard to read; neither where a side is not above zero.
std::string change_text(double a, double b);

/// "better", "worse" or "plain".
const char* change_tone(analysis::better which, double change);

/// Nothing is called better or worse where the work is another, nor what may be noise, unless it is exact:
/// counts and sizes are the same in every repetition.
nlohmann::json figure_view(const compare::compared_figure& figure, bool other_work, bool may_be_noise);

/// Rows that differ, those that are the same, and why the others are empty.
nlohmann::json figures_view(const std::vector<compare::compared_figure>& figures, bool other_work,
                            const std::function<bool(const compare::compared_figure&)>& may_be_noise);

/// Whether a stage's times may as well not have shifted, or nobody knows: one rule for all that was measured
/// of it, its kernels and operators included, which are of a single trace.
bool may_be_noise(const compare::compared_stage& stage);

}  // namespace profgate::render
