#pragma once

#include <nlohmann/json_fwd.hpp>

/// How reports tell how long and how often a stage ran in the trace: one basis of shares, and the same words,
/// wherever they stand.
namespace profgate::render {

/// What the operators' times of a stage are parts of, and their shares are of: the time on the wall, or where
/// its occurrences overlap (threads, processes, requests) thread time, their sum. `traced`: the stage's.
double host_ns_of(const nlohmann::json& traced);

/// {time, times, by, ran_often, of_it, note}: "202 ms", "24 times", ", by 2 processes", whether it ran more
/// than once, whether work of its devices is a part of that time, and a sentence about overlapping
/// occurrences, which is empty where there are none. Null where the stage was not traced.
nlohmann::json traced_time_texts(const nlohmann::json& stage);

}  // namespace profgate::render
