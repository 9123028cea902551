// What a run's folder and a stored baseline hold.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "analysis/profile.h"
#include "artifacts/provenance.h"
#include "artifacts/status.h"
#include "baselines/run_set_file.h"
#include "fuzz_targets.h"
#include "memory_file.h"
#include "parsers/workload_result.h"
#include "render/verdict_json.h"

namespace profgate::fuzz {
namespace {

/// A run's folder in memory whose timeline's status is `file`.
class run_around {
 public:
  explicit run_around(const std::filesystem::path& file) : m_folder(file.string() + ".run") {
    const std::filesystem::path place = m_folder / artifacts::folder_of_step("timeline");
    std::filesystem::create_directories(place);
    std::filesystem::create_symlink(file, place / "status.json");
  }
  ~run_around() {
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
  }
  run_around(const run_around&) = delete;
  run_around& operator=(const run_around&) = delete;
  const std::filesystem::path& path() const { return m_folder; }

 private:
  std::filesystem::path m_folder;
};

}  // namespace

/// The env.json of a run that goes on: facts are added to it.
void read_environment(std::string_view bytes) {
  artifacts::with_late_facts(std::string(bytes), {});
}

/// What render and compare are given.
void read_profile(std::string_view bytes) {
  analysis::validate_profile(std::string(bytes), "fuzzed");
}

void read_result(std::string_view bytes) {
  parsers::parse_workload_result(std::string(bytes), "fuzzed");
}

/// What was read is written and read again to the same bytes.
void read_run_set(std::string_view bytes) {
  const std::string text = baselines::run_set_text(baselines::parse_run_set(bytes, "fuzzed"));
  if (baselines::run_set_text(baselines::parse_run_set(text, "written")) != text) std::abort();
}

void read_status(std::string_view bytes) {
  static const memory_file file;
  static const run_around run(file.path());
  file.set(bytes);
  artifacts::read_status(run.path(), "timeline");
}

void read_verdict(std::string_view bytes) {
  render::read_verdict(std::string(bytes), "fuzzed");
}

}  // namespace profgate::fuzz
