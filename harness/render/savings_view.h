#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// Puts into words what recommendations save: into each `most_saved` ("10.4 ms (163 µs a token), 23 % of the
/// whole"; empty: nothing, or not known) and `saving_note` (why it is not known, or that other rows hold it,
/// too; empty: none), and into the findings `savings_sum`, whether rows add up.
void put_savings(nlohmann::json& profile);

}  // namespace profgate::render
