#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/records.h"

/// Parts of the workload's result that have a shape of their own.
namespace profgate::parsers {

/// By stage.
std::map<std::string, core::stage_telemetry> read_telemetry(const core::json_cursor& stages);

std::vector<core::graph_map> read_graph_maps(const core::json_cursor& list);

}  // namespace profgate::parsers
