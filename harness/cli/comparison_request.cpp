#include "comparison_request.h"

#include <fmt/format.h>

#include "ab/baseline_build.h"
#include "artifacts/packages.h"
#include "artifacts/redact.h"
#include "core/error.h"
#include "core/escape.h"
#include "gate/run_set.h"
#include "installation.h"
#include "machine.h"
#include "process/command.h"
#include "process/git.h"
#include "steps/step.h"
#include "workload/server_settings.h"

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

/// The options that say when a server is ready.
std::vector<std::string> ready_words(const config::resolved& settings) {
  if (!settings.is_null("workload.server.ready_port"))
    return {"--ready-port", std::to_string(settings.integer("workload.server.ready_port"))};
  return {"--ready-text", settings.text("workload.server.ready_text")};
}

}  // namespace

code_state state_of_code(const fs::path& project_dir, const artifacts::git_facts& git) {
  if (git.commit && git.dirty) return *git.dirty ? code_state::uncommitted : code_state::committed;
  if (!process::repository_around(project_dir)) return code_state::not_in_git;
  return git.dirty ? code_state::uncommitted : code_state::unknown;
}

ab::arm_build arm_of(const pair_manifest& manifest, const config::resolved& config, const std::string& name) {
  const artifacts::git_facts git = artifacts::gather_git_facts(
      manifest.project_dir, config.text("gate.baselines_dir"), process::git_output);
  ab::arm_build arm{config, name, manifest.command, manifest.command_has_placeholders};
  arm.is_of_engine = manifest.engine.has_value();
  arm.working_directory = manifest.working_directory;
  arm.commit = git.commit.value_or("");
  // What git does not say is not taken for committed: nobody could build it again.
  const code_state code = state_of_code(manifest.project_dir, git);
  arm.is_dirty = code == code_state::uncommitted || code == code_state::unknown;
  if (manifest.build.compiler) arm.versions["compiler"] = *manifest.build.compiler;
  if (manifest.build.type) arm.versions["build_type"] = *manifest.build.type;
  for (const auto& [package, version] :
       artifacts::gather_packages(manifest.command, manifest.working_directory)) {
    arm.versions[package] = version ? *version : gate::unknown_prefix + version.reason();
  }
  if (arm.name.empty()) arm.name = short_commit(arm).empty() ? manifest.pair : short_commit(arm);
  return arm;
}

ab::arm_build build_named(const pair_manifest& pair, const std::string& wanted,
                          const config::resolved& settings, const ab::surroundings& where) {
  // CTest runs tests elsewhere: what a person calls build/dev is that of the project.
  const fs::path folder = is_build_dir(wanted) ? fs::absolute(wanted) : pair.project_dir / wanted;
  if (is_build_dir(folder)) {
    const pair_manifest there = read_pair_manifest(manifest_in(folder.lexically_normal(), pair.pair));
    ab::arm_build arm = arm_of(there, settings, wanted);
    if (there.project_dir == pair.project_dir) {
      // What is checked out there now need not be what that folder was built from.
      arm.commit.clear();
      arm.is_dirty = false;
    }
    return arm;
  }
  ab::baseline_request request;
  request.project_dir = pair.project_dir;
  request.build_dir = build_dir_of(pair);
  request.ref = wanted;
  request.pair = pair.pair;
  request.say = where.say;
  request.now_running = where.now_running;
  request.refresh = where.refresh;
  const ab::baseline_build built = ab::provide_baseline(request);
  const bool is_hash = built.commit.starts_with(wanted);
  ab::arm_build arm = arm_of(read_pair_manifest(manifest_in(built.build_dir, pair.pair)), settings,
                             is_hash ? wanted : fmt::format("{} ({})", wanted, built.commit.substr(0, 7)));
  arm.commit = built.commit;
  arm.is_dirty = false;
  return arm;
}

