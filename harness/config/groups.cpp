#include "groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "config/config.h"
#include "config/yaml_tree.h"
#include "core/error.h"
#include "core/regular_file.h"
#include "core/slips.h"

namespace profgate::config {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view extension = ".yaml";

/// Adds the choices below `folder` as "sub/name". Folders that cannot be read have none.
void collect_choices(const fs::path& folder, std::set<std::string>& found) {
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    if (at->path().extension() != extension || !at->is_regular_file(failure)) continue;
    const std::string name = at->path().lexically_relative(folder).generic_string();
    found.insert(name.substr(0, name.size() - extension.size()));
  }
}

/// All choices, the likeliest meant first.
std::string nearest_first(const std::string& wanted, std::vector<std::string> all) {
  if (const std::optional<std::string> meant = core::nearest(wanted, all)) {
    std::rotate(all.begin(), std::find(all.begin(), all.end(), *meant), all.end());
    std::sort(all.begin() + 1, all.end());
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string shown_folders(const std::vector<fs::path>& conf_dirs, std::string_view group_name) {
  std::vector<std::string> folders;
  for (const fs::path& conf_dir : conf_dirs) folders.push_back(shown_path(conf_dir / group_name));
  return fmt::format("{}", fmt::join(folders, ", "));
}

}  // namespace

const group* find_group(std::string_view name) {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const group& g) { return g.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::vector<std::string> choices(const std::vector<fs::path>& conf_dirs, std::string_view group_name) {
  std::set<std::string> found;
  for (const fs::path& conf_dir : conf_dirs) collect_choices(conf_dir / group_name, found);
  return {found.begin(), found.end()};
}

fs::path find_choice(const std::vector<fs::path>& conf_dirs, const group& wanted, const std::string& choice,
                     const std::string& chosen_at) {
  const std::vector<std::string> all = choices(conf_dirs, wanted.name);
  if (all.empty()) {
    throw core::bad_input(
        chosen_at, 0, fmt::format("there is no file to choose {}={} from", wanted.name, choice),
        fmt::format("put {}{} into one of: {}", choice, extension, shown_folders(conf_dirs, wanted.name)));
  }
  // Only listed names are opened, so a choice such as ../../x never leaves conf/.
  if (std::find(all.begin(), all.end(), choice) == all.end()) {
    throw core::bad_input(chosen_at, 0, fmt::format("group '{}' has no choice '{}'", wanted.name, choice),
                          fmt::format("choose one of: {}; or add {}{} to {}", nearest_first(choice, all),
                                      choice, extension, shown_folders(conf_dirs, wanted.name)));
  }
  for (const fs::path& conf_dir : conf_dirs) {
    std::error_code failure;
    const fs::path file = conf_dir / wanted.name / (choice + std::string(extension));
    if (fs::is_regular_file(file, failure)) return file;
  }
  throw core::bad_input(chosen_at, 0, fmt::format("the file of {}={} has just vanished", wanted.name, choice),
                        "run it again");
}

std::string read_conf_file(const fs::path& file, const text_limit& limit) {
  std::error_code failure;
  const std::string name = shown_path(file);
  if (!fs::is_regular_file(file, failure)) {
    throw core::bad_input(name, 0, core::what_is_there(file), "check the path; it must be a file's");
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw core::bad_input(name, 0, "cannot be read", "check the file's permissions");
  std::string text(limit.bytes() + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw core::bad_input(name, 0, "cannot be read to its end", "check the disk it lies on");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

yaml_node read_yaml(const fs::path& file, const text_limit& limit) {
  return parse_yaml(read_conf_file(file, limit), {.name = shown_path(file), .limit = limit});
}

std::string shown_path(const fs::path& file) {
  std::error_code failure;
  const fs::path here = fs::current_path(failure);
  if (failure || !file.is_absolute()) return file.generic_string();
  const fs::path relative = file.lexically_relative(here);
  const bool is_below = !relative.empty() && *relative.begin() != "..";
  return is_below ? relative.generic_string() : file.generic_string();
}

}  // namespace profgate::config
