#pragma once

#include "analysis/findings.h"
#include "analysis/json_object.h"

/// The larger parts of profile.json, one function each.
namespace profgate::analysis {

json throughput_json(const run_facts& facts, const bare_figures& figures);
json workload_inputs_json(const bare_figures& figures);
json ceilings_json(const run_facts& facts, const bare_figures& figures);
json timeline_json(const run_facts& facts, const timeline_figures& figures);
json kernels_json(const run_facts& facts, const timeline_figures& figures);
json regions_json(const run_facts& facts, const timeline_figures& figures);
json findings_json(const findings& findings);

}  // namespace profgate::analysis
