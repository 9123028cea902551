#include "artifacts/packages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace profgate::artifacts {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_packages = 5000;  ///< of one folder; an environment has hundreds
constexpr std::size_t most_status_lines = 5'000'000;

bool is_file(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

std::string environment_text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As the operating system would look for it; relative folders of PATH are left out.
std::optional<fs::path> program_called(const std::string& word, const fs::path& working_directory,
                                       const package_places& places) {
  if (word.find('/') != std::string::npos) {
    const fs::path file = working_directory / word;
    return is_file(file) ? std::optional(file) : std::nullopt;
  }
  std::istringstream folders(places.path_variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.starts_with("/") && is_file(fs::path(folder) / word)) return fs::path(folder) / word;
  }
  return std::nullopt;
}

bool is_python(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  return name.starts_with("python") &&
         name.find_first_not_of("0123456789.", std::string_view("python").size()) == std::string::npos;
}

bool is_shell(const std::string& word) {
  constexpr std::array shells = {"sh", "bash", "dash", "zsh", "fish"};
  return std::find(shells.begin(), shells.end(), fs::path(word).filename().string()) != shells.end();
}

/// The words of a script's first line after "#!"; none where it is no script.
std::vector<std::string> interpreter_words(const fs::path& script) {
  constexpr std::size_t longest_line = 512;
  std::string line(longest_line, '\0');
  std::ifstream stream(script, std::ios::binary);
  stream.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(stream.gcount()));
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

/// The Python that the words start; nothing where they start none. Absent where nobody can tell.
core::measured<std::optional<fs::path>> python_of(const std::vector<std::string>& words,
                                                  const fs::path& working_directory,
                                                  const package_places& places) {
  using answer = core::measured<std::optional<fs::path>>;
  const auto named = std::find_if(words.begin(), words.end(), is_python);
  const bool is_shell_command = !words.empty() && is_shell(words.front());
  if (named != words.end() && !is_shell_command) {  // itself, or after env, numactl, mpirun …
    const std::optional<fs::path> found = program_called(*named, working_directory, places);
    return found ? answer(found) : answer::absent(fmt::format("{} was not found", *named));
  }
  if (words.empty()) return std::optional<fs::path>();
  const std::optional<fs::path> program = program_called(words.front(), working_directory, places);
  const std::vector<std::string> shebang = program ? interpreter_words(*program) : std::vector<std::string>{};
  const bool is_shell_script = std::any_of(shebang.begin(), shebang.end(), is_shell);
  if (is_shell_command || is_shell_script)
    return answer::absent(fmt::format("which programs {} starts is not known", words.front()));
  if (std::none_of(shebang.begin(), shebang.end(), is_python)) return std::optional<fs::path>();
  return python_of(shebang, working_directory, places);  // of a command such as torchrun or vllm
}

