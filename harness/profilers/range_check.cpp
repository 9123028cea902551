#include "range_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "core/error.h"
#include "core/escape.h"
#include "core/last_words.h"
#include "core/slips.h"

namespace profgate::profilers {
namespace {

std::string in_words(std::string_view domain) {
  if (domain == any_domain) return "any domain";
  return domain.empty() ? "the default domain" : fmt::format("the domain '{}'", domain);
}

/// nsys passes a workload's death by a signal on as 128 + its number.
std::string describe_exit(const tool_run& run) {
  const int signal = run.signal != 0                              ? run.signal
                     : run.exit_code > 128 && run.exit_code < 160 ? run.exit_code - 128
                                                                  : 0;
  if (signal == 0) return fmt::format("exit code {}", run.exit_code);
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal)
                         : fmt::format("SIG{} (exit code {})", name, 128 + signal);
}

}  // namespace

range_state find_range(const core::timeline& timeline, const range_name& wanted) {
  range_state state = range_state::absent;
  for (const core::range_record& range : timeline.ranges) {
    const bool is_in_domain = wanted.domain == any_domain || range.domain == wanted.domain;
    if (range.name != wanted.range || !is_in_domain) continue;
    if (range.end_ns) return range_state::closed;
    state = range_state::open;
  }
  return state;
}

void fail_absent_range(const range_name& wanted, const core::timeline& timeline) {
  const std::vector<core::range_record>& seen = timeline.ranges;
  const std::string what = fmt::format("the workload never opened the NVTX range '{}' in {}", wanted.range,
                                       in_words(wanted.domain));
  if (seen.empty()) {
    throw core::step_failure(
        what + "; it opened no range at all",
        "check that the program calls NVTX in this mode, with headers of version 3, that it does not clear "
        "its environment, and that it ends by exit() (nsys loses what it holds at an _exit()); nsys sees "
        "children that fork without exec only with nsys.trace_forks=true");
  }
  std::set<std::string> names;
  for (const core::range_record& range : seen) {
    if (range.name == wanted.range) {
      throw absent_range(
          fmt::format("{}; it opened it in {}", what, in_words(range.domain)),
          fmt::format("ask for '{}', or open the range in {}",
                      range_name{std::string(range.name), std::string(range.domain)}.as_capture_range(),
                      in_words(wanted.domain)),
          wanted);
    }
    if (wanted.domain == any_domain || range.domain == wanted.domain) names.emplace(range.name);
  }
  const std::vector<std::string> in_domain(names.begin(), names.end());
  if (const auto meant = core::nearest(wanted.range, in_domain)) {
    throw absent_range(
        fmt::format("{}; it opened '{}'", what, *meant),
        fmt::format(
            "ask for '{}', or rename the range in the program",
            wanted.domain == any_domain ? *meant : range_name{*meant, wanted.domain}.as_capture_range()),
        wanted, meant);
  }
  throw absent_range(in_domain.empty()
                         ? fmt::format("{}; its ranges are in {}", what, in_words(seen.front().domain))
                         : fmt::format("{}; there it opened {}", what, core::first_few(in_domain)),
                     "open the range around the stage to be measured, or name another one (workload.stages, "
                     "workload.profile_range)",
                     wanted);
}

std::vector<range_name> absent_ranges(const core::timeline& timeline, const std::vector<range_name>& opened) {
  std::vector<range_name> absent;
  std::copy_if(opened.begin(), opened.end(), std::back_inserter(absent),
               [&](const range_name& range) { return find_range(timeline, range) == range_state::absent; });
  return absent;
}

void require_ranges(const core::timeline& timeline, const std::vector<range_name>& wanted) {
  for (const range_name& range : wanted) {
    switch (find_range(timeline, range)) {
      case range_state::closed:
        break;
      case range_state::absent:
        fail_absent_range(range, timeline);
      case range_state::open:
        throw core::step_failure(
            fmt::format("the workload opened the NVTX range '{}' in {} but never closed it", range.range,
                        in_words(range.domain)),
            "close the range (pop or end it, on the thread that pushed it) before the program ends");
    }
  }
}

void fail_on_files(const std::filesystem::filesystem_error& problem) {
  throw core::step_failure(fmt::format("{}: {}", problem.path1().string(), problem.code().message()),
                           "make the run directory writable, with room on its disk, and run again");
}

void require_good_run(const tool_run& run, const std::string& what, const std::filesystem::path& log_file) {
  const std::string look = fmt::format("its output is in {}", log_file.string());
  if (run.interrupted) throw core::interrupted(fmt::format("interrupted while {} ran", what));
  if (!run.started) {
    throw core::step_failure(fmt::format("{} could not be started: {}", what, run.description),
                             "check that the program exists and is executable");
  }
  if (run.timed_out) {
    throw core::step_failure(fmt::format("{} did not end in time and was stopped", what),
                             look + "; give it more time or less to do");
  }
  if (run.is_good()) return;
  constexpr std::size_t longest_bytes = 300;  // a tool's line may have no end
  const core::last_words said = core::read_last_words(run.tail);
  throw core::step_failure(
      fmt::format("{} failed: {}", what,
                  core::ended_saying(describe_exit(run), core::shorten_middle(said.reason, longest_bytes))),
      core::remedy_or_look(said.remedy, look));
}

}  // namespace profgate::profilers
