#include "pair_manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "ab/baseline_build.h"
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

/// Where the folder lies that this manifest is in: <build>/profgate/pairs/<pair>.json.
fs::path build_dir_around(const fs::path& file) {
  return fs::absolute(file).lexically_normal().parent_path().parent_path().parent_path();
}

/// What `path` is called after the folder `from` became `to`.
std::string moved(const std::string& path, const fs::path& from, const fs::path& to) {
  const std::string prefix = from.string();
  if (path == prefix) return to.string();
  return path.starts_with(prefix + "/") ? to.string() + path.substr(prefix.size()) : path;
}

/// The build folder alone, or the whole project where the folder lies in it at the same place as before.
void follow_to_copy(pair_manifest& manifest, const fs::path& build_dir) {
  const fs::path now = build_dir_around(manifest.file);
  std::error_code is_gone;
  if (build_dir == now || fs::equivalent(build_dir, now, is_gone)) return;
  fs::path from = build_dir;
  fs::path to = now;
  const std::string inside = moved(build_dir.string(), manifest.project_dir, "");  // "/build/dev"
  if (inside != build_dir.string() && now.string().ends_with(inside)) {
    from = manifest.project_dir;
    to = now.string().substr(0, now.string().size() - inside.size());
  }
  for (std::string& word : manifest.command) word = moved(word, from, to);
  manifest.working_directory = moved(manifest.working_directory.string(), from, to);
  manifest.project_dir = moved(manifest.project_dir.string(), from, to);
  for (fs::path& dir : manifest.conf_dirs) dir = moved(dir.string(), from, to);
}

}  // namespace

fs::path manifest_here(const fs::path& file) {
  const core::json_document given(artifacts::read_file(file, max_manifest_bytes), file.string(), "");
  for (fs::path dir = fs::current_path(); dir.has_relative_path(); dir = dir.parent_path()) {
    const fs::path here = pairs_dir(dir) / file.filename();
    if (!fs::is_regular_file(here)) continue;
    const core::json_document found(artifacts::read_file(here, max_manifest_bytes), here.string(), "");
    const auto build_dir = text_or_nothing(given.root(), "build_dir");
    return build_dir && text_or_nothing(found.root(), "build_dir") == build_dir ? here : file;
  }
  return file;
}

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
  std::optional<std::string> compiler = text_or_nothing(build, "compiler");
  if (const auto version = text_or_nothing(build, "compiler_version"); compiler && version)
    *compiler += " " + *version;
  manifest.build = {text_or_nothing(build, "type"), std::move(compiler), text_or_nothing(build, "flags")};
  manifest.file = fs::absolute(file);
  if (const auto build_dir = text_or_nothing(root, "build_dir")) follow_to_copy(manifest, *build_dir);
  return manifest;
}

std::vector<fs::path> build_dirs_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::path& root : {folder, folder / "build"}) {
    if (fs::is_directory(pairs_dir(root))) found.push_back(root);
    if (!fs::is_directory(root)) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      if (fs::is_directory(pairs_dir(entry.path()))) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.size() < 2) return found;
  std::vector<fs::path> own;
  std::copy_if(found.begin(), found.end(), std::back_inserter(own),
               [](const fs::path& dir) { return !ab::is_copy_of_build(dir); });
  return own.empty() ? found : own;  // of a project that was copied as a whole all are copies
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
  const fs::path here = fs::current_path();
  const std::vector<fs::path> found = build_dirs_below(here);
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
  return build_dir_around(manifest.file);
}

std::vector<pair_manifest> registered_pairs(const fs::path& build_dir) {
  std::vector<pair_manifest> pairs;
  for (const fs::directory_entry& entry : fs::directory_iterator(pairs_dir(build_dir))) {
    if (entry.path().extension() == ".json") pairs.push_back(read_pair_manifest(entry.path()));
  }
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.pair < b.pair; });
  return pairs;
}

void require_pair_name(const std::string& name) {
  if (name.find('=') != std::string::npos) {
    throw core::bad_input(
        fmt::format("'{}' is a setting, and no pair stands before it", name),
        "name a pair first, as `profgate list` shows it; or a program of your own after two dashes: profgate "
        "run [settings] -- <command>");
  }
  if (name.find('/') != std::string::npos) {
    throw core::bad_input(fmt::format("'{}' is no pair: a program of your own stands after two dashes", name),
                          fmt::format("profgate run [settings] -- {} …", name));
  }
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
