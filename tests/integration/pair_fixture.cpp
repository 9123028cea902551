#include "pair_fixture.h"

#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "artifacts/run_list.h"
#include "process/runner.h"

namespace profgate::integration {
namespace fs = std::filesystem;
namespace {

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

std::string command_result::last_line() const {
  const std::size_t end = output.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t start = output.rfind('\n', end);
  return output.substr(start == std::string::npos ? 0 : start + 1,
                       end - (start == std::string::npos ? 0 : start + 1) + 1);
}

void pair_fixture::SetUp() {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string name =
      "profgate-" + std::to_string(getpid()) + "-" + test.test_suite_name() + "." + test.name();
  std::replace(name.begin(), name.end(), '/', '.');  // of a suite with parameters: one folder, not two
  m_project = fs::path(::testing::TempDir()) / name;
  ASSERT_EQ(m_project.filename(), name) << "TearDown would leave a folder around it";
  fs::create_directories(m_project);
  write_text(m_project / "conf/workload/probe.yaml",
             "name: probe\ndevice: cpu\nstages: [prefill, decode_all]\n");
  // Tests of faults do not wait for each other: nobody compares their times.
  m_environment = {{"PROFGATE_OVERRIDES", "timeline=embedded"}, {"PROFGATE_LOCK_DIR", m_project.string()}};
}

void pair_fixture::use_git_identity() {
  write_text(m_project / "gitconfig", "[user]\n  name = Ada\n  email = ada@example.org\n");
  m_environment["GIT_CONFIG_GLOBAL"] = (m_project / "gitconfig").string();
  m_environment["GIT_CONFIG_NOSYSTEM"] = "1";
}

void pair_fixture::TearDown() {
  if (!HasFailure()) fs::remove_all(m_project);
}

fs::path pair_fixture::register_probe(const std::vector<std::string>& words, const std::string& model) {
  std::vector<std::string> argv = {PROFGATE_PROBE, "--config", "{config}", "--mode",
                                   "{mode}",       "--result", "{result}"};
  argv.insert(argv.end(), words.begin(), words.end());
  nlohmann::json manifest = {
      {"schema_version", 1},
      {"pair", model + ".probe"},
      {"model", model},
      {"config", "probe"},
      {"device", "cpu"},
      {"engine", nullptr},
      {"model_choice", nullptr},
      {"workload_choice", "probe"},
      {"command", argv},
      {"command_has_placeholders", true},
      {"working_directory", m_project.string()},
      {"project_dir", m_project.string()},
      {"conf_dirs", {(m_project / "conf").string(), PROFGATE_CONF}},
      {"overrides", nlohmann::json::array()},
      {"profgate_version", "test"},
      {"build", {{"type", "test"}, {"compiler", "test"}, {"compiler_version", "0"}, {"flags", ""}}}};
  const fs::path file = m_project / (model + ".probe.json");
  write_text(file, manifest.dump());
  return file;
}

fs::path pair_fixture::register_llm(const std::string& model_choice, const std::string& workload_choice,
                                    const std::vector<std::string>& overrides) {
  nlohmann::json manifest = nlohmann::json::parse(std::ifstream(register_probe({})));
  const std::string model = fs::path(model_choice).filename().string();
  manifest["pair"] = model + "." + workload_choice;
  manifest["model"] = model;
  manifest["config"] = workload_choice;
  manifest["engine"] = "llm";
  manifest["model_choice"] = model_choice;
  manifest["workload_choice"] = workload_choice;
  manifest["command"] = {PROFGATE_LLM, "--config", "{config}", "--mode", "{mode}", "--result", "{result}"};
  manifest["overrides"] = overrides;
  const fs::path file = m_project / (model + "." + workload_choice + ".json");
  write_text(file, manifest.dump());
  return file;
}

fs::path pair_fixture::register_contract(const std::vector<std::string>& argv) {
  const fs::path file = register_probe({}, "command");
  nlohmann::json manifest = nlohmann::json::parse(std::ifstream(file));
  manifest["command"] = argv;
  write_text(file, manifest.dump());
  return file;
}

fs::path pair_fixture::register_command(const std::vector<std::string>& argv) {
  const fs::path file = register_contract(argv);
  nlohmann::json manifest = nlohmann::json::parse(std::ifstream(file));
  manifest["command_has_placeholders"] = false;
  write_text(file, manifest.dump());
  return file;
}

fs::path pair_fixture::build_of(const fs::path& manifest, const std::string& folder,
                                const std::string& pair) {
  const fs::path target = m_project / folder / "profgate/pairs" / (pair + ".json");
  fs::create_directories(target.parent_path());
  fs::rename(manifest, target);
  return target;
}

std::vector<fs::path> pair_fixture::files_ending(const std::string& ending) const {
  std::vector<fs::path> found;
  std::error_code gone;
  for (fs::recursive_directory_iterator it(stage2_dir() / "ab", gone), end; !gone && it != end;
       it.increment(gone)) {
    if (it->path().string().ends_with(ending)) found.push_back(it->path());
  }
  return found;
}

command_result pair_fixture::profgate(const std::vector<std::string>& words,
                                      const std::function<std::optional<std::string>()>& stop_request) const {
  std::vector<std::string> argv = {m_program.string()};
  argv.insert(argv.end(), words.begin(), words.end());
  return run(argv, stop_request);
}

command_result pair_fixture::run(const std::vector<std::string>& argv,
                                 const std::function<std::optional<std::string>()>& stop_request) const {
  process::command command;
  command.argv = argv;
  command.set_environment = m_environment;
  command.working_directory = m_project;
  command_result result;
  process::run_options options;
  options.stop_request = stop_request;
  options.on_line = [&](std::string_view line) { result.output += std::string(line) + "\n"; };
  const process::outcome outcome = process::run(command, options);
  if (outcome.how == process::ending::exited) result.exit_code = outcome.exit_code;
  result.left_behind = outcome.killed_leftovers;
  return result;
}

command_result pair_fixture::run_program(const std::vector<std::string>& settings,
                                         const std::vector<std::string>& argv) const {
  std::vector<std::string> words = {"run"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.emplace_back("--");
  words.insert(words.end(), argv.begin(), argv.end());
  return profgate(words);
}

command_result pair_fixture::run_pair(const fs::path& manifest,
                                      const std::vector<std::string>& overrides) const {
  std::vector<std::string> words = {"run", "--manifest", manifest.string()};
  words.insert(words.end(), overrides.begin(), overrides.end());
  return profgate(words);
}

std::vector<fs::path> pair_fixture::runs() const {
  std::vector<fs::path> paths;
  for (const artifacts::run_info& run : artifacts::list_runs(stage2_dir())) paths.push_back(run.path);
  return paths;
}

fs::path pair_fixture::latest_run() const {
  const std::vector<fs::path> all = runs();
  return all.empty() ? fs::path("no run directory") : all.back();
}

artifacts::step_status pair_fixture::status_of(const std::string& step) const {
  const std::optional<artifacts::step_status> status = artifacts::read_status(latest_run(), step);
  if (!status) ADD_FAILURE() << step << " has no status.json in " << latest_run();
  return status.value_or(artifacts::step_status{});
}

std::string pair_fixture::text_of(const std::string& file_in_latest_run) const {
  std::ifstream stream(latest_run() / file_in_latest_run);
  EXPECT_TRUE(stream.good()) << latest_run() / file_in_latest_run;
  return (std::ostringstream() << stream.rdbuf()).str();
}

mounted_tmpfs::mounted_tmpfs(fs::path where, const std::string& options) : m_where(std::move(where)) {
  fs::create_directories(m_where);
  m_is_mounted = mount("tmpfs", m_where.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

mounted_tmpfs::~mounted_tmpfs() {
  if (m_is_mounted) umount2(m_where.c_str(), MNT_DETACH);
}

void mounted_tmpfs::make_read_only() {
  ASSERT_EQ(mount("tmpfs", m_where.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
}

}  // namespace profgate::integration
