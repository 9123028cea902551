#include "config/input_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/yaml_tree.h"
#include "core/error.h"
#include "core/regular_file.h"

namespace profgate::config {
namespace fs = std::filesystem;
namespace {

/// Room for the 1000 inputs that the workload takes, of a line of a thousand bytes each.
constexpr text_limit manifest_limit = {
    1024, "a list of inputs",
    "split it into several, of at most 1000 inputs each, and run one after the other"};

/// As somebody named it in `source`, who may correct it as `remedy` says.
fs::path require_file(const fs::path& file, std::string_view key, const std::string& source, int line,
                      const char* remedy) {
  std::error_code ignored;
  if (fs::is_regular_file(file, ignored)) return file;
  throw core::bad_input(source, line,
                        fmt::format("'{}' names {}, which {}", key, file.string(), core::what_is_there(file)),
                        remedy);
}

fs::path file_of_member(const yaml_member& member, const fs::path& manifest) {
  if (member.content.kind != node_kind::scalar || member.content.text.empty())
    throw core::bad_input(manifest.string(), member.line, fmt::format("'{}' is no path", member.key),
                          "name a file, relative to the manifest, or leave it out");
  return require_file((manifest.parent_path() / member.content.text).lexically_normal(), member.key,
                      manifest.string(), member.line, "correct the path; it is relative to the manifest");
}

void add_files_of_manifest(const fs::path& manifest, std::vector<fs::path>& files) {
  const yaml_node list = read_yaml(manifest, manifest_limit);
  if (list.kind != node_kind::sequence)
    throw core::bad_input(manifest.string(), list.line, "not a list of inputs",
                          "make it one: - {name: page, image: page.png, mode: base, prompt_tokens: 10}");
  for (const yaml_node& input : list.items) {
    for (const yaml_member& member : input.members) {
      const bool is_path = member.key == "image" || member.key == "tokens_file";
      if (!is_path || member.content.kind == node_kind::null) continue;
      const fs::path file = file_of_member(member, manifest);
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
    }
  }
}

}  // namespace

std::vector<fs::path> files_of_input(const resolved& config, std::string_view key) {
  if (config.is_null(key)) return {};
  std::vector<fs::path> files = {
      require_file(config.text(key), key, config.origin(key), 0,
                   "correct the path: in a YAML file it is relative to that file, else to the project")};
  if (key == "inputs.manifest") add_files_of_manifest(fs::path(files.front()), files);
  return files;
}

}  // namespace profgate::config
