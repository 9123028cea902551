#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/records.h"
#include "json_cursor.h"

/// Parts of the workload's result that have a shape of their own.
namespace profgate::parsers {

/// By stage.
std::map<std::string, core::stage_telemetry> read_telemetry(const json_cursor& stages);

std::vector<core::graph_map> read_graph_maps(const json_cursor& list);

}  // namespace profgate::parsers
