#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/file_lock.h"
#include "embedded_run.h"
#include "parsers/nsys_environment.h"
#include "parsers/timeline.h"
#include "profilers/capture.h"
#include "range_check.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;

/// One run of the workload under nsys and the files of it, <folder>/<stem>*.
class nsys_session {
 public:
  nsys_session(const capture_request& request, const nsys_installation& nsys, const command_runner& run,
               capture_result& result, const std::string& stem)
      : m_request(request),
        m_nsys(nsys),
        m_run(run),
        m_result(result),
        m_base(request.output_folder / stem) {}

  void record(const std::optional<range_name>& capture_range, const std::vector<range_name>& required) {
    std::optional<core::timeline> timeline = attempt(capture_range);
    if (!timeline && capture_range && !m_request.collector_library.empty()) {
      const core::timeline observed = observe_ranges(m_request, m_run);
      if (find_range(observed, *capture_range) == range_state::absent)
        fail_absent_range(*capture_range, observed);
      // A capture range that opens with the program's first NVTX call opens before nsys has got ready, now
      // and then, and was seen to do so twice in a row.
      m_result.notes.push_back(fmt::format("nsys missed the range '{}' at first, so the workload ran again",
                                           capture_range->as_capture_range()));
      const auto began = std::chrono::steady_clock::now();
      const auto may_try_again = [&] {
        return m_attempts < most_attempts ||
               (m_attempts < most_short_attempts && std::chrono::steady_clock::now() - began < short_time);
      };
      while (!timeline && may_try_again()) timeline = attempt(capture_range);
    }
    if (!timeline) fail_without_report(capture_range);
    require_ranges(*timeline, capture_range ? required : without_unseen(*timeline, required));
    if (timeline->dropped_records > 0) {
      m_result.notes.push_back(fmt::format("nsys dropped {} records", timeline->dropped_records));
    }
    write_summaries();
  }

 private:
  /// Children that fork without exec nsys does not see, whatever the program opened there.
  std::vector<range_name> without_unseen(const core::timeline& timeline, std::vector<range_name> required) {
    m_result.unseen = absent_ranges(timeline, m_request.opened_unprofiled);
    std::erase_if(required, [&](const range_name& range) {
      return std::find(m_result.unseen.begin(), m_result.unseen.end(), range) != m_result.unseen.end();
    });
    return required;
  }

  /// Nothing: the workload ran to a good end, and nsys recorded nothing.
  std::optional<core::timeline> attempt(const std::optional<range_name>& capture_range) {
    ++m_attempts;
    remove_stale_files();
    const tool_run profiled = run_profile(capture_range);
    // What there is gets converted even if the workload failed: its last moments are in it.
    std::optional<core::timeline> timeline;
    try {
      if (make_report()) timeline = export_timeline();
    } catch (const core::error&) {
      require_end(profiled);
      throw;
    }
    require_end(profiled);
    if (waited_for_leftovers(profiled)) {
      m_result.notes.emplace_back(
          "the program ended and left processes running; nsys recorded until they had ended, too");
    }
    return timeline;
  }

  static bool waited_for_leftovers(const tool_run& run) {
    return run.tail.find("Waiting for termination of re-parented processes") != std::string::npos;
  }

  void require_end(const tool_run& run) const {
    if (run.timed_out && waited_for_leftovers(run)) {
      throw core::step_failure(
          "the workload ended under nsys, but left processes running that nsys waited for until the time was "
          "over",
          fmt::format("let the program end what it starts; its output is in {}",
                      m_request.log_file.string()));
    }
    require_good_run(run, "the workload under nsys", m_request.log_file);
  }

  fs::path with(const std::string& ending) const { return m_base.string() + ending; }

  void remove_stale_files() const {
    for (const char* ending : {".nsys-rep", ".qdstrm", ".sqlite"}) fs::remove(with(ending));
    for (const nsys_report report : all_nsys_reports()) {
      if (const auto name = name_of_report(m_nsys, report)) fs::remove(with("_" + *name + ".csv"));
    }
  }

