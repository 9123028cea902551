#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// What keeps a reader from dividing energies by times that are not theirs, a sentence each: energy is
/// measured in repetitions without a pause, which meet the power limit and take longer than timed ones.
nlohmann::json energy_notes(const nlohmann::json& profile);

}  // namespace profgate::render
