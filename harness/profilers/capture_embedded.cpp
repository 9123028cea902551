#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "embedded_run.h"
#include "parsers/timeline.h"
#include "profilers/backends.h"
#include "range_check.h"

namespace profgate::profilers {

namespace fs = std::filesystem;

constexpr std::uintmax_t least_room_bytes = std::uintmax_t{2} << 20;  ///< the collector's file grows by 1 MiB

std::vector<fs::path> embedded_files(const fs::path& folder, const std::string& stem) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(stem + ".", 0) == 0 && name.find(".timeline") != std::string::npos)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

embedded_run run_under_collector(const capture_request& request, const std::string& stem, collected collect,
                                 const command_runner& run) {
  if (!fs::exists(request.collector_library)) {
    throw core::step_failure(
        fmt::format("the embedded collector {} does not exist", request.collector_library.string()),
        "build the target profgate_collector, or install profgate again");
  }
  for (const fs::path& stale : embedded_files(request.output_folder, stem)) fs::remove(stale);
  tool_command command;
  command.runs_workload = true;
  command.argv = request.workload;
  command.set_environment = request.set_environment;
  command.unset_environment = request.unset_environment;
  command.log_file = request.log_file;
  command.deadline_ms = request.deadline_ms;
  command.set_environment["NVTX_INJECTION64_PATH"] = fs::absolute(request.collector_library).string();
  command.set_environment["PROFGATE_COLLECTOR_OUTPUT"] =
      (fs::absolute(request.output_folder) / (stem + ".%p.timeline")).string();
  command.set_environment["PROFGATE_COLLECTOR_MAX_BYTES"] = std::to_string(request.collector_max_bytes);
  command.set_environment["PROFGATE_COLLECTOR_FETCH_MS"] = request.is_server ? "200" : "0";
  const bool synchronises = collect == collected::ranges_only && !request.synchronised.empty();
  if (collect == collected::ranges_only && !synchronises) {
    command.unset_environment.emplace_back("CUDA_INJECTION64_PATH");
  } else {
    command.set_environment["CUDA_INJECTION64_PATH"] = fs::absolute(request.collector_library).string();
  }
  if (synchronises) {
    command.set_environment["PROFGATE_COLLECTOR_SYNC"] = capture_range_list(request.synchronised);
  } else {
    command.unset_environment.emplace_back("PROFGATE_COLLECTOR_SYNC");
  }
  if (collect == collected::inside_capture_ranges) {
    command.set_environment["PROFGATE_COLLECTOR_GATE"] = capture_range_list(request.ranges);
  } else {
    command.unset_environment.emplace_back("PROFGATE_COLLECTOR_GATE");
  }
  embedded_run result;
  result.run = run(command);
  result.files = embedded_files(request.output_folder, stem);
  return result;
}

std::string capture_range_list(const std::vector<range_name>& ranges) {
  std::vector<std::string> names;
  names.reserve(ranges.size());
  for (const range_name& range : ranges) names.push_back(range.as_capture_range());
  return fmt::format("{}", fmt::join(names, ","));
}

namespace {

/// The files of one capture, each read once; `losses` sums up what they say of what is missing.
core::timeline read_recorded(const std::vector<fs::path>& files, parsers::embedded_facts& losses) {
  core::timeline all;
  for (const fs::path& file : files) {
    parsers::embedded_facts facts;
    core::timeline one = parsers::read_embedded_timeline(file, facts);
    losses.dropped_ranges += facts.dropped_ranges;
    losses.dropped_activities += facts.dropped_activities;
    losses.dropped_code_hashes += facts.dropped_code_hashes;
    losses.is_activity_whole = losses.is_activity_whole && facts.is_activity_whole;
    losses.range_cost_ns = std::max(losses.range_cost_ns, facts.range_cost_ns);
    losses.synchronised_ends += facts.synchronised_ends;
    for (const auto& [reason, count] : facts.unsynchronised_ends) losses.unsynchronised_ends[reason] += count;
    if (losses.sync_problem.empty()) losses.sync_problem = facts.sync_problem;
    if (&file == &files.front()) {
      all = std::move(one);
    } else {
      parsers::append_timeline(all, std::move(one), file);
    }
  }
  return all;
}

/// A range that is not in the recording may have been opened and found no room in it.
void require_room(const capture_request& request, const parsers::embedded_facts& losses) {
  if (losses.dropped_ranges == 0) return;
  std::error_code unknown;
  const fs::space_info disk = fs::space(request.output_folder, unknown);
  const bool is_disk_full = !unknown && disk.available < least_room_bytes;
  throw core::step_failure(
      fmt::format(
          "{} NVTX ranges, the stage's perhaps among them, found no room in the recording{}",
          losses.dropped_ranges,
          is_disk_full ? fmt::format(": the disk of {} is full", request.output_folder.string()) : ""),
      is_disk_full ? std::string("free some space ('profgate clean' lists old runs), or point "
                                 "artifacts.stage2_dir at a larger disk")
                   : fmt::format("raise collector.max_bytes, which is {}, or record inside of a gate",
                                 request.collector_max_bytes));
}

/// What the collector said when it could not begin; empty: nothing of the kind.
std::string words_of_collector(const std::string& output) {
  const std::size_t start = output.rfind("profgate collector: ");
  if (start == std::string::npos) return {};
  const std::string line = output.substr(start, output.find('\n', start) - start);
  return line.find("nothing is recorded") == std::string::npos ? std::string() : line;
}

device_waits waits_of(const parsers::embedded_facts& facts) {
  device_waits waits;
  waits.are_done = facts.synchronised_ends > 0;
  if (!facts.sync_problem.empty()) {
    waits.notes.push_back(fmt::format(
        "sync: true {}: {}",
        waits.are_done ? "had no effect in a process" : "had no effect, the times are the host's alone",
        facts.sync_problem));
  } else if (!waits.are_done && facts.unsynchronised_ends.empty()) {
    waits.notes.emplace_back("sync: true had no effect: no process that uses CUDA opened such a range");
  }
  for (const auto& [reason, count] : facts.unsynchronised_ends) {
    waits.notes.push_back(fmt::format("sync: true: the device was not waited for {} {}: {}", count,
                                      count == 1 ? "time" : "times", reason));
  }
  return waits;
}

}  // namespace