  tool_run run_profile(const std::optional<range_name>& capture_range) {
    tool_command command;
    command.runs_workload = true;
    if (!m_request.nsys.session.empty())
      command.argv_that_ends_recording = nsys_stop_command(m_nsys, m_request.nsys.session);
    command.argv = nsys_profile_command(m_nsys, m_request.nsys, capture_range, m_base, m_request.workload);
    command.set_environment = m_request.set_environment;
    command.set_environment.merge(m_nsys.library_environment());
    command.unset_environment = m_request.unset_environment;
    for (const char* injection : {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"}) {
      command.unset_environment.emplace_back(injection);  // nsys brings its own
    }
    command.log_file = m_request.log_file;
    command.deadline_ms = m_request.deadline_ms;
    tool_run profiled = run_command(command);
    // nsys 2022.4 looks for a semaphore that another user's nsys removes at that moment, and ends before it
    // has started the workload.
    const auto has_lost_semaphore = [&] {
      return profiled.tail.find("QuadDCommon::SystemException") != std::string::npos &&
             profiled.tail.find("sem_open") != std::string::npos;
    };
    for (int left = most_attempts - 1; left > 0 && has_lost_semaphore(); --left)
      profiled = run_command(command);
    if (has_lost_semaphore()) {
      throw core::step_failure(
          "nsys itself failed before the workload began (sem_open): another nsys starts or ends on this "
          "machine",
          "run again when it is done, or record without nsys: timeline=embedded");
    }
    const auto is_lost_agent = [&] {
      return profiled.tail.find("Agent launcher failed") != std::string::npos;
    };
    // A workload that fails leaves a report: nsys writes what it saw.
    if (!is_lost_agent() && has_failed_at_once(profiled)) {
      m_result.notes.push_back(fmt::format(
          "nsys ended with exit code {} at first and left no report, so it ran again", profiled.exit_code));
      profiled = run_command(command);
    }
    if (is_lost_agent()) {
      throw core::step_failure(
          "nsys could not start its agent (\"Agent launcher failed\"): another nsys runs, or one that was "
          "killed "
          "has left its agent behind",
          "end every leftover process 'nsys --start-agent', remove /dev/shm/NSys-*, then run again");
    }
    return profiled;
  }

  bool has_failed_at_once(const tool_run& run) const {
    const bool has_exited =
        run.started && !run.interrupted && !run.timed_out && !run.stopped && run.signal == 0;
    // Its agent may die before the workload begins: nsys 2022.4 then ends with 0.
    const bool has_failed =
        run.exit_code != 0 || run.tail.find("Connection to the Agent lost") != std::string::npos;
    return has_exited && has_failed && std::chrono::nanoseconds(run.wall_ns) < short_time &&
           !fs::exists(with(".nsys-rep")) && !fs::exists(with(".qdstrm"));
  }

  tool_run run_command(const tool_command& command) {
    m_result.commands.push_back(command.argv);
    return m_run(command);
  }

  /// A step that only reads what was recorded.
  void run_reader(std::vector<std::string> argv, const std::string& what) {
    tool_command command;
    command.argv = std::move(argv);
    command.set_environment = m_nsys.library_environment();
    command.log_file = m_request.log_file;
    command.deadline_ms = m_request.deadline_ms;
    require_good_run(run_command(command), what, m_request.log_file);
  }

  /// False: nsys recorded nothing.
  bool make_report() {
    const fs::path report = with(".nsys-rep");
    const fs::path raw = with(".qdstrm");
    if (!fs::exists(report)) {
      if (!fs::exists(raw)) return false;
      import(raw, report);
    }
    fs::remove(raw);
    m_result.files.push_back(report);
    return true;
  }

  void import(const fs::path& raw, const fs::path& report) {
    if (!m_nsys.importer) {
      throw core::step_failure(
          fmt::format(
              "nsys left {}, and its importer QdstrmImporter, which makes the report of it, is not there",
              raw.string()),
          "install the whole of Nsight Systems, its host part too");
    }
    if (!m_nsys.missing_libraries.empty()) {
      throw core::step_failure(
          fmt::format("nsys left {}, and its importer {} misses {}", raw.string(), m_nsys.importer->string(),
                      fmt::join(m_nsys.missing_libraries, ", ")),
          missing_library_remedy(m_nsys.missing_libraries));
    }
    run_reader(nsys_import_command(m_nsys, raw), "the importer of nsys");
    if (!fs::exists(report)) {
      throw core::step_failure(fmt::format("the importer of nsys made no {}", report.string()),
                               fmt::format("its output is in {}", m_request.log_file.string()));
    }
    note_once(fmt::format("nsys did not find its importer; {} was used", m_nsys.importer->string()));
  }

  core::timeline export_timeline() {
    const fs::path sqlite = with(".sqlite");
    run_reader(nsys_export_command(m_nsys, with(".nsys-rep"), sqlite), "'nsys export'");
    parsers::remove_environment(sqlite);  // a run folder is handed on; the .nsys-rep cannot be cleaned
    core::timeline timeline = parsers::read_nsys_sqlite(sqlite);
    m_result.files.push_back(sqlite);
    m_result.timeline_files.push_back(sqlite);
    return timeline;
  }

  void write_summaries() {
    std::vector<std::string> names;
    for (const nsys_report report : all_nsys_reports()) {
      if (const auto name = name_of_report(m_nsys, report)) names.push_back(*name);
    }
    if (names.empty()) {
      m_result.notes.emplace_back("this nsys knows none of the summaries that profgate keeps: no CSV");
      return;
    }
    run_reader(nsys_stats_command(m_nsys, names, with(".sqlite"), m_base), "'nsys stats'");
    std::vector<std::string> without_data;
    for (const std::string& name : names) {
      const fs::path csv = with("_" + name + ".csv");
      std::error_code problem;
      const std::uintmax_t bytes = fs::file_size(csv, problem);
      if (problem) {
        throw core::step_failure(fmt::format("'nsys stats' made no {}", csv.string()),
                                 fmt::format("its output is in {}", m_request.log_file.string()));
      }
      if (bytes > 0) {
        m_result.files.push_back(csv);
      } else {
        fs::remove(csv);  // an empty summary beside real ones reads like a fault
        without_data.push_back(name);
      }
    }
    if (!without_data.empty()) {
      note_once(fmt::format("nsys had no data for these summaries: {}", fmt::join(without_data, ", ")));
    }
  }

  /// One capture a stage would say the same for each.
  void note_once(const std::string& note) {
    std::vector<std::string>& notes = m_result.quiet_notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(note);
    }
  }

