#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "ad_hoc_pair.h"
#include "artifacts/files.h"
#include "artifacts/run_store.h"
#include "commands.h"
#include "config/schema.h"
#include "make_reports.h"
#include "render/render.h"
#include "save_workload.h"
#include "steps/run_command.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// The worse of two results: a failure over a skip over good.
core::exit_code worse(core::exit_code a, core::exit_code b) {
  const auto rank = [](core::exit_code code) {
    return code == core::exit_code::good ? 0 : code == core::exit_code::not_possible ? 1 : 2;
  };
  return rank(b) > rank(a) ? b : a;
}

/// Without `parent` nobody waits for this step, and the next ctest would start beside it: it is interrupted.
void end_when_gone(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A ctest that was killed before this step asked for its parent: the one who adopts orphans stands there,
  // such as init. It lives on, and the run that it would own could never be taken over.
  const pid_t session = ::getsid(parent);
  const bool is_adopted = parent > 0 && session > 0 && session != ::getsid(0);
  if (is_adopted || getppid() != parent) ::raise(SIGTERM);  // it was gone already
}

/// A setting that stands behind the program is a word of the program's own.
void note_settings_of_program(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || config::find_row(word.substr(0, equals)) == nullptr) continue;
    print_error(
        "note: '{}' stands behind the --, so the program gets it; settings of profgate stand before\n", word);
  }
}

}  // namespace

pair_manifest manifest_of(const pair_options& options) {
  if (!options.command.empty()) return ad_hoc_pair(options.command);
  if (options.manifest) return read_pair_manifest(*options.manifest);
  require_pair_name(options.pair);
  return find_pair(find_build_dir(options.build_dir), options.pair);
}

core::exit_code show_config(const pair_options& options) {
  print("{}", compose_for(manifest_of(options), options.overrides).to_yaml_with_origins());
  return core::exit_code::good;
}

core::exit_code step(const step_options& options) {
  const pid_t ctest = getppid();
  end_when_gone(ctest);
  // All steps of one ctest have the same parent: that is what ties them to one run.
  return run_step(options.step, read_pair_manifest(manifest_here(options.manifest)),
                  artifacts::owner_of(ctest), {});
}

core::exit_code run(const pair_options& options) {
  pair_manifest manifest = manifest_of(options);
  require_programs(manifest, compose_for(manifest, options.overrides));
  note_settings_of_program(options.command);
  std::optional<saved_workload> saved;
  if (!options.save.empty()) saved = plan_saving(options, manifest);
  manifest.is_being_saved = saved.has_value();
  const artifacts::process_owner owner = artifacts::owner_of(getpid());
  constexpr outcome_told told = outcome_told::by_caller;
  core::exit_code prepared = run_step("prepare", manifest, owner, options.overrides, told);
  core::exit_code result = prepared;
  for (const step_definition& step : all_steps()) {
    if (step.name == "prepare" || step.name == "prune") continue;
    if (prepared != core::exit_code::good || result == core::exit_code::interrupted) break;
    const core::exit_code code = run_step(step.name, manifest, owner, options.overrides, told);
    // A step that this pair can do without (no kernels to count, no baseline) does not make the run a skip.
    if (code != core::exit_code::not_possible || step.name == "stage1") result = worse(result, code);
    if (result != core::exit_code::good) break;
  }
  run_step("prune", manifest, owner, options.overrides, told);
  if (saved && result == core::exit_code::good) save_workload(*saved);
  const fs::path stage2_dir = stage2_dir_of(manifest, compose_for(manifest, options.overrides));
  const auto current = artifacts::run_store(stage2_dir).current(manifest.pair);
  if (current && prepared == core::exit_code::good) print_outcome(current->run_directory);
  return result;
}

}  // namespace profgate::cli
