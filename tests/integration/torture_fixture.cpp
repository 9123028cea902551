#include "torture_fixture.h"

#include <poll.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/owned_fd.h"

namespace profgate::integration {
namespace fs = std::filesystem;
namespace {

using steady = std::chrono::steady_clock;
constexpr std::chrono::seconds longest_end{120};  ///< of a command that nobody disturbs, on a loaded machine
constexpr std::chrono::seconds longest_leaving{20};

int ms_until(steady::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady::now());
  return std::max(0, static_cast<int>(left.count()));
}

/// Whether `pid`, a child of ours that nobody has waited for, ends in time.
bool ends_within(pid_t pid, int ms) {
  const core::owned_fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  struct pollfd ended {
    process.get(), POLLIN, 0
  };
  int ready = 0;
  do ready = ::poll(&ended, 1, ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> all;
  const std::string self = std::to_string(::getpid());
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  for (pid_t pid = 0; list >> pid;) all.push_back(pid);
  return all;
}

std::string command_line_of(pid_t pid) {
  const std::ifstream stream("/proc/" + std::to_string(pid) + "/cmdline");
  std::ostringstream read;
  read << stream.rdbuf();  // and no exception where the process ends between open and read
  std::string text = read.str();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return std::to_string(pid) + " " + text;
}

}  // namespace

void torture::SetUp() {
  pair_fixture::SetUp();
  use_git_identity();
  m_environment["TMPDIR"] = m_project.string();  // what a killed command leaves there goes with the test
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);            // what a killed command leaves behind becomes our child
}

void torture::TearDown() {
  std::ostringstream line;
  line << "tried " << m_tried << ", hit " << m_hit << ", recovered " << m_recovered << ", lost " << m_lost;
  std::cout << line.str() << std::endl;
  RecordProperty("rounds", line.str());
  EXPECT_EQ(m_lost, 0);
  pair_fixture::TearDown();
}

bool torture::is_large() {
  return std::getenv("PROFGATE_TORTURE") != nullptr;
}

