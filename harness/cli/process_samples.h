#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace profgate::cli {

/// stage1/process_samples.json: how long each bare process took, for a program that writes no result JSON.
void write_process_samples(const std::filesystem::path& file, const std::vector<std::int64_t>& wall_ns);

/// Empty where the file does not exist.
std::vector<std::int64_t> read_process_samples(const std::filesystem::path& file);

}  // namespace profgate::cli
