#pragma once

#include "llm/thread_pool.h"

namespace profgate::llm {

/// What this machine can do at best with the pool's threads, measured now.
struct ceilings {
  double flops_per_s = 0;
  double read_bytes_per_s = 0;
};

ceilings measure_ceilings(thread_pool& pool);

/// Only the second: the best of several passes that sum a buffer far larger than the caches.
double measure_read_bytes_per_s(thread_pool& pool);

constexpr const char* ceilings_method =
    "best of 8 passes over all threads: sum of a 512 MiB float32 buffer; register-resident float32 "
    "multiply-adds";

}  // namespace profgate::llm