torture::words torture::profgate_words(const words& further) const {
  words all = {m_program.string()};
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

torture::started torture::start(const words& argv) {
  started command;
  command.output_file = m_project / ("output-" + std::to_string(++m_started) + ".txt");
  words all = argv;
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  command.pid = ::fork();
  if (command.pid != 0) return command;
  ::setsid();  // who adopts orphans is in another session than they are, as init is
  for (const auto& [name, value] : m_environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (::chdir(m_project.c_str()) != 0 || std::freopen(command.output_file.c_str(), "w", stdout) == nullptr ||
      ::dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
    ::_exit(126);
  ::execvp(pointers.front(), pointers.data());
  ::_exit(127);
}

torture::ending torture::end_of(const started& command) {
  if (!ends_within(command.pid, ms_until(steady::now() + longest_end))) {
    ADD_FAILURE() << "does not end: " << command_line_of(command.pid);
    ::kill(command.pid, SIGKILL);
  }
  int status = 0;
  ::waitpid(command.pid, &status, 0);
  ending result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  result.output = read_text(command.output_file);
  fs::remove(command.output_file);
  return result;
}

torture::ending torture::end_at_random(const words& argv, const std::vector<int>& signals, int longest_ms) {
  const int after_ms = random_up_to(longest_ms);
  const started command = start(argv);
  const bool was_hit = !ends_within(command.pid, after_ms);
  for (const int signal : signals)
    if (was_hit) ::kill(command.pid, signal);
  ending result = end_of(command);
  result.was_hit = was_hit;
  return result;
}

std::vector<int> torture::random_interrupts() {
  constexpr std::array<int, 3> all{SIGINT, SIGTERM, SIGHUP};
  std::vector<int> chosen;
  do chosen.push_back(all.at(static_cast<std::size_t>(random_up_to(2))));
  while (random_up_to(1) == 1);
  return chosen;
}

int torture::duration_ms(const words& argv, const std::vector<int>& good_codes) {
  const auto began = steady::now();
  const ending result = end_of(start(argv));
  EXPECT_THAT(good_codes, ::testing::Contains(result.exit_code)) << result.output;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady::now() - began);
  return static_cast<int>(took.count());
}

std::string torture::left_behind() {
  const auto deadline = steady::now() + longest_leaving;
  std::string names;
  for (std::vector<pid_t> all = own_children(); !all.empty(); all = own_children()) {
    for (const pid_t pid : all) {
      if (!ends_within(pid, ms_until(deadline))) {
        names += "left behind: " + command_line_of(pid) + "\n";
        ::kill(pid, SIGKILL);
      }
      ::waitpid(pid, nullptr, 0);
    }
  }
  return names;
}

std::string torture::running_probes() const {
  std::string names;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    const std::string line = pid > 0 ? command_line_of(pid) : "";
    const bool is_ours = line.find(std::string(" ") + PROFGATE_PROBE + " ") != std::string::npos &&
                         line.find(m_project.string()) != std::string::npos;
    if (is_ours) names += "measures: " + line + "\n";
  }
  return names;
}

std::string torture::unless(bool is_good, const std::string& complaint) {
  return is_good ? "" : complaint + "\n";
}

std::string torture::unless_ended(const ending& result, const std::vector<int>& good_codes) {
  const bool is_good = std::find(good_codes.begin(), good_codes.end(), result.exit_code) != good_codes.end();
  return unless(is_good, "ended with " + std::to_string(result.exit_code) + ": " + result.output);
}

void torture::count_round(bool was_hit, const std::string& complaint) {
  m_tried += 1;
  m_hit += was_hit ? 1 : 0;
  (complaint.empty() ? m_recovered : m_lost) += 1;
  if (!complaint.empty()) ADD_FAILURE() << "round " << m_tried << ": " << complaint;
}

std::string torture::damaged_json(const fs::path& folder) {
  std::string damaged;
  std::error_code gone;
  for (fs::recursive_directory_iterator it(folder, gone), end; !gone && it != end; it.increment(gone)) {
    const fs::path& file = it->path();
    if (!it->is_regular_file() || file.extension() != ".json") continue;
    if (!nlohmann::json::accept(read_text(file))) damaged += "is no JSON: " + file.string() + "\n";
  }
  return damaged;
}

std::string torture::damaged_history(const fs::path& file) {
  if (!fs::exists(file)) return "";
  sqlite3* database = nullptr;
  std::string answer = "does not open";
  if (sqlite3_open(file.c_str(), &database) == SQLITE_OK) {
    const auto keep = [](void* text, int, char** values, char**) {
      *static_cast<std::string*>(text) = values[0];
      return 0;
    };
    if (sqlite3_exec(database, "PRAGMA integrity_check", keep, &answer, nullptr) != SQLITE_OK)
      answer = sqlite3_errmsg(database);
  }
  sqlite3_close(database);
  return answer == "ok" ? "" : file.string() + ": " + answer + "\n";
}

std::string torture::read_text(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::map<std::string, std::string> torture::contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) contents[entry.path().string()] = read_text(entry.path());
  return contents;
}

fs::path torture::quick_build(const std::string& folder) {
  const fs::path made = register_probe({"--repetitions", "23", "--steps", "2", "--spin-iterations", "2000"});
  const fs::path manifest = m_project / folder / "profgate/pairs/probe.probe.json";
  fs::create_directories(manifest.parent_path());
  fs::rename(made, manifest);
  return manifest;
}

torture::words torture::ab_words(const fs::path& manifest, const std::string& baseline) const {
  return profgate_words({"ab", "--manifest", manifest.string(), "--baseline", baseline, "gate.screen_ratio=1",
                         "gate.confirm_ratio=1", "gate.unchanged_ratio=1"});
}

void torture::write_ctest_file(const fs::path& build_dir, const fs::path& manifest) const {
  std::ofstream file(build_dir / "CTestTestfile.cmake");
  std::string before;
  std::string all;
  for (const std::string step : {"prepare", "stage1", "timeline", "counters", "report", "gate", "prune"}) {
    file << "add_test(" << step << " \"" << m_program.string() << "\" step " << step << " --manifest \""
         << manifest.string() << "\")\nset_tests_properties(" << step
         << " PROPERTIES LABELS stage2 SKIP_RETURN_CODE 77 ";
    if (step == "prune") {
      file << "FIXTURES_CLEANUP \"" << all << "\")\n";
    } else {
      file << "FIXTURES_SETUP " << step << " FIXTURES_REQUIRED \"" << before << "\")\n";
      all += (all.empty() ? "" : ";") + step;
      before = step;
    }
  }
}

fs::path torture::recorded(const std::string& arm) {
  return fs::path(PROFGATE_TEST_DATA) / "gate/stored-same-build" / (arm + ".runs.json");
}

}  // namespace profgate::integration
