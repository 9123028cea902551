#include "profilers/capture_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <iterator>
#include <set>

#include "core/error.h"
#include "parsers/ncu.h"
#include "profilers/ncu_installation.h"
#include "range_check.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;

// What ncu says on its output, in words that its exit code does not have.

constexpr std::string_view error_mark = "==ERROR== ";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// "3. gemv" -> "gemv"; empty: another line.
std::string_view listed_kernel(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || !line.substr(digits).starts_with(". ")) return {};
  return line.substr(digits + 2);
}

/// The driver keeps the counters to administrators.
bool says_counters_denied(std::string_view output) {
  return output.find("ERR_NVGPUCTRPERM") != std::string_view::npos;
}

/// "'--section NoSuchSection'": of an option that matched nothing; empty: none.
std::string unmatched_option(std::string_view output) {
  for (const std::string_view line : lines_of(output)) {
    constexpr std::string_view start = "==ERROR== Option ";
    const std::size_t end = line.find(" did not match any");
    if (line.starts_with(start) && end != std::string_view::npos) {
      return std::string(line.substr(start.size(), end - start.size()));
    }
  }
  return "";
}

/// The first thing that ncu calls an error, without its mark; empty: none.
std::string first_error(std::string_view output) {
  for (const std::string_view line : lines_of(output)) {
    if (line.starts_with(error_mark)) return std::string(line.substr(error_mark.size()));
  }
  return "";
}

bool says_nothing_profiled(std::string_view output) {
  return output.find("No kernels were profiled") != std::string_view::npos;
}

constexpr std::string_view kernel_list_mark = "Available Kernels:";
constexpr std::string_view range_filter_mark = "NVTX include expressions";

