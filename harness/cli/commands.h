#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "baselines/anchor.h"
#include "core/error.h"
#include "pair_manifest.h"

/// One function a command; main.cpp fills the options from the command line.
namespace profgate::cli {

struct doctor_options {
  bool as_json = false;
  std::filesystem::path runs_dir = "tmp/stage2";
  std::string require;  ///< "gpu,nsys": a failure where one of them is not there
};
core::exit_code doctor(const doctor_options& options);

struct list_options {
  std::optional<std::filesystem::path> build_dir;
};
core::exit_code list(const list_options& options);

/// Names a pair: by its name in a build folder, by its manifest, or by any command, which is a pair of its
/// own.
struct pair_options {
  std::string pair;
  std::vector<std::string> command;  ///< what stood after `--`
  // The command is a server's, a further `--` and its client's.
  std::optional<int> ready_port;
  std::string ready_text;
  std::string adapter;  ///< has become an override already
  std::string save;     ///< of `run`: the configuration that the command is to become; empty: none
  std::optional<std::filesystem::path> manifest;
  std::optional<std::filesystem::path> build_dir;
  std::vector<std::string> overrides;
};
pair_manifest manifest_of(const pair_options& options);
core::exit_code show_config(const pair_options& options);
core::exit_code run(const pair_options& options);

struct ab_options {
  pair_options pair;
  std::string baseline;
  std::vector<std::string> baseline_overrides;
  std::vector<std::string> candidate_overrides;
  std::optional<std::filesystem::path> out;
  std::string candidate;    ///< a commit or a build folder; empty: the pair as it is built
  bool for_bisect = false;  ///< 125 where a commit cannot be judged
  bool is_exact = false;    ///< with for_bisect: bisect_exactly
};
core::exit_code compare_builds(const ab_options& options);

/// The first commit after options.baseline whose exact evidence is that of options.candidate: one traced
/// process a commit, no times.
core::exit_code bisect_exactly(const ab_options& options);

struct step_options {
  std::string step;
  std::filesystem::path manifest;
};
core::exit_code step(const step_options& options);

struct session_options {
  std::optional<std::filesystem::path> build_dir;
  bool is_before_ctest = false;
  bool is_after_ctest = false;
};
core::exit_code session(const session_options& options);

/// For whom the tests of the ctest which starts this process will wait, as ctest keeps what they say of it.
core::exit_code tell_before_ctest();

/// Of the pairs that the ctest which started this process has run, the same lines; never anything but good,
/// for ctest has its result already.
core::exit_code tell_after_ctest(const session_options& options);

/// `run` is the path of a run directory.
core::exit_code analyze(const std::filesystem::path& run);

/// Files of profilers that came from elsewhere, without a run around them.
struct analyze_files_options {
  std::vector<std::filesystem::path> timelines;  ///< nsys's SQLite exports or the collector's recordings
  std::vector<std::filesystem::path> counters;   ///< ncu's CSVs
  std::filesystem::path out;
  std::vector<std::string> overrides;
};
core::exit_code analyze_files(const analyze_files_options& options);

core::exit_code render(const std::filesystem::path& run,
                       const std::optional<std::filesystem::path>& templates_dir);

struct baseline_record_options {
  pair_options pair;
  int processes = 10;
  std::optional<std::filesystem::path> out;
  bool force = false;
};
core::exit_code baseline_record(const baseline_record_options& options);

/// Whether this machine's noise lets the gate do its work: an unchanged build must pass, a planted slowdown
/// fail.
struct self_test_options {
  pair_options pair;
  double planted_ratio = 0.1;
};
core::exit_code gate_self_test(const self_test_options& options);

struct baseline_save_options {
  std::filesystem::path source;  ///< a run directory, a comparison's folder or a run set's file
  std::filesystem::path out;
  bool force = false;
};
core::exit_code baseline_save(const baseline_save_options& options);

inline constexpr const char* default_baselines_dir = "conf/baselines";
inline constexpr const char* default_history_file = "tmp/history.sqlite";  ///< where no run says another

core::exit_code baseline_list(const std::filesystem::path& baselines_dir);

struct baseline_show_options {
  std::string name;  ///< as `baseline list` shows it, a pair, or a path
  std::filesystem::path baselines_dir = default_baselines_dir;
};
core::exit_code baseline_show(const baseline_show_options& options);

struct baseline_accept_options {
  std::filesystem::path source;
  std::string reason;
  std::optional<std::string> replaces;  ///< content_sha256 of the baseline it is to replace; "": none
  std::filesystem::path baselines_dir = default_baselines_dir;
  std::optional<std::filesystem::path> history_file;
};
core::exit_code baseline_accept(const baseline_accept_options& options);

struct baseline_anchor_options {
  std::string baseline;  ///< as `baseline list` shows it, a pair, or a path
  std::string name = "release";
  bool force = false;
  std::filesystem::path baselines_dir = default_baselines_dir;
};
core::exit_code baseline_anchor(const baseline_anchor_options& options);

/// Judges two run sets that were recorded, without running anything.
struct judge_files_options {
  std::filesystem::path run;  ///< of judge_run: a run directory whose gate ran
  std::filesystem::path baseline;
  std::filesystem::path candidate;
  std::optional<std::filesystem::path> config;  ///< a run's config.yaml; nothing: the default rules
  bool as_stored = false;                       ///< even where they are two arms of one comparison
  bool inconclusive_fails = false;
  std::optional<std::filesystem::path> out;  ///< folder for gate.md, gate.svg, verdict.json
  std::filesystem::path baselines_dir = default_baselines_dir;  ///< has the waivers
  std::optional<baselines::anchor_place> anchor;                ///< of judge_run: as its configuration has it
};
core::exit_code judge_files(const judge_files_options& options);

/// A run's recorded processes against the other build of their comparison, or else the stored baseline of
/// their key, by the run's own rules.
core::exit_code judge_run(judge_files_options options);

struct history_append_options {
  std::filesystem::path source;
  std::optional<std::filesystem::path> history_file;
};
core::exit_code history_append(const history_append_options& options);

struct history_show_options {
  std::string pair;
  std::optional<std::string> stage;
  std::optional<std::string> anchor;
  std::optional<std::filesystem::path> out;
  std::optional<std::filesystem::path> history_file;
};
core::exit_code history_show(const history_show_options& options);

/// `a` and `b`: see compare_inputs.h.
struct compare_options {
  std::string a;
  std::string b;
  std::filesystem::path runs_dir = "tmp/stage2";
  std::filesystem::path baselines_dir = default_baselines_dir;
  std::optional<std::string> pair;
  std::optional<std::filesystem::path> out;
  bool as_json = false;
};
core::exit_code compare(const compare_options& options);

struct compare_models_options {
  std::vector<std::string> pairs;  ///< empty: all that have runs
  std::filesystem::path runs_dir = "tmp/stage2";
  std::optional<std::filesystem::path> out;
  bool as_json = false;
};
core::exit_code compare_models(const compare_models_options& options);
/// models.json of the latest runs; `place`: the folder that it will lie in.
std::string models_table(const std::filesystem::path& runs_dir, const std::vector<std::string>& pairs,
                         const std::filesystem::path& place);

struct clean_options {
  std::filesystem::path runs_dir = "tmp/stage2";
  std::optional<std::string> pair;
  std::optional<int> keep;
  std::optional<int> older_than_days;
  std::filesystem::path baselines_dir = default_baselines_dir;  ///< runs that these come from stay
  bool everything = false;
  bool yes = false;
};
core::exit_code clean(const clean_options& options);

}  // namespace profgate::cli
