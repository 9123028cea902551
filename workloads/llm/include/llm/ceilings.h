#pragma once

#include <string>

#include "llm/thread_pool.h"

namespace profgate::llm {

/// What a device can do at best, measured in this process.
struct ceilings {
  double flops_per_s = 0;
  double memory_bytes_per_s = 0;
  std::string method;  ///< how both were measured, in words
};

/// Of this machine, with the pool's threads.
ceilings measure_ceilings(thread_pool& pool);

/// Only the second: the best of several passes that sum a buffer far larger than the caches.
double measure_read_bytes_per_s(thread_pool& pool);
}  // namespace profgate::llm