  [[noreturn]] void fail_without_report(const std::optional<range_name>& capture_range) const {
    if (!capture_range) {
      throw core::step_failure("nsys made no report",
                               fmt::format("its output is in {}", m_request.log_file.string()));
    }
    if (m_request.collector_library.empty()) {
      throw core::step_failure(fmt::format("nsys made no report: the workload never opened the range '{}'",
                                           capture_range->as_capture_range()),
                               "compare the range's name and domain with what the program opens");
    }
    throw core::step_failure(
        fmt::format("nsys made no report in {} attempts, although the workload opened the range '{}'",
                    m_attempts, capture_range->as_capture_range()),
        "record without a gate (profiling/nsys=ungated) or with timeline=embedded; a program that opens the "
        "range as its first NVTX call may be too early for nsys");
  }

  static constexpr int most_attempts = 4;
  /// A program that starts in no time is too early for nsys several times in a row on a busy machine, and
  /// costs little to start again.
  static constexpr int most_short_attempts = 12;
  static constexpr std::chrono::seconds short_time{20};

  int m_attempts = 0;

  const capture_request& m_request;
  const nsys_installation& m_nsys;
  const command_runner& m_run;
  capture_result& m_result;
  fs::path m_base;
};

}  // namespace

capture_result capture_with_nsys(const capture_request& request, const nsys_installation& nsys,
                                 const command_runner& run) try {
  capture_result result;
  result.tool = "nsys";
  result.version = nsys.version;
  const core::file_lock lock = core::file_lock::among_users(
      request.lock_file,
      {request.max_lock_wait_ms,
       [&](const std::string& holder) {
         if (request.say) request.say(fmt::format("waiting for nsys, in use by {}", holder));
       },
       "nsys", "wait until it is done (two nsys at once break each other), or end that process"});
  if (!request.is_gated || request.ranges.empty()) {
    nsys_session(request, nsys, run, result, "run").record(std::nullopt, request.ranges);
    return result;
  }
  if (request.around_all) {
    result.capture_ranges = capture_range_list({*request.around_all});
    nsys_session(request, nsys, run, result, "run").record(request.around_all, request.ranges);
    return result;
  }
  result.capture_ranges = capture_range_list(request.ranges);
  std::string stem = "run";
  for (const range_name& range : request.ranges) {
    nsys_session(request, nsys, run, result, stem).record(range, {range});
    if (&range != &request.ranges.back()) stem = "run." + (&range + 1)->range;
  }
  if (request.ranges.size() > 1) {
    result.notes.push_back(
        fmt::format("the workload ran {} times, once for each gate", request.ranges.size()));
  }
  return result;
} catch (const fs::filesystem_error& problem) {
  fail_on_files(problem);
}

capture_result capture_with_nsys(const capture_request& request, const tool_use& use) {
  capture_request own = request;
  own.nsys.sample = use.settings.text("nsys.sample");
  own.nsys.cpu_context_switches = use.settings.text("nsys.cpuctxsw");
  own.nsys.waits_for_primary = request.leaves_processes && !request.is_server;
  own.nsys.traces_forks = use.settings.boolean("nsys.trace_forks");
  if (!use.settings.is_null("nsys.pytorch")) own.nsys.pytorch = use.settings.text("nsys.pytorch");
  own.nsys.cuda_graph_trace = use.settings.text("nsys.cuda_graph_trace");
  own.nsys.between_profiler_calls = use.settings.boolean("workload.calls_profiler_api");
  if (!use.settings.is_null("nsys.delay_s")) own.nsys.delay_s = use.settings.integer("nsys.delay_s");
  if (!use.settings.is_null("nsys.duration_s")) own.nsys.duration_s = use.settings.integer("nsys.duration_s");
  if (request.is_server) own.nsys.session = fmt::format("profgate-{}", ::getpid());
  own.collector_max_bytes = static_cast<std::uint64_t>(use.settings.integer("collector.max_bytes"));
  const nsys_installation nsys = inspect_nsys(use.executable, use.here.environment, use.here.ask);
  own.nsys.trace = fmt::format("{}", fmt::join(traceable(use.settings.list("nsys.trace"), nsys), ","));
  capture_result result = capture_with_nsys(own, nsys, use.run);
  if (!own.nsys.pytorch.empty() && !nsys.knows_pytorch)
    result.notes.push_back(
        fmt::format("nsys {} has no option --pytorch: nsys.pytorch was left out", nsys.version));
  return result;
}

}  // namespace profgate::profilers
