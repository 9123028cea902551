#pragma once

#include "analysis/counters.h"
#include "analysis/findings.h"
#include "analysis/json_object.h"
#include "analysis/telemetry.h"

/// The larger parts of profile.json, one function each.
namespace profgate::analysis {

json stage_json(const stage_figures& stage);
json throughput_json(const run_facts& facts, const bare_figures& figures);
json ceilings_json(const run_facts& facts, const bare_figures& figures);
json timeline_json(const timeline_figures& figures);
json kernels_json(const timeline_figures& figures);
json regions_json(const run_facts& facts, const timeline_figures& figures);
json findings_json(const findings& findings);

/// A stage's `telemetry`, the same in profile.json and in stage1/metrics.json.
json telemetry_json(const telemetry_figures& figures);

/// stages[].counters of profile.json.
json stage_counters_json(const stage_counters& counters);

/// `counters` of profile.json: how all of them were taken.
json counter_settings_json(const counter_facts& facts);

}  // namespace profgate::analysis
