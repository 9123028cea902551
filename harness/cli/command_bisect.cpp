#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "ab/comparison.h"
#include "artifacts/gpu_facts.h"
#include "commands.h"
#include "comparison_request.h"
#include "gate/exact_bisect.h"
#include "machine.h"
#include "measuring_turn.h"
#include "process/git.h"
#include "steps/step.h"
#include "terminal.h"

/// `ab --bisect --exact`: the whole bisection, one traced process a commit.
namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

/// Ends `git bisect run`, which takes every lower one but 0 and 125 for "bad".
constexpr auto bisect_abort = static_cast<core::exit_code>(128);

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string short_hash(const std::string& commit) {
  return commit.substr(0, 7);
}

/// The commits of one bisection; git knows which of them is in the middle, in histories with merges too.
class commit_range {
 public:
  commit_range(fs::path project, const std::string& good, const std::string& bad)
      : m_project(std::move(project)), m_good{commit_named(good)}, m_bad(commit_named(bad)) {
    if (m_good.front() == m_bad)
      throw core::bad_input(fmt::format("'{}' and '{}' are one commit", good, bad), "name two");
    if (!process::git_output(m_project, {"merge-base", "--is-ancestor", m_good.front(), m_bad})) {
      throw core::bad_input(fmt::format("'{}' is no ancestor of '{}'", good, bad),
                            "name as the baseline a commit that the candidate comes from");
    }
  }

  const std::string& good() const { return m_good.front(); }
  const std::string& bad() const { return m_bad; }  ///< the earliest that is known to be bad

  void tell_good(const std::string& commit) { m_good.push_back(commit); }
  void tell_bad(const std::string& commit) { m_bad = commit; }
  void skip(const std::string& commit) { m_skipped.push_back(commit); }

  /// All that may be the first bad one, the bad one among them; those in the middle first.
  std::vector<std::string> suspects() const {
    std::vector<std::string> words = {"rev-list", "--bisect-all", m_bad, "--not"};
    words.insert(words.end(), m_good.begin(), m_good.end());
    std::istringstream lines(process::git_output(m_project, words).value_or(""));
    std::vector<std::string> commits;
    for (std::string line; std::getline(lines, line);) commits.push_back(line.substr(0, line.find(' ')));
    return commits;
  }

  /// The next to be traced; nothing: the suspects that are left cannot be.
  std::optional<std::string> next() const {
    for (const std::string& commit : suspects()) {
      const bool is_skipped = std::find(m_skipped.begin(), m_skipped.end(), commit) != m_skipped.end();
      if (commit != m_bad && !is_skipped) return commit;
    }
    return std::nullopt;
  }

  std::string parent_of(const std::string& commit) const { return commit_named(commit + "^"); }

  /// "1a2b3c4 Ada, 2026-11-15: the subject".
  std::string description(const std::string& commit) const {
    return first_line(process::git_output(m_project, {"show", "--no-patch", "--date=short",
                                                      "--format=%h %an, %ad: %s", commit})
                          .value_or(short_hash(commit)));
  }

 private:
  std::string commit_named(const std::string& ref) const {
    const auto found = process::git_output(
        m_project, {"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"});
    if (!found) {
      throw core::bad_input(fmt::format("'{}' is no commit of {}", ref, m_project.string()),
                            "name commits, branches or tags as --baseline and --candidate");
    }
    return first_line(*found);
  }

  fs::path m_project;
  std::vector<std::string> m_good;
  std::string m_bad;
  std::vector<std::string> m_skipped;
};

/// Under `git bisect run` HEAD moves, and each call would be a bisection of its own.
void require_no_git_bisect(const fs::path& project) {
  const auto file =
      process::git_output(project, {"rev-parse", "--path-format=absolute", "--git-path", "BISECT_START"});
  if (!file || !fs::exists(first_line(*file))) return;
  throw core::error(
      bisect_abort, "--exact finds the commit by itself, and a git bisect is under way",
      "git bisect reset, then call profgate ab … --bisect --exact once, without git bisect run");
}

class exact_bisection {
 public:
  exact_bisection(const ab_options& options, const pair_manifest& manifest, const config::resolved& settings,
                  progress& display)
      : m_manifest(manifest),
        m_settings(settings),
        m_display(display),
        m_where(surroundings_of(manifest, settings, display)),
        m_range(manifest.project_dir, options.baseline, options.candidate) {
    if (options.out) m_where.folder = fs::absolute(*options.out);
  }

  /// What is to be printed of the commit that was found; bad_input where the ends do not differ.
  std::string find() {
    const gate::stage_structures good = evidence_of(m_range.good());
    m_ends = gate::exact_difference_of(good, evidence_of(m_range.bad()));
    if (m_ends.changes.empty()) refuse();
    m_display.note(fmt::format("the good and the bad commit differ in {}:", counted(m_ends.changes.size())));
    for (const gate::stage_change& change : m_ends.changes) m_display.note("  " + to_text(change));
    while (const std::optional<std::string> commit = m_range.next()) ask(good, *commit);
    return m_range.suspects().size() > 1 ? several() : answer(good);
  }

