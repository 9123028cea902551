// In place of gpu_trace.cpp where the collector was built without CUPTI's headers.
#include "gpu_trace.h"
#include "recording_file.h"

namespace profgate::collector {

void start_gpu_trace() {
  the_recording.describe_gpu(
      gpu_state::failed, 0,
      "the collector was built without CUPTI's headers (configure with a CUDA toolkit)");
}

void flush_gpu_trace() {}

}  // namespace profgate::collector
