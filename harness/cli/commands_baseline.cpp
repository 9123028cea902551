#include <fmt/format.h>

#include "ab/comparison.h"
#include "artifacts/files.h"
#include "artifacts/provenance.h"
#include "artifacts/run_list.h"
#include "baselines/anchor.h"
#include "baselines/baseline_store.h"
#include "baselines/history.h"
#include "baselines/run_set_file.h"
#include "commands.h"
#include "comparison_request.h"
#include "core/units.h"
#include "core/utc_time.h"
#include "gate/comparability.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "gate/rank_statistics.h"
#include "installation.h"
#include "machine.h"
#include "measuring_turn.h"
#include "process/git.h"
#include "render/trend_views.h"
#include "run_set_source.h"
#include "steps/step.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// "Ada <ada@example.org>", by git's own settings; empty where it has none.
std::string git_author() {
  const auto setting = [](const char* key) {
    const std::string value = process::git_output({}, {"config", key}).value_or("");
    return value.substr(0, value.find('\n'));
  };
  const std::string name = setting("user.name");
  const std::string email = setting("user.email");
  return name.empty() || email.empty() ? name + email : fmt::format("{} <{}>", name, email);
}

/// What was asked for, else what the run has been configured with.
fs::path history_file_for(const std::optional<fs::path>& asked, const fs::path& run) {
  return asked ? *asked : history_file_of_run(run).value_or(default_history_file);
}

void refuse_to_replace(const fs::path& file) {
  if (fs::exists(file))
    throw core::bad_input(fmt::format("{} exists", file.string()), "name another file, or add --force");
}

/// The project is in git. A baseline of code that nobody can name is worth no run.
[[noreturn]] void tell_why_git_refuses(const fs::path& project_dir) {
  throw core::bad_input(
      fmt::format("git does not say which code {} has: {}", project_dir.string(),
                  process::git_complaint(project_dir)),
      fmt::format("let `git -C {0} status` work; of another user's folder: git config --global --add "
                  "safe.directory {1}",
                  project_dir.string(),
                  process::repository_around(project_dir).value_or(project_dir).string()));
}

void print_stages(const gate::run_set& runs) {
  for (const std::string& stage : gate::stages_of(runs)) {
    const std::vector<double> medians = gate::stage_medians_ns(runs, stage, gate::reduction_for(runs));
    const std::string middle =
        medians.empty() ? "-" : gate::sample_text(runs.units_of_figures, stage, gate::median_of(medians));
    const double spread_ratio = gate::spread_ratio_of(medians);
    const bool is_wide = spread_ratio > gate::stored_rules{}.ratio;
    print("  {:<16} {:>12}  median of {} processes that count{}\n", stage, middle, medians.size(),
          is_wide
              ? fmt::format("; the middle half of them spreads over {:.1f} %, as on a busy machine: better "
                            "record it again, on a quiet one",
                            100 * spread_ratio)
              : "");
  }
}

}  // namespace

core::exit_code baseline_save(const baseline_save_options& options) {
  const baselines::stored_run_set stored = run_set_of(options.source);
  if (!options.force) refuse_to_replace(options.out);
  baselines::write_run_set(options.out, stored);
  print("{}\n", options.out.string());
  return core::exit_code::good;
}

core::exit_code baseline_list(const fs::path& baselines_dir) {
  std::vector<fs::path> names = baselines::list_baselines(baselines_dir);
  const std::vector<fs::path> anchors = baselines::list_anchors(baselines_dir);
  names.insert(names.end(), anchors.begin(), anchors.end());
  if (names.empty()) print("no baselines in {}\n", baselines_dir.string());
  core::exit_code code = core::exit_code::good;
  for (const fs::path& name : names) {
    try {
      const baselines::stored_run_set stored = baselines::read_run_set(baselines_dir / name);
      const gate::build_identity& identity = stored.runs.identity;
      print("{}\n  {} on {}, commit {}", name.string(), identity.pair,
            gate::device_words(gate::device_text(identity)), gate::commit_text(identity));
      if (stored.accepted.empty()) {
        print(", never accepted\n");
      } else {
        const baselines::acceptance& last = stored.accepted.back();
        print(", accepted {} by {}: {}\n", last.accepted_utc.substr(0, 10), last.author, last.reason);
      }
    } catch (const core::error& damaged) {  // the others are still worth listing
      print("{}\n  {}\n  to fix it: {}\n", name.string(), damaged.what(), damaged.remedy());
      code = core::exit_code::bad_input;
    }
  }
  return code;
}

core::exit_code baseline_show(const baseline_show_options& options) {
  const fs::path file = baselines::resolve_baseline(options.baselines_dir, options.name);
  const baselines::stored_run_set stored = baselines::read_run_set(file);
  const gate::build_identity& identity = stored.runs.identity;
  print("{}\n  pair             {}\n  device           {}\n  settings         {}\n", file.string(),
        identity.pair, gate::device_words(gate::device_text(identity)), identity.config_sha256);
  print("  commit           {}\n  measured         {} on {}\n  content          {}\n",
        gate::commit_text(identity), stored.runs.created_utc, identity.host, stored.content_sha256);
  std::size_t packages = 0;
  for (const auto& [name, version] : identity.versions) {
    if (gate::is_package(name)) {
      ++packages;  // hundreds, of an environment of Python
    } else {
      print("  {:<16} {}\n", name, version);
    }
  }
  if (packages > 0) print("  packages         {} of them\n", packages);
  print_stages(stored.runs);
  for (const baselines::acceptance& accepted : stored.accepted) {
    print("  accepted         {} by {}, commit {}: {}\n", accepted.accepted_utc, accepted.author,
          accepted.commit.substr(0, 7), accepted.reason);
  }
  return core::exit_code::good;
}

