#pragma once

#include "artifacts/utc_time.h"

namespace profgate::artifacts {

inline const utc_clock::time_point some_time = utc_clock::from_time_t(1763171526);  // 2025-11-15T01:52:06Z

}  // namespace profgate::artifacts
