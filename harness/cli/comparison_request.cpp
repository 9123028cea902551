#include "comparison_request.h"

#include <fmt/format.h>

#include "ab/baseline_build.h"
#include "artifacts/git_facts.h"
#include "core/error.h"
#include "installation.h"
#include "machine.h"
#include "steps/run_command.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

std::string short_commit(const ab::arm_build& arm) {
  return arm.commit.empty() ? "" : arm.commit.substr(0, 7) + (arm.is_dirty ? " with changes" : "");
}

/// What the manifest of a build folder says it is called.
fs::path manifest_in(const fs::path& build_dir, const std::string& pair) {
  return build_dir / "profgate" / "pairs" / (pair + ".json");
}

bool is_build_dir(const fs::path& folder) {
  return fs::is_directory(folder / "profgate" / "pairs");
}

}  // namespace

ab::arm_build arm_of(const pair_manifest& manifest, const config::resolved& config, const std::string& name) {
  const artifacts::git_facts git = artifacts::gather_git_facts(manifest.project_dir, output_of);
  ab::arm_build arm{config, name, manifest.command, manifest.command_has_placeholders,
                    manifest.working_directory};
  arm.commit = git.commit.value().value_or("");
  arm.is_dirty = git.dirty.value().value_or(false);
  arm.versions = {{"compiler", manifest.build.compiler + " " + manifest.build.compiler_version},
                  {"build_type", manifest.build.type}};
  if (arm.name.empty()) arm.name = short_commit(arm).empty() ? manifest.pair : short_commit(arm);
  return arm;
}

ab::surroundings surroundings_of(const pair_manifest& manifest, const config::resolved& config,
                                 progress& display) {
  ab::surroundings where;
  where.pair = manifest.pair;
  where.model = manifest.model;
  where.folder = stage2_dir_of(manifest, config) / "ab" / manifest.pair;
  where.collector_library = find_installation().collector_library;
  where.profgate_version = PROFGATE_VERSION;
  where.say = [&display](const std::string& line) { display.note(line); };
  where.now_running = [&display](const std::string& what) { display.show(what); };
  where.refresh = [&display] { display.refresh(); };
  return where;
}

ab::request comparison_request(const pair_manifest& candidate, const comparison_options& options,
                               progress& display) {
  ab::surroundings where = surroundings_of(candidate, options.candidate_settings, display);
  if (options.out) where.folder = fs::absolute(*options.out);

  // Before anything is built for nothing.
  if (options.candidate_settings.text("workload.device") == "cuda")
    require_gpu(artifacts::gather_gpu_facts());

  fs::path build_dir = options.baseline;
  std::string name = options.baseline;
  std::string commit;
  if (is_build_dir(build_dir)) {
    build_dir = fs::absolute(build_dir).lexically_normal();
  } else {
    ab::baseline_request wanted;
    wanted.project_dir = candidate.project_dir;
    wanted.build_dir = build_dir_of(candidate);
    wanted.ref = options.baseline;
    wanted.pair = candidate.pair;
    wanted.say = where.say;
    wanted.now_running = where.now_running;
    wanted.refresh = where.refresh;
    const ab::baseline_build built = ab::provide_baseline(wanted);
    build_dir = built.build_dir;
    commit = built.commit;
    const bool is_hash = commit.starts_with(options.baseline);
    name = is_hash ? options.baseline : fmt::format("{} ({})", options.baseline, commit.substr(0, 7));
  }
  const pair_manifest old = read_pair_manifest(manifest_in(build_dir, candidate.pair));
  ab::arm_build baseline = arm_of(old, options.baseline_settings, name);
  if (!commit.empty()) {
    baseline.commit = commit;
    baseline.is_dirty = false;
  } else if (old.project_dir == candidate.project_dir) {
    // What is checked out there now need not be what that folder was built from.
    baseline.commit.clear();
    baseline.is_dirty = false;
  }
  ab::arm_build current = arm_of(candidate, options.candidate_settings, "");
  std::string look_deeper = fmt::format("profgate run {}", candidate.pair);
  return {std::move(where), std::move(baseline), std::move(current), std::move(look_deeper)};
}

}  // namespace profgate::cli
