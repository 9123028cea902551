#pragma once

#include <cstdint>
#include <filesystem>

namespace profgate::bench {

/// Writes a database as nsys 2025.3 exports it (all columns of the tables that matter), of an eager decode by
/// a model of 32 layers: a range around each step and each operator, one launch an operator, one
/// synchronisation a step. `kernels` is rounded up to whole steps; what was written is returned.
std::int64_t write_trace(const std::filesystem::path& file, std::int64_t kernels);

}  // namespace profgate::bench
