#pragma once

#include "analysis/counters.h"
#include "analysis/json_object.h"

namespace profgate::analysis {

/// stages[].counters of profile.json.
json stage_counters_json(const stage_counters& counters);

/// `counters` of profile.json: how all of them were taken.
json counter_settings_json(const counter_facts& facts);

}  // namespace profgate::analysis
