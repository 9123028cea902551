#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace profgate::bench {

enum class trace_kind {
  eager,  ///< a range, a call and a kernel an operator
  graph,  ///< a call a step: the kernels are a CUDA graph's nodes, and the file has little else
};

/// Writes a database as nsys 2025.3 exports it (all columns of the tables that matter), of a decode by a
/// model of 32 layers: a range around each step, one synchronisation a step; the prefill is eager always.
/// `kernels` is rounded to whole steps; what was written is returned.
std::int64_t write_trace(const std::filesystem::path& file, trace_kind kind, std::int64_t kernels);

}  // namespace profgate::bench