  bool has_found() const { return m_has_found; }

 private:
  static std::string counted(std::size_t changes) {
    return fmt::format("{} exact way{}", changes, changes == 1 ? "" : "s");
  }

  const gate::stage_structures& evidence_of(const std::string& commit) {
    const auto known = m_known.find(commit);
    if (known != m_known.end()) return known->second;
    m_display.note("traces " + m_range.description(commit));
    const ab::exact_evidence evidence =
        ab::trace_once(m_where, build_named(m_manifest, commit, m_settings, m_where));
    for (const std::string& doubt : evidence.doubts) m_display.note("warning: " + doubt);
    return m_known.emplace(commit, evidence.structure).first->second;
  }

  /// In a history with merges a parent need not have been traced yet, nor be one that can be.
  const gate::stage_structures& evidence_or(const std::string& commit, const gate::stage_structures& other) {
    try {
      return evidence_of(commit);
    } catch (const core::error& broken) {
      if (broken.code() == core::exit_code::interrupted) throw;
      m_display.note(fmt::format("{} cannot be traced, the good commit takes its place: {}",
                                 short_hash(commit), broken.what()));
      return other;
    }
  }

  [[noreturn]] void refuse() const {
    std::string what = "nothing exact differs between the good and the bad commit";
    if (!m_ends.not_compared.empty())
      what += fmt::format(" (not compared: {})", fmt::join(m_ends.not_compared, "; "));
    throw core::bad_input(what, "compare times: git bisect run profgate ab … --bisect, without --exact");
  }

  void ask(const gate::stage_structures& good, const std::string& commit) {
    try {
      const gate::exact_difference difference = gate::exact_difference_of(good, evidence_of(commit));
      switch (gate::which_end(m_ends, difference)) {
        case gate::like_end::bad:
          m_display.note(short_hash(commit) + " is like the bad commit");
          return m_range.tell_bad(commit);
        case gate::like_end::good: {
          const std::size_t shown = gate::shown_changes(m_ends, difference).size();
          m_display.note(fmt::format("{} is good: it shows {} of the {} differences", short_hash(commit),
                                     shown == 0 ? "none" : std::to_string(shown), m_ends.changes.size()));
          return m_range.tell_good(commit);
        }
        case gate::like_end::unknown:
          m_display.note(fmt::format("{} is left out: {}", short_hash(commit),
                                     fmt::join(difference.not_compared, "; ")));
      }
    } catch (const core::error& broken) {
      if (broken.code() == core::exit_code::interrupted) throw;
      m_display.note(fmt::format("{} is left out: {}", short_hash(commit), broken.what()));
    }
    m_range.skip(commit);
  }

  std::string several() const {
    std::string text =
        "the others cannot be judged; one of these is the first with the evidence of the bad one:\n";
    for (const std::string& commit : m_range.suspects())
      text += fmt::format("  {}\n", m_range.description(commit));
    return text;
  }

  std::string answer(const gate::stage_structures& good) {
    m_has_found = true;
    const std::string& found = m_range.bad();
    const std::string parent = m_range.parent_of(found);
    std::string text = fmt::format("{}\n  is the first commit whose exact evidence is that of the bad one\n",
                                   m_range.description(found));
    const gate::stage_structures& before = evidence_or(parent, good);
    text += fmt::format("  with it came, against {}:\n", short_hash(parent));
    for (const gate::stage_change& change : gate::exact_difference_of(before, evidence_of(found)).changes)
      text += fmt::format("    {}\n", to_text(change));
    const std::vector<gate::stage_change> earlier =
        gate::shown_changes(m_ends, gate::exact_difference_of(good, before));
    if (earlier.empty()) return text;
    text += fmt::format(
        "  {} of the differences were there before it; --candidate {} finds where they came from:\n",
        earlier.size(), short_hash(parent));
    for (const gate::stage_change& change : earlier) text += fmt::format("    {}\n", to_text(change));
    return text;
  }

  const pair_manifest& m_manifest;
  const config::resolved& m_settings;
  progress& m_display;
  ab::surroundings m_where;
  commit_range m_range;
  gate::exact_difference m_ends;
  std::map<std::string, gate::stage_structures> m_known;  ///< by commit
  bool m_has_found = false;
};

}  // namespace

core::exit_code bisect_exactly(const ab_options& options) {
  const pair_manifest manifest = manifest_of(options.pair);
  const config::resolved settings = compose_for(manifest, options.pair.overrides);
  require_no_git_bisect(manifest.project_dir);
  if (settings.text("workload.device") == "cuda") take_gpu(artifacts::gather_gpu_facts());
  std::string answer;
  bool has_found = false;
  {
    progress display(fmt::format("{} bisect", manifest.pair));
    const measuring_turn turn(display);
    exact_bisection bisection(options, manifest, settings, display);
    answer = bisection.find();
    has_found = bisection.has_found();
  }
  print("{}", answer);
  return has_found ? core::exit_code::good : core::exit_code::not_possible;
}

}  // namespace profgate::cli
