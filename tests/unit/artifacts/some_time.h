#pragma once

#include "core/utc_time.h"

namespace profgate::artifacts {

inline const core::utc_clock::time_point some_time =
    core::utc_clock::from_time_t(1763171526);  // 2025-11-15T01:52:06Z

}  // namespace profgate::artifacts
