#pragma once

#include <cstddef>

namespace profgate::collector {

/// Has CUPTI tell the_device_sync of every call that begins or ends the capture of a stream, and of nothing
/// else. False, with the reason in `problem`, where it cannot.
bool watch_stream_captures(char* problem, std::size_t capacity);

}  // namespace profgate::collector
