// In place of gpu_trace.cpp and stream_captures.cpp where the collector was built without CUPTI's headers.
#include <cstdio>

#include "gpu_trace.h"
#include "recording_file.h"
#include "stream_captures.h"

namespace profgate::collector {
namespace {

constexpr const char* reason =
    "the collector was built without CUPTI's headers (configure with a CUDA toolkit)";

}  // namespace

void start_gpu_trace() {
  the_recording.describe_gpu(gpu_state::failed, 0, reason);
}

void flush_gpu_trace() {}

bool watch_stream_captures(char* problem, std::size_t capacity) {
  std::snprintf(problem, capacity, "%s", reason);
  return false;
}

}  // namespace profgate::collector
