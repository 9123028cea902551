#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace profgate::parsers {

/// One repetition of a Google Benchmark; aggregates (mean, median, …) are left out.
struct benchmark_run {
  std::string name;
  std::int64_t iterations = 0;
  std::optional<double> real_time_ns;        ///< an iteration's; nothing where the run failed
  std::optional<std::string> error_message;  ///< the benchmark called SkipWithError
};

struct benchmark_report {
  std::map<std::string, std::string> context;  ///< host_name, num_cpus, date, …: numbers as they are written
  std::vector<benchmark_run> runs;
};

/// What --benchmark_out wrote in JSON.
benchmark_report read_benchmark_json(const std::filesystem::path& file);

}  // namespace profgate::parsers
