#pragma once

namespace profgate::collector {

/// Starts the recording of the GPU's activity, once a process; the file's header says how that went.
///
/// CUPTI is enabled from here on to the end of the process, also with a capture range, and what lies outside
/// of it is dropped by the thread that writes: enabled only when a stage range opens, CUPTI would allocate
/// its device buffers and prepare the loaded modules inside of the stage, and graphs instantiated before
/// would have been built without it. The price is a slower warm-up, which nobody measures.
void start_gpu_trace();

/// Has CUPTI deliver what is complete and waits, at most a second, until it is in the file. Costs nothing
/// where nothing is recorded.
void flush_gpu_trace();

}  // namespace profgate::collector