ab::surroundings surroundings_of(const pair_manifest& manifest, const config::resolved& config,
                                 progress& display) {
  ab::surroundings where;
  where.pair = manifest.pair;
  where.model = manifest.model;
  where.folder = stage2_dir_of(manifest, config) / "ab" / manifest.pair;
  const installation parts = find_installation();
  where.collector_library = parts.collector_library;
  where.process_noter = parts.process_noter;
  where.machine = this_machine(parts.collector_library);
  where.pytorch_adapter = parts.pytorch_adapter;
  where.profgate_version = PROFGATE_VERSION;
  where.say = [&display](const std::string& line) { display.note(line); };
  where.now_running = [&display](const std::string& what) { display.show(what); };
  where.refresh = [&display] { display.refresh(); };
  return where;
}

ab::request request_of_commands(const pair_manifest& baseline, const pair_manifest& candidate,
                                const comparison_options& options, progress& display) {
  ab::surroundings where = surroundings_of(candidate, options.candidate_settings, display);
  if (options.out) where.folder = fs::absolute(*options.out);
  if (options.candidate_settings.text("workload.device") == "cuda") take_gpu(artifacts::gather_gpu_facts());
  const auto shown = [](const std::vector<std::string>& words) {
    return process::quote_for_display(artifacts::redact_argv(words));
  };
  const auto with_client = [&](const pair_manifest& arm, const config::resolved& settings) {
    return shown(arm.command) + " -- " + shown(settings.list("workload.client"));
  };
  // A client that both have is not what they are told apart by.
  const bool have_own_clients =
      options.baseline_settings.list("workload.client") != options.candidate_settings.list("workload.client");
  const auto named = [&](const pair_manifest& arm, const config::resolved& settings) {
    constexpr std::size_t longest_bytes = 120;
    return core::shorten_middle(have_own_clients ? with_client(arm, settings) : shown(arm.command),
                                longest_bytes);
  };
  std::string typed_words;
  if (config::has_adapter(options.candidate_settings))
    typed_words = "--adapter " + options.candidate_settings.text("workload.adapter") + " ";
  const bool is_server = workload::is_server(options.candidate_settings);
  if (is_server) typed_words += shown(ready_words(options.candidate_settings)) + " ";
  for (const std::string& setting : options.typed) {
    const bool is_option =
        setting.starts_with("workload.adapter=") || setting.starts_with("workload.server.ready_port=") ||
        setting.starts_with("workload.server.ready_text=") || setting.starts_with("workload.client=");
    if (!is_option && !setting.starts_with("gate."))
      typed_words += process::quote_for_display({setting}) + " ";
  }
  const auto typed_arm = [&](const pair_manifest& arm, const config::resolved& settings) {
    ab::arm_build build = arm_of(arm, settings, named(arm, settings));
    build.is_typed = true;
    return build;
  };
  return {
      std::move(where), typed_arm(baseline, options.baseline_settings),
      typed_arm(candidate, options.candidate_settings),
      fmt::format("profgate run {}-- {}", typed_words,
                  is_server ? with_client(candidate, options.candidate_settings) : shown(candidate.command))};
}

ab::request comparison_request(const pair_manifest& pair, const comparison_options& options,
                               progress& display) {
  ab::surroundings where = surroundings_of(pair, options.candidate_settings, display);
  if (options.out) where.folder = fs::absolute(*options.out);

  // Before anything is built for nothing.
  if (options.candidate_settings.text("workload.device") == "cuda") take_gpu(artifacts::gather_gpu_facts());

  ab::arm_build baseline = build_named(pair, options.baseline, options.baseline_settings, where);
  ab::arm_build candidate = options.candidate.empty()
                                ? arm_of(pair, options.candidate_settings, "")
                                : build_named(pair, options.candidate, options.candidate_settings, where);
  return {std::move(where), std::move(baseline), std::move(candidate),
          fmt::format("profgate run {}", pair.pair)};
}

}  // namespace profgate::cli
