#include "process_samples.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "artifacts/files.h"
#include "core/error.h"

namespace profgate::cli {

void write_process_samples(const std::filesystem::path& file, const std::vector<std::int64_t>& wall_ns) {
  const nlohmann::ordered_json json = {{"schema_version", 1}, {"wall_ns", wall_ns}};
  artifacts::write_file_atomically(file, json.dump(2) + "\n");
}

std::vector<std::int64_t> read_process_samples(const std::filesystem::path& file) {
  if (!artifacts::file_exists(file)) return {};
  try {
    return nlohmann::json::parse(artifacts::read_file(file)).at("wall_ns").get<std::vector<std::int64_t>>();
  } catch (const nlohmann::json::exception& damaged) {
    throw core::bad_input(file.string(), 0, damaged.what(), "run the pair again");
  }
}

}  // namespace profgate::cli