core::timeline observe_ranges(const capture_request& request, const command_runner& run) {
  device_waits unused;
  return observe_ranges(request, run, unused);
}

core::timeline observe_ranges(const capture_request& request, const command_runner& run,
                              device_waits& waits) {
  const embedded_run observed = run_under_collector(request, "ranges", collected::ranges_only, run);
  parsers::embedded_facts losses;
  core::timeline timeline = read_recorded(observed.files, losses);
  if (timeline.ranges.empty()) require_room(request, losses);
  if (!request.synchronised.empty()) waits = waits_of(losses);
  if (losses.dropped_ranges > 0) {
    waits.notes.push_back(fmt::format(
        "{} ranges of a bare run did not fit into its recording: times and counts are of those before; raise "
        "collector.max_bytes, which is {}",
        losses.dropped_ranges, request.collector_max_bytes));
  }
  waits.range_cost_ns = losses.range_cost_ns;
  for (const fs::path& file : observed.files) fs::remove(file);
  return timeline;
}

namespace {

void note_losses(const capture_request& request, const parsers::embedded_facts& all,
                 std::vector<std::string>& notes) {
  const std::string advice = fmt::format("raise collector.max_bytes, which is {}, or record inside of a gate",
                                         request.collector_max_bytes);
  if (all.dropped_ranges > 0) {
    notes.push_back(fmt::format("{} ranges did not fit into the recording and are missing; {}",
                                all.dropped_ranges, advice));
  }
  if (all.dropped_activities > 0) {
    notes.push_back(
        fmt::format("{} kernels, copies or calls were dropped, for want of room in the recording, "
                    "in CUPTI's buffers or on the device; {}",
                    all.dropped_activities, advice));
  }
  if (all.dropped_code_hashes > 0) {
    notes.push_back(fmt::format(
        "the machine code of {} kernels or modules was not recorded, so nobody can tell whether it "
        "changed: a module cannot be read, or code has taken its share of the recording; raise "
        "collector.max_bytes, which is {}",
        all.dropped_code_hashes, request.collector_max_bytes));
  }
  if (!all.is_activity_whole) {
    notes.emplace_back(
        "the workload ended without its exit handlers (by _exit or a signal): what the GPU did last was not "
        "delivered and is missing");
  }
}

}  // namespace

capture_result capture_embedded(const capture_request& request, const command_runner& run) try {
  const fs::path single = request.output_folder / "embedded.timeline";
  std::error_code ignored;
  fs::remove(single, ignored);
  embedded_run recorded = run_under_collector(
      request, "embedded", request.is_gated ? collected::inside_capture_ranges : collected::everything, run);
  if (recorded.files.size() == 1) {
    fs::rename(recorded.files.front(), single);
    recorded.files = {single};
  }
  require_good_run(recorded.run, "the workload", request.log_file);
  if (recorded.files.empty()) {
    if (const std::string words = words_of_collector(recorded.run.tail); !words.empty()) {
      throw core::step_failure(words,
                               "make the run directory writable, with room on its disk, and run again");
    }
    if (request.ranges.empty()) {
      throw core::not_possible("the program made no NVTX call, and no CUDA call that the collector sees",
                               "open NVTX ranges where you want stages (workload.stages); a program without "
                               "any, and without CUDA, has no timeline");
    }
    throw core::step_failure(
        "the workload made no NVTX call: the embedded collector was never loaded",
        fmt::format(
            "check that the program uses NVTX 3 and keeps its environment; a collector that cannot write "
            "says so in {}",
            request.log_file.string()));
  }
  parsers::embedded_facts losses;
  const core::timeline timeline = read_recorded(recorded.files, losses);
  for (const range_name& range : request.ranges) {
    if (find_range(timeline, range) != range_state::closed) require_room(request, losses);
  }
  if (request.is_gated && timeline.ranges.empty() && !request.ranges.empty()) {
    fail_absent_range(request.ranges.front(), observe_ranges(request, run));
  }
  require_ranges(timeline, request.ranges);

  capture_result result;
  result.tool = timeline.tool;
  result.version = timeline.tool_version;
  if (request.is_gated) result.capture_ranges = capture_range_list(request.ranges);
  result.files = recorded.files;
  result.timeline_files = recorded.files;
  result.commands = {request.workload};
  note_losses(request, losses, result.notes);
  if (recorded.files.size() > 1) {
    result.notes.push_back(
        fmt::format("{} processes used NVTX, each has its own file", recorded.files.size()));
  }
  return result;
} catch (const fs::filesystem_error& problem) {
  fail_on_files(problem);
}

capture_result capture_embedded(const capture_request& request, const tool_use& use) {
  capture_request own = request;
  own.collector_max_bytes = static_cast<std::uint64_t>(use.settings.integer("collector.max_bytes"));
  return capture_embedded(own, use.run);
}

}  // namespace profgate::profilers