/// Folders of `parent` whose names begin so.
std::vector<fs::path> folders_like(const fs::path& parent, std::string_view beginning) {
  std::vector<fs::path> folders;
  std::error_code unknown;
  for (fs::directory_iterator it(parent, unknown), end; !unknown && it != end; it.increment(unknown)) {
    if (it->path().filename().string().starts_with(beginning)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void add_sites_below(const fs::path& prefix, std::string_view version, std::vector<fs::path>& sites) {
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& python : folders_like(prefix / lib, version)) {
      sites.push_back(python / "site-packages");
      sites.push_back(python / "dist-packages");
    }
  }
}

bool uses_system_sites(const fs::path& pyvenv) {
  std::ifstream stream(pyvenv);
  std::string line;
  for (int i = 0; i < 100 && std::getline(stream, line); ++i) {
    if (line.starts_with("include-system-site-packages") && line.find("true") != std::string::npos)
      return true;
  }
  return false;
}

/// In the order in which Python looks through them.
std::vector<fs::path> sites_of(const fs::path& python, const package_places& places) {
  std::vector<fs::path> sites;
  const fs::path environment = python.parent_path().parent_path();
  if (is_file(environment / "pyvenv.cfg")) {
    add_sites_below(environment, "python", sites);
    if (!uses_system_sites(environment / "pyvenv.cfg")) return sites;
  }
  std::error_code unknown;
  const fs::path real = fs::canonical(python, unknown);
  if (unknown) return sites;
  // "python3.11": of this version only. What a conda environment calls "python" is the only one there.
  const std::string name = real.filename().string();
  const std::string version = name.find('.') == std::string::npos ? "python3." : name;
  if (!places.home.empty()) add_sites_below(places.home / ".local", version, sites);
  if (real.parent_path() == "/usr/bin") add_sites_below(places.local_prefix, version, sites);
  add_sites_below(real.parent_path().parent_path(), version, sites);
  sites.push_back(real.parent_path().parent_path() / "lib/python3/dist-packages");
  return sites;
}

/// "torch-2.11.0.dist-info", "PyYAML-6.0-py3.11.egg-info": names are the same in either case and with '-',
/// '_' or '.'.
void add_package(const std::string& folder, package_versions& packages) {
  constexpr std::array endings = {".dist-info", ".egg-info"};
  const auto* const ending = std::find_if(endings.begin(), endings.end(),
                                          [&](std::string_view each) { return folder.ends_with(each); });
  if (ending == endings.end()) return;
  const std::string stem = folder.substr(0, folder.size() - std::string_view(*ending).size());
  const std::size_t dash = stem.find('-');
  if (dash == 0 || dash == std::string::npos) return;
  std::string name = stem.substr(0, dash);
  for (char& c : name)
    c = c == '_' || c == '.' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t version_end = std::min(stem.find('-', dash + 1), stem.size());
  const std::string version = stem.substr(dash + 1, version_end - dash - 1);
  packages.try_emplace("pip " + name, version);
}

void add_pip(const std::vector<std::string>& command, const fs::path& working_directory,
             const package_places& places, package_versions& packages) {
  const auto python = python_of(command, working_directory, places);
  if (!python) {
    packages[pip_packages] = core::measured<std::string>::absent(python.reason());
    return;
  }
  if (!*python) return;
  const std::size_t before = packages.size();
  for (const fs::path& site : sites_of(**python, places)) {
    std::error_code unknown;
    std::size_t count = 0;
    for (fs::directory_iterator it(site, unknown), end; !unknown && it != end && count < most_packages;
         it.increment(unknown), ++count) {
      add_package(it->path().filename().string(), packages);
    }
  }
  if (packages.size() == before) {
    packages[pip_packages] = core::measured<std::string>::absent(
        fmt::format("no installed package was found beside {}", (*python)->string()));
  }
}

bool is_of_cuda(std::string_view name) {
  constexpr std::array beginnings = {"cuda",         "libcublas",   "libcuda",     "libcudart", "libcudnn",
                                     "cudnn",        "libcufft",    "libcufile",   "libcupti",  "libcurand",
                                     "libcusolver",  "libcusparse", "libcutensor", "libnccl",   "libnpp",
                                     "libnvjitlink", "libnvjpeg",   "libnvinfer",  "tensorrt"};
  return name.find("nvidia") != std::string_view::npos ||
         std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* beginning) { return name.starts_with(beginning); });
}

void add_dpkg(const package_places& places, package_versions& packages) {
  if (!is_file(places.dpkg_status)) {
    packages[dpkg_packages] =
        core::measured<std::string>::absent(fmt::format("there is no {}", places.dpkg_status.string()));
    return;
  }
  std::ifstream stream(places.dpkg_status);
  std::string name;
  bool is_installed = false;
  std::string line;
  const auto value_of = [&](std::string_view key) { return line.substr(key.size()); };
  for (std::size_t i = 0; i < most_status_lines && std::getline(stream, line); ++i) {
    if (line.starts_with("Package: ")) {
      name = value_of("Package: ");
      is_installed = false;
    } else if (line.starts_with("Status: ")) {
      is_installed = line.ends_with(" installed");
    } else if (line.starts_with("Version: ") && is_installed && is_of_cuda(name)) {
      packages["dpkg " + name] = value_of("Version: ");
    }
  }
}

}  // namespace

package_places package_places::of_this_process() {
  package_places places;
  places.path_variable = environment_text("PATH");
  places.home = environment_text("HOME");
  return places;
}

package_versions gather_packages(const std::vector<std::string>& command, const fs::path& working_directory,
                                 const package_places& places) {
  package_versions packages;
  add_pip(command, working_directory, places, packages);
  add_dpkg(places, packages);
  return packages;
}

}  // namespace profgate::artifacts