core::exit_code baseline_accept(const baseline_accept_options& options) {
  const baselines::stored_run_set candidate = run_set_of(options.source);
  baselines::accept_request request;
  request.baselines_dir = options.baselines_dir;
  request.history_file = history_file_for(options.history_file, options.source);
  request.reason = options.reason;
  request.author = git_author();
  request.replaces_sha256 = options.replaces;
  const baselines::accepted_baseline accepted = baselines::accept_baseline(candidate, request);
  print("{}\n", accepted.file.string());
  print_stages(accepted.stored.runs);
  if (accepted.stored.runs.identity.commit.empty())
    print_error("note: the run set names no commit: which code it is of cannot be said\n");
  print("commit this file: it is the baseline of {} from now on\n", accepted.stored.runs.identity.pair);
  return core::exit_code::good;
}

core::exit_code baseline_anchor(const baseline_anchor_options& options) {
  const fs::path baseline = baselines::resolve_baseline(options.baselines_dir, options.baseline);
  const fs::path anchor =
      baselines::set_anchor(options.baselines_dir, baseline, options.name,
                            options.force ? baselines::move_anchor::yes : baselines::move_anchor::no);
  print("{}\ncommit this file, and judge against it: gate.anchor={}\n", anchor.string(), options.name);
  return core::exit_code::good;
}

core::exit_code baseline_record(const baseline_record_options& options) {
  if (options.out && !options.force) refuse_to_replace(*options.out);
  const pair_manifest pair = manifest_of(options.pair);
  const config::resolved config = compose_for(pair, options.pair.overrides);
  const code_state code = state_of_code(
      pair.project_dir,
      artifacts::gather_git_facts(pair.project_dir, config.text("gate.baselines_dir"), process::git_output));
  if (code == code_state::unknown) tell_why_git_refuses(pair.project_dir);
  if (config.text("workload.device") == "cuda") take_gpu(artifacts::gather_gpu_facts());
  if (code == code_state::uncommitted)
    print_error("note: the code is not committed: what is recorded can be compared, but not be accepted\n");
  if (code == code_state::not_in_git)
    print_error("note: {} is not in git: which code is recorded cannot be said\n", pair.project_dir.string());
  baselines::stored_run_set stored;
  fs::path file;
  {
    progress display(fmt::format("{} record", pair.pair));
    const measuring_turn turn(display);
    const ab::surroundings where = surroundings_of(pair, config, display);
    file = options.out.value_or(where.folder /
                                fmt::format("{}.runs.json", core::utc_compact(core::utc_clock::now())));
    stored.runs = ab::run_one_arm(where, arm_of(pair, config, ""),
                                  static_cast<std::size_t>(options.processes), ab::traced_too::yes);
  }
  baselines::write_run_set(file, stored);
  const std::string shown = fs::proximate(file).string();
  if (code == code_state::uncommitted) {
    print("{}\nto have a baseline: commit the code, and record it again\n", shown);
  } else {
    print("{}\nto make it the baseline: profgate baseline accept {} --reason \"…\"\n", shown, shown);
  }
  return core::exit_code::good;
}

core::exit_code history_append(const history_append_options& options) {
  const baselines::stored_run_set stored = run_set_of(options.source);
  // The other build of a comparison: the anchor, where it is the one that the trend is drawn against.
  std::optional<gate::run_set> anchor;
  if (const auto other = other_arm_of(options.source); other && std::filesystem::is_directory(options.source))
    anchor = baselines::read_run_set(*other).runs;
  const fs::path history_file = history_file_for(options.history_file, options.source);
  // Before it is appended: a signal ends the hashing, and must not once the history has it.
  const std::string id = baselines::measurement_id(stored);
  const bool is_new = baselines::append_history(history_file, stored, baselines::history_kind::nightly,
                                                anchor ? &*anchor : nullptr);
  print("{} {}\n", id, is_new ? "appended to " + history_file.string() : "was there already");
  return core::exit_code::good;
}

core::exit_code history_show(const history_show_options& options) {
  baselines::trend_request request;
  request.stage = options.stage;
  request.anchor = options.anchor;
  const std::vector<artifacts::run_info> runs = artifacts::list_runs("tmp/stage2", options.pair);
  const fs::path history_file =
      history_file_for(options.history_file, runs.empty() ? fs::path() : runs.back().path);
  const std::vector<baselines::trend> trends =
      baselines::make_trends(options.pair, baselines::read_history(history_file, options.pair), request);
  if (!options.out) {
    print("{}", baselines::trends_markdown(trends));
    return core::exit_code::good;
  }
  const std::string extension = options.out->extension().string();
  if (extension != ".svg" && extension != ".md") {
    throw core::bad_input(fmt::format("cannot draw a trend as '{}'", options.out->string()),
                          "end the file's name in .svg or .md");
  }
  artifacts::write_file_atomically(
      *options.out, extension == ".svg" ? render::trends_svg(trends, find_installation().templates_dir)
                                        : baselines::trends_markdown(trends));
  const std::vector<std::string> changes = baselines::change_sentences(trends);
  for (const std::string& change : changes) print("{}\n", change);
  if (changes.empty()) print("no change of level was found\n");
  print("{}\n", options.out->string());
  return core::exit_code::good;
}

}  // namespace profgate::cli
