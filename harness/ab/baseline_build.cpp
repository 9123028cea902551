#include "ab/baseline_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "artifacts/files.h"
#include "artifacts/sha256.h"
#include "cmake_cache.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/file_lock.h"
#include "process/git.h"
#include "process/runner.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t max_log_bytes = std::uint64_t{256} << 20;
constexpr std::int64_t longest_wait_ms = std::int64_t{4} * 3600 * 1000;

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

/// git's answer; nothing where it refuses.
std::optional<std::string> ask_git(const fs::path& dir, const std::vector<std::string>& words) {
  const std::optional<std::string> answer = process::git_output(dir, words);
  return answer ? std::optional(trimmed(*answer)) : std::nullopt;
}

/// A line of CMake, a compiler or a linker that tells what is wrong; "-Werror" and "error.cpp" tell nothing.
bool says_error(std::string_view line) {
  static constexpr std::array<std::string_view, 7> words{
      "error: ", "Error: ", "error[", "CMake Error", "undefined reference", "multiple definition", "Killed"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

/// The first error in the log, with the lines that explain it.
std::string first_error(const std::string& log) {
  constexpr std::size_t most_lines = 6;
  std::istringstream lines(log);
  std::string text;
  std::size_t count = 0;
  for (std::string line; count < most_lines && std::getline(lines, line);) {
    if (count == 0 && !says_error(line)) continue;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    text += "\n    " + core::shorten_middle(core::to_valid_utf8(line), 300);
    ++count;
  }
  return text;
}

class builder {
 public:
  explicit builder(const baseline_request& wanted) : m_wanted(wanted) {}

  baseline_build provide() {
    find_commit();
    fs::create_directories(m_home);
    const core::file_lock only_one = core::file_lock::among_users(
        m_home / ".lock",
        {longest_wait_ms,
         [&](const std::string& holder) { say("waits for " + holder + ", which builds the same commit"); },
         "the build folder of " + commit_name(), "wait until it is done, or end that process"});
    check_out();
    read_settings();
    const fs::path marker = m_build / "profgate-built.txt";
    const std::string done = fmt::format("{} {}\n", m_wanted.pair, m_commit);
    const bool is_built = fs::exists(marker) && artifacts::read_file(marker).find(done) != std::string::npos;
    if (!is_built) {
      say(fmt::format("builds {} in {}", commit_name(), m_build.string()));
      build_or_clean_up();
      const std::string before = fs::exists(marker) ? artifacts::read_file(marker) : "";
      artifacts::write_file_atomically(marker, before + done);
    }
    return {m_commit, m_outputs};
  }

 private:
  void say(const std::string& line) const {
    if (m_wanted.say) m_wanted.say(line);
  }

  /// Either arm, or one that a bisection looks at: never "the baseline".
  std::string commit_name() const { return "commit " + m_commit.substr(0, 12); }

  /// Such as one of a CI that fetches a single commit: it has no earlier ones.
  std::string what_a_shallow_clone_lacks() const {
    if (ask_git(m_top, {"rev-parse", "--is-shallow-repository"}) != "true") return "";
    return "; this clone is shallow, and what it lacks comes with: git fetch --unshallow";
  }

  void find_commit() {
    const auto top = ask_git(m_wanted.project_dir, {"rev-parse", "--show-toplevel"});
    if (!top) {
      throw core::bad_input(fmt::format("'{}' is no build folder, and {} is not in a git repository",
                                        m_wanted.ref, m_wanted.project_dir.string()),
                            "name a build folder that has profgate/pairs/, or put the project under git");
    }
    m_top = *top;
    const auto commit = ask_git(m_wanted.project_dir, {"rev-parse", "--verify", "--quiet", "--end-of-options",
                                                       m_wanted.ref + "^{commit}"});
    if (!commit) {
      throw core::bad_input(
          fmt::format("'{}' is neither a build folder nor a commit of {}", m_wanted.ref, m_top.string()),
          "name a commit, branch or tag (`git log`), or a build folder of the pair's project" +
              what_a_shallow_clone_lacks());
    }
    m_commit = *commit;
    const fs::path cache =
        m_wanted.cache_dir.empty() ? m_wanted.project_dir / "tmp" / "baselines" : m_wanted.cache_dir;
    m_home = fs::absolute(cache) / m_commit;
    m_source = m_home / "source";
  }

  /// git locks a worktree while it makes it: one that is locked was cut off, however whole its files are.
  bool is_checked_out() const {
    if (!fs::exists(m_source / ".git")) return false;
    const auto git_dir = ask_git(m_source, {"rev-parse", "--absolute-git-dir"});
    return git_dir && !fs::exists(fs::path(*git_dir) / "locked") &&
           ask_git(m_source, {"rev-parse", "HEAD"}) == m_commit &&
           ask_git(m_source, {"status", "--porcelain", "--untracked-files=no"}) == "";
  }

  void check_out() {
    if (is_checked_out()) return;
    // git forgets worktrees that are not locked and whose folder is gone.
    fs::remove_all(m_source);
    ask_git(m_top, {"worktree", "unlock", m_source.string()});
    ask_git(m_top, {"worktree", "prune"});
    run(process::git_command(m_top, {"worktree", "add", "--force", "--detach", m_source.string(), m_commit}),
        "checkout", "checks out " + commit_name());
  }

  void read_settings() {
    const fs::path binary_dir = cmake_binary_dir(m_wanted.build_dir);
    if (!fs::exists(binary_dir / cache_file)) {
      throw core::bad_input(
          fmt::format("{} was not configured by CMake, so {} cannot be built like it",
                      m_wanted.build_dir.string(), commit_name()),
          "name a build folder instead of the commit, or one that CMake configured with --build-dir");
    }
    m_settings = settings_in(binary_dir);
    const fs::path sources = m_source / fs::proximate(m_settings.source_dir, m_top);
    m_script = initial_cache_script(m_settings, sources.lexically_normal());
    m_project = sources.lexically_normal();
    // Folders of their own for other settings: both stay.
    m_build =
        m_home / ("build-" + artifacts::sha256_hex(m_settings.generator + "\n" + m_script).substr(0, 8));
    m_configuration = fs::proximate(m_wanted.build_dir, binary_dir).string();
    if (m_configuration == ".") m_configuration.clear();
    m_outputs = m_configuration.empty() ? m_build : m_build / m_configuration;
  }

  /// What a failed try leaves could spoil the next one.
  void build_or_clean_up() {
    try {
      build();
    } catch (const build_failure&) {
      fs::remove_all(m_build);
      throw;
    }
  }

  void build() {
    fs::create_directories(m_build);
    const fs::path script = m_build / "profgate-initial-cache.cmake";
    artifacts::write_file_atomically(script, m_script);
    std::vector<std::string> configure = {
        "cmake", "-C", script.string(), "-S", m_project.string(), "-B", m_build.string()};
    if (!m_settings.generator.empty()) configure.insert(configure.end(), {"-G", m_settings.generator});
    run(in_its_own_repository(configure), "configure", "configures " + commit_name());
    const fs::path manifest = m_outputs / "profgate" / "pairs" / (m_wanted.pair + ".json");
    if (!fs::exists(manifest)) {
      throw core::bad_input(fmt::format("{} does not register the pair {}", commit_name(), m_wanted.pair),
                            "choose a newer commit");
    }
    std::vector<std::string> make = {"cmake", "--build", m_build.string(), "--parallel", parallel_jobs()};
    if (!m_configuration.empty()) make.insert(make.end(), {"--config", m_configuration});
    const std::optional<std::string> target = program_in(artifacts::read_file(manifest));
    if (target && try_run(in_its_own_repository(with_target(make, *target)), "build",
                          fmt::format("builds {} of {}", *target, commit_name())))
      return;
    run(in_its_own_repository(make), "build", "builds " + commit_name());
  }

  /// A build may ask git which commit it is.
  static process::command in_its_own_repository(const std::vector<std::string>& argv) {
    return {argv, {}, process::git_repository_variables(), {}};
  }

  static std::vector<std::string> with_target(std::vector<std::string> make, const std::string& target) {
    make.insert(make.end(), {"--target", target});
    return make;
  }

  /// The name of the pair's program where it lies in the build folder: most often that of its target.
  std::optional<std::string> program_in(const std::string& manifest) const {
    const std::string inside = "\"" + m_build.string() + "/";
    const std::size_t command = manifest.find("\"command\"");
    if (command == std::string::npos) return std::nullopt;
    const std::size_t open = manifest.find('[', command);
    const std::size_t start = manifest.find('"', std::min(open, manifest.size()));
    if (start == std::string::npos || manifest.compare(start, inside.size(), inside) != 0)
      return std::nullopt;
    const std::size_t end = manifest.find('"', start + 1);
    if (end == std::string::npos) return std::nullopt;
    return fs::path(manifest.substr(start + 1, end - start - 1)).filename().string();
  }

  static std::string parallel_jobs() {
    const char* wanted = std::getenv("CMAKE_BUILD_PARALLEL_LEVEL");
    if (wanted != nullptr && *wanted != '\0') return wanted;
    return std::to_string(std::max(1U, std::thread::hardware_concurrency()));
  }

  bool try_run(const process::command& command, const std::string& step, const std::string& what) {
    if (m_wanted.now_running) m_wanted.now_running(what);
    process::run_options options;
    options.log_file = log_of(step);
    options.stop_request = [this]() -> std::optional<std::string> {
      if (m_wanted.refresh) m_wanted.refresh();
      return std::nullopt;
    };
    m_last = process::run(command, options);
    if (m_last.how == process::ending::interrupted)
      throw core::interrupted(
          fmt::format("interrupted while {} was built; the same command finishes it", commit_name()));
    if (m_last.how == process::ending::not_started)
      throw build_failure(m_last.start_error, "put it on PATH, or name a build folder instead of the commit");
    return m_last.how == process::ending::exited && m_last.exit_code == 0;
  }

  void run(const process::command& command, const std::string& step, const std::string& what) {
    if (try_run(command, step, what)) return;
    throw build_failure(
        fmt::format("{} cannot be built: {} {}{}", commit_name(), step, process::describe(m_last),
                    first_error(artifacts::read_file(log_of(step), max_log_bytes))),
        fmt::format("its log is {}", log_of(step).string()));
  }

  fs::path log_of(const std::string& step) const { return m_home / (step + ".log"); }

  const baseline_request& m_wanted;
  fs::path m_top;
  std::string m_commit;
  fs::path m_home;
  fs::path m_source;
  fs::path m_project;
  fs::path m_build;             ///< has CMakeCache.txt
  std::string m_configuration;  ///< such as Release, where the generator has several
  fs::path m_outputs;           ///< has profgate/pairs/ and the programs
  build_settings m_settings;
  std::string m_script;
  process::outcome m_last;
};

}  // namespace

fs::path cmake_binary_dir(const fs::path& build_dir) {
  const fs::path around = fs::absolute(build_dir / "").lexically_normal().parent_path().parent_path();
  const bool is_configuration = !fs::exists(build_dir / cache_file) && fs::exists(around / cache_file);
  return is_configuration ? around : build_dir;
}

bool is_copy_of_build(const fs::path& build_dir) {
  const fs::path binary_dir = cmake_binary_dir(build_dir);
  return fs::exists(binary_dir / cache_file) && is_copy(settings_in(binary_dir), binary_dir);
}

baseline_build provide_baseline(const baseline_request& wanted) {
  try {
    return builder(wanted).provide();
  } catch (const fs::filesystem_error& problem) {
    throw build_failure(fmt::format("the folder for builds of commits cannot be used: {}", problem.what()),
                        "make <project>/tmp writable");
  }
}

}  // namespace profgate::ab
