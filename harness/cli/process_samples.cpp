#include "process_samples.h"

#include <nlohmann/json.hpp>

#include "artifacts/files.h"
#include "core/json.h"

namespace profgate::cli {

void write_process_samples(const std::filesystem::path& file, const std::vector<std::int64_t>& wall_ns) {
  const nlohmann::ordered_json json = {{"schema_version", 1}, {"wall_ns", wall_ns}};
  artifacts::write_file_atomically(file, json.dump(2) + "\n");
}

std::vector<std::int64_t> read_process_samples(const std::filesystem::path& file) {
  if (!artifacts::file_exists(file)) return {};
  const core::json_document document(artifacts::read_file(file), file.string(), "run the pair again");
  std::vector<std::int64_t> wall_ns;
  for (const core::json_cursor& value : document.root().require("wall_ns").items())
    wall_ns.push_back(value.integer());
  return wall_ns;
}

}  // namespace profgate::cli
