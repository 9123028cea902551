#pragma once

#include <string>
#include <string_view>

#include "gate/judgement.h"

/// verdict.json: a judgement for programs, and for whoever shows it again later. VERDICT.md lists its fields.
namespace profgate::render {

inline constexpr std::string_view verdict_schema_version = "1.1";

/// The same judgement gives the same bytes.
std::string verdict_json(gate::judgement whole);

/// What verdict_json() was given. Throws core::bad_input with the place of the first fault; `file` is the
/// name that errors carry.
gate::judgement read_verdict(std::string_view text, const std::string& file);

}  // namespace profgate::render
