#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// What tables show of counted kernels beside their fields: `counter_columns`, those that the kernels'
/// descriptions ask for; `counter_keys`, all whose absence is explained; and in each stage's counters
/// `listed`, the kernels of report.md: the largest, and all that a recommendation names, so that whoever
/// follows one finds its figures; `are_all_counted_listed`, whether it leaves none out.
void put_counter_tables(nlohmann::json& profile);

}  // namespace profgate::render
