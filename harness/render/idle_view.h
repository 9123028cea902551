#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

/// How reports tell what a stage's device was busy and idle: the same words wherever they stand.
namespace profgate::render {

/// CSS lengths: three digits are finer than any screen.
std::string css_percent(double ratio);

/// {time, share, notes}: "1.19 ms" and "2.8 %"; "< 506 µs" and "< 1.6 %" where only the traced gaps bound it;
/// empty_cell where nothing does. The notes are sentences that begin in the middle, after the stage's name.
nlohmann::json idle_texts(const nlohmann::json& stage);

/// Busy, idle by cause, and what the trace does not explain, of one repetition of the bare stage, told by the
/// token where it decodes `tokens`; null where it is not known.
nlohmann::json split_of(const nlohmann::json& stage, double tokens);

/// Whose time the split is: ", a token", ", in the trace, mean of 40".
std::string split_source_of(const nlohmann::json& stage, double tokens);

}  // namespace profgate::render
