#include "artifacts/refusal.h"

#include <nlohmann/json.hpp>

#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "core/json.h"
#include "owner_json.h"

namespace profgate::artifacts {
namespace {

std::filesystem::path refusal_path(const std::filesystem::path& build_dir, const std::string& pair) {
  require_valid_pair(pair);
  return build_dir / "profgate" / "refused" / (pair + ".json");
}

}  // namespace

void write_refusal(const std::filesystem::path& build_dir, const std::string& pair, const refusal& refused) {
  const std::filesystem::path path = refusal_path(build_dir, pair);
  make_folder(path.parent_path());
  nlohmann::ordered_json record;
  record["schema_version"] = "1.0";
  record["pair"] = pair;
  record["owner"] = owner_to_json(refused.owner);
  record["reason"] = refused.reason;
  record["remedy"] = refused.remedy;
  write_file_atomically(path, core::json_text(record));
}

std::optional<refusal> read_refusal(const std::filesystem::path& build_dir, const std::string& pair) {
  const std::filesystem::path path = refusal_path(build_dir, pair);
  if (!file_exists(path)) return std::nullopt;
  const core::json_document document(read_file(path, 1 << 20), path.string(), "remove the file");
  const core::json_cursor record = document.root();
  return refusal{owner_from_json(record.require("owner")), record.require("reason").text(),
                 record.require("remedy").text()};
}

}  // namespace profgate::artifacts
