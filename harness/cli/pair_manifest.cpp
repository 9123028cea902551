#include "pair_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "core/error.h"
#include "core/json.h"
#include "core/slips.h"
#include "installation.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t max_manifest_bytes = 1 << 20;

fs::path pairs_dir(const fs::path& build_dir) {
  return build_dir / "profgate" / "pairs";
}

std::optional<std::string> text_or_nothing(const core::json_cursor& object, const char* key) {
  const auto value = object.find(key);
  return value ? std::optional(value->text()) : std::nullopt;
}

}  // namespace

pair_manifest read_pair_manifest(const fs::path& file) {
  const core::json_document document(artifacts::read_file(file, max_manifest_bytes), file.string(),
                                     "configure the project again: cmake <build folder>");
  const core::json_cursor root = document.root();
  const auto text = [&](const char* key) { return root.require(key).text(); };
  pair_manifest manifest;
  manifest.pair = text("pair");
  artifacts::require_valid_pair(manifest.pair);  // folders are named after it
  manifest.model = text("model");
  manifest.config = text("config");
  manifest.device = text("device");
  manifest.engine = text_or_nothing(root, "engine");
  manifest.model_choice = text_or_nothing(root, "model_choice");
  manifest.workload_choice = text("workload_choice");
  manifest.command = root.require("command").texts();
  manifest.command_has_placeholders = root.require("command_has_placeholders").boolean();
  manifest.working_directory = text("working_directory");
  manifest.project_dir = text("project_dir");
  for (const std::string& dir : root.require("conf_dirs").texts()) manifest.conf_dirs.emplace_back(dir);
  manifest.overrides = root.require("overrides").texts();
  const core::json_cursor build = root.require("build");
  const auto said = [&](const char* key) { return text_or_nothing(build, key).value_or("unknown"); };
  manifest.build = {said("type"), said("compiler"), said("compiler_version"), said("flags")};
  manifest.file = fs::absolute(file);
  return manifest;
}

fs::path find_build_dir(const std::optional<fs::path>& given) {
  if (given) {
    if (fs::is_directory(pairs_dir(*given))) return fs::absolute(*given);
    throw core::bad_input(fmt::format("{} has no registered pairs", given->string()),
                          "name a build folder whose project calls profgate_add_workload()");
  }
  for (fs::path dir = running_program().parent_path(); dir.has_relative_path(); dir = dir.parent_path()) {
    if (fs::is_directory(pairs_dir(dir))) return dir;
  }
  std::vector<fs::path> found;
  const fs::path here = fs::current_path();
  for (const fs::path& root : {here, here / "build"}) {
    if (fs::is_directory(pairs_dir(root))) found.push_back(root);
    if (!fs::is_directory(root)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      if (fs::is_directory(pairs_dir(entry.path()))) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw core::bad_input(fmt::format("no build folder with registered pairs below {}", here.string()),
                          "configure the project first, or pass --build-dir");
  }
  std::vector<std::string> names;
  for (const fs::path& dir : found) names.push_back(dir.string());
  throw core::bad_input(
      fmt::format("several build folders have registered pairs: {}", fmt::join(names, ", ")),
      "pass --build-dir with the one you mean");
}

fs::path build_dir_of(const pair_manifest& manifest) {
  return manifest.file.parent_path().parent_path().parent_path();  // <build>/profgate/pairs/<pair>.json
}

std::vector<pair_manifest> registered_pairs(const fs::path& build_dir) {
  std::vector<pair_manifest> pairs;
  for (const fs::directory_entry& entry : fs::directory_iterator(pairs_dir(build_dir))) {
    if (entry.path().extension() == ".json") pairs.push_back(read_pair_manifest(entry.path()));
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.pair < b.pair; });
  return pairs;
}

pair_manifest find_pair(const fs::path& build_dir, const std::string& name) {
  const std::vector<pair_manifest> pairs = registered_pairs(build_dir);
  std::vector<std::string> names;
  for (const pair_manifest& pair : pairs) {
    if (pair.pair == name) return pair;
    names.push_back(pair.pair);
  }
  const std::optional<std::string> meant = core::nearest(name, names);
  throw core::bad_input(
      fmt::format("no pair '{}' is registered in {}", name, build_dir.string()),
      meant ? fmt::format("did you mean '{}'? `profgate list` shows them all", *meant)
            : fmt::format("a program of your own: profgate run -- <command>; registered are: {}",
                          fmt::join(names, ", ")));
}

}  // namespace profgate::cli