/// Why nothing was profiled: the filter by NVTX range, or by kernel, with the kernels that there were.
std::string why_nothing_profiled(std::string_view output) {
  constexpr std::size_t shown_at_most = 8;
  std::vector<std::string> kernels;
  bool is_list = false;
  for (const std::string_view line : lines_of(output)) {
    if (line.starts_with(kernel_list_mark)) is_list = true;
    if (const std::string_view kernel = listed_kernel(line); is_list && !kernel.empty())
      kernels.emplace_back(kernel);
  }
  if (!kernels.empty()) {
    const std::size_t shown = std::min(shown_at_most, kernels.size());
    return fmt::format("none of its kernels matched the names asked for; it launched {}{}",
                       fmt::join(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       shown < kernels.size() ? fmt::format(" and {} more", kernels.size() - shown) : "");
  }
  if (output.find(range_filter_mark) != std::string_view::npos) {
    return "no kernel was launched inside of the NVTX range asked for";
  }
  return "it launched no kernel that matched";
}

/// A filter by NVTX range or by name that lets nothing through is told; launches that end before the skipped
/// ones do are not, and kernels that matched were there.
bool says_all_were_skipped(std::string_view output) {
  return says_nothing_profiled(output) && output.find(kernel_list_mark) == std::string_view::npos &&
         output.find(range_filter_mark) == std::string_view::npos;
}

constexpr const char* denied_remedy =
    "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and reload it, or run as root; until "
    "then runs "
    "are timeline-only";

std::string text_from(const fs::path& file, std::uintmax_t offset) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uintmax_t size_or_zero(const fs::path& file) {
  std::error_code absent;
  const std::uintmax_t bytes = fs::file_size(file, absent);
  return absent ? 0 : bytes;
}

class ncu_sessions {
 public:
  ncu_sessions(const counters_request& request, const command_runner& run) : m_request(request), m_run(run) {
    fs::create_directories(home());
  }
  ~ncu_sessions() {
    std::error_code ignored;
    fs::remove_all(home(), ignored);
  }
  ncu_sessions(const ncu_sessions&) = delete;
  ncu_sessions& operator=(const ncu_sessions&) = delete;

  counters_result capture() {
    std::vector<std::string> empty_sessions;
    std::vector<const counter_session*> recorded;
    for (const counter_session& session : m_request.sessions) {
      const std::string reason = record(session);
      if (reason.empty())
        recorded.push_back(&session);
      else
        empty_sessions.push_back(fmt::format("{}: {}", session.what, reason));
    }
    write_tables(recorded);
    for (const counter_session* session : recorded) read_tables(*session);
    if (m_result.launches.empty()) {
      throw core::step_failure(
          fmt::format("ncu profiled nothing: {}", fmt::join(empty_sessions, "; ")),
          "compare the ranges and kernels of the workload without CUDA graphs with those of the "
          "timeline; ncu.nvtx_include and ncu/selection.json say what was asked for");
    }
    for (const std::string& reason : empty_sessions)
      m_result.notes.push_back("ncu counted nothing in " + reason);
    note_missing_metrics();
    return std::move(m_result);
  }

 private:
  fs::path home() const { return m_request.output_folder / "home"; }
  fs::path file(const std::string& start, const counter_session& session, const std::string& ending) const {
    return m_request.output_folder / (start + (session.name.empty() ? "" : "-" + session.name) + ending);
  }

  tool_command command_of(std::vector<std::string> argv) const {
    tool_command command;
    command.argv = std::move(argv);
    command.set_environment = m_request.set_environment;
    // Else ncu copies its section files to $HOME/Documents and takes them from there, edited or not.
    command.set_environment["NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT"] = "1";
    // ncu brings its own.
    command.unset_environment = {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"};
    command.log_file = m_request.log_file;
    command.deadline_ms = m_request.deadline_ms;
    return command;
  }

  /// A command whose standard output becomes a file of the bundle.
  struct table {
    fs::path target;
    std::vector<std::string> argv;
    std::string what;  ///< for people
    bool is_dispensable = false;
    tool_run done{};
  };

  fs::path unfinished(const table& wanted) const { return wanted.target.string() + ".unfinished"; }

  void write(table& wanted) const {
    fs::remove(wanted.target);
    fs::remove(unfinished(wanted));
    tool_command command = command_of(wanted.argv);
    command.set_environment["LC_ALL"] = "C";
    command.set_environment["HOME"] = home().string();  // for an ncu that does not know the variable
    command.log_file = unfinished(wanted);
    wanted.done = m_run(command);
  }

  /// ncu takes more than a second for each, on one core: several at once.
  void write_tables(const std::vector<const counter_session*>& recorded) {
    constexpr std::size_t most_at_once = 8;
    std::vector<table> tables = {{m_request.output_folder / "sections.txt",
                                  ncu_list_sections_command(m_request.executable), "'ncu --list-sections'",
                                  true}};
    for (const counter_session* session : recorded) {
      const fs::path report = file("run", *session, ".ncu-rep");
      tables.push_back({file("raw", *session, ".csv"), ncu_raw_page_command(m_request.executable, report),
                        "'ncu --import'"});
      tables.push_back({file("counters", *session, ".csv"),
                        ncu_columns_command(m_request.executable, report, m_request.columns),
                        "'ncu --import'"});
    }
    for (std::size_t first = 0; first < tables.size(); first += most_at_once) {
      std::vector<std::future<void>> writers;
      for (std::size_t i = first; i < std::min(first + most_at_once, tables.size()); ++i)
        writers.push_back(std::async(std::launch::async, [this, &wanted = tables[i]] { write(wanted); }));
      for (std::future<void>& writer : writers) writer.wait();
      for (std::future<void>& writer : writers) writer.get();
    }
    for (const table& written : tables) keep(written);
  }

  void keep(const table& written) {
    if (written.done.is_good() && fs::exists(unfinished(written))) {
      fs::rename(unfinished(written), written.target);
      m_result.files.push_back(written.target);
    } else if (written.is_dispensable && !written.done.interrupted) {
      m_result.notes.push_back(fmt::format("no {}: {} {}", written.target.filename().string(), written.what,
                                           written.done.description));
    } else {
      require_good_run(written.done, written.what, unfinished(written).string());
    }
  }

  /// Empty, or why there is nothing of it. A program that launched fewer kernels than in the timeline is
  /// started once more.
  std::string record(const counter_session& session) {
    const std::uintmax_t log_start = size_or_zero(m_request.log_file);
    const std::string reason = attempt(session);
    const std::int64_t skip = session.filter.skip;
    if (reason.empty() || skip == 0 || !says_all_were_skipped(text_from(m_request.log_file, log_start)))
      return reason;
    counter_session earlier = session;
    earlier.filter.skip = skip / 2;
    m_result.notes.push_back(fmt::format(
        "{}: under ncu it launched fewer than the {} kernels that the timeline has before those to "
        "count: counted behind {} instead, with one more start",
        session.what, skip, earlier.filter.skip));
    return attempt(earlier);
  }

  std::string attempt(const counter_session& session) {
    const fs::path report = file("run", session, ".ncu-rep");
    for (const fs::path& stale : {report, file("raw", session, ".csv"), file("counters", session, ".csv")}) {
      fs::remove(stale);
    }
    const std::uintmax_t log_start = size_or_zero(m_request.log_file);
    fs::path base = report;
    tool_command profile = command_of(ncu_profile_command(m_request.executable, m_request.ncu, session.filter,
                                                          base.replace_extension(), m_request.workload));
    profile.runs_workload = true;
    const tool_run done = m_run(profile);
    judge(done, text_from(m_request.log_file, log_start) + done.tail);
    if (!fs::exists(report)) {
      const std::string output = text_from(m_request.log_file, log_start) + done.tail;
      if (says_nothing_profiled(output)) return why_nothing_profiled(output);
      throw core::step_failure(fmt::format("ncu ended well but made no {}", report.string()),
                               fmt::format("its output is in {}", m_request.log_file.string()));
    }
    m_result.files.push_back(report);
    return "";
  }

  void judge(const tool_run& done, const std::string& output) const {
    if (done.interrupted) require_good_run(done, "the workload under ncu", m_request.log_file);
    if (says_counters_denied(output)) {
      throw core::not_possible(
          "the driver gives GPU counters to administrators only (ERR_NVGPUCTRPERM), so there is no more than "
          "the timeline",
          denied_remedy);
    }
    if (done.is_good() || done.timed_out || !done.started || done.signal != 0) {
      require_good_run(done, "the workload under ncu", m_request.log_file);
      return;
    }
    if (const std::string option = unmatched_option(output); !option.empty()) {
      throw core::bad_input(
          fmt::format("ncu knows nothing that matches {}", option),
          "correct ncu.sections or ncu.set; `ncu --list-sections` and sections.txt name what there is");
    }
    const std::string error = first_error(output);
    // ncu passes the workload's exit code on and says so; every other error is its own.
    const bool is_workloads = error.empty() || error.starts_with("The application returned an error code");
    if (is_workloads) require_good_run(done, "the workload under ncu", m_request.log_file);
    throw core::step_failure(fmt::format("ncu failed (exit code {}): {}", done.exit_code, error),
                             fmt::format("its output is in {}", m_request.log_file.string()));
  }

  void read_tables(const counter_session& session) {
    const fs::path raw = file("raw", session, ".csv");
    const fs::path counters = file("counters", session, ".csv");
    const std::vector<core::kernel_counters> launches = parsers::read_ncu_counters(counters);
    m_result.launches.insert(m_result.launches.end(), launches.begin(), launches.end());
    const std::vector<core::kernel_counters> whole = parsers::read_ncu_counters(raw);
    if (whole.size() != launches.size()) {
      throw core::step_failure(fmt::format("{} has {} launches and {} has {}", raw.string(), whole.size(),
                                           counters.string(), launches.size()),
                               "import the report again with another version of ncu");
    }
    for (const core::kernel_counters& launch : whole) {
      for (const auto& [name, value] : launch.metrics) m_counted.insert(name);
    }
  }

  /// A metric that a chip lacks leaves no other trace than its absence.
  void note_missing_metrics() {
    std::vector<std::string> missing;
    for (const std::string& metric : m_request.ncu.metrics) {
      if (!m_counted.contains(metric)) missing.push_back(metric);
    }
    if (missing.empty()) return;
    m_result.notes.push_back(fmt::format("ncu did not count {}: this GPU or this version does not have it",
                                         fmt::join(missing, ", ")));
  }

  const counters_request& m_request;
  const command_runner& m_run;
  counters_result m_result;
  std::set<std::string> m_counted;
};

}  // namespace

counters_result capture_counters(const counters_request& request, const command_runner& run) try {
  return ncu_sessions(request, run).capture();
} catch (const fs::filesystem_error& problem) {
  fail_on_files(problem);
}

counters_result capture_counters(const counters_request& request, const tool_use& use) {
  counters_request own = request;
  own.executable = use.executable;
  own.ncu.target_processes = use.settings.text("ncu.target_processes");
  if (!use.settings.is_null("ncu.set")) own.ncu.set = use.settings.text("ncu.set");
  own.ncu.sections = use.settings.list("ncu.sections");
  own.ncu.metrics = use.settings.list("ncu.metrics");
  own.ncu.replay_mode = use.settings.text("ncu.replay_mode");
  own.ncu.clock_control = use.settings.text("ncu.clock_control");
  own.ncu.cache_control = use.settings.text("ncu.cache_control");
  own.ncu.between_profiler_calls = use.settings.boolean("workload.calls_profiler_api");
  return capture_counters(own, use.run);
}

}  // namespace profgate::profilers
