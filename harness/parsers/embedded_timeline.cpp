#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "collector/fnv1a.h"
#include "core/escape.h"
#include "core/interrupt.h"
#include "core/kernel_names.h"
#include "embedded_file.h"
#include "parsers/timeline.h"
#include "sort_by_start.h"

namespace profgate::parsers {
namespace {

/// The times in which a capture range was open; everything, where there was none.
class capture_times {
 public:
  explicit capture_times(const embedded_file& file) : m_is_gated(file.header.gated != 0) {
    for (const collector::range_record& range : file.ranges) {
      if (range.is_capture_range == 0) continue;
      constexpr auto never = std::numeric_limits<std::uint64_t>::max();
      m_windows.emplace_back(range.start_ns, range.end_ns == 0 ? never : range.end_ns);
    }
    std::sort(m_windows.begin(), m_windows.end());
    // Gates of several threads overlap: each window reaches as far as any before it, for the search.
    for (std::size_t i = 1; i < m_windows.size(); ++i) {
      m_windows[i].second = std::max(m_windows[i].second, m_windows[i - 1].second);
    }
  }

  bool contain(std::uint64_t time_ns) const {
    if (!m_is_gated) return true;
    const auto later =
        std::upper_bound(m_windows.begin(), m_windows.end(), time_ns,
                         [](std::uint64_t time, const auto& window) { return time < window.first; });
    return later != m_windows.begin() && time_ns <= std::prev(later)->second;
  }

 private:
  bool m_is_gated;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> m_windows;
};

class activity_adder {
 public:
  activity_adder(const embedded_file& file, core::timeline& timeline)
      : m_file(file), m_timeline(timeline), m_capture_times(file) {}

  void add() {
    add_calls();
    for (const collector::kernel_record& record : m_file.kernels) add_kernel(record);
    for (const collector::copy_record& record : m_file.copies) add_copy(record);
    for (const collector::graph_node_record& record : m_file.graph_nodes) add_graph_node(record);
    add_code_hashes();
    sort_by_start(m_timeline.calls);
    sort_by_start(m_timeline.kernels);
    sort_by_start(m_timeline.copies);
  }

 private:
  /// The call that launched something.
  struct launch {
    std::uint32_t thread_id = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t call_ns = 0;
  };
  struct kernel_name {
    std::string_view mangled;
    std::string_view demangled;
  };

  template <typename record>
  void check_times(const record& activity, std::string_view what) const {
    constexpr auto latest_ns = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (activity.start_ns == 0 || activity.end_ns < activity.start_ns || activity.end_ns > latest_ns) {
      m_file.fail(
          fmt::format("corrupt: a {} lasts from {} to {} ns", what, activity.start_ns, activity.end_ns));
    }
  }

  void add_calls() {
    std::vector<collector::call_record> calls = m_file.calls;
    std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.thread_id, a.start_ns, b.end_ns) < std::tuple(b.thread_id, b.start_ns, a.end_ns);
    });
    const collector::call_record* outer = nullptr;
    for (const collector::call_record& call : calls) {
      check_times(call, "call");
      if (!m_capture_times.contain(call.start_ns)) continue;
      const bool is_nested =
          outer != nullptr && outer->thread_id == call.thread_id && call.end_ns <= outer->end_ns;
      if (!is_nested) {
        outer = &call;
        m_timeline.calls.push_back(
            {core::documented_call_name(m_file.string_of(call.name_id, "a call's name")),
             static_cast<std::uint32_t>(m_file.header.process_id), call.thread_id,
             static_cast<std::int64_t>(call.start_ns), static_cast<std::int64_t>(call.end_ns),
             call.correlation});
      }
      m_launches.try_emplace(call.correlation,
                             launch{outer->thread_id, outer->start_ns, outer->end_ns - outer->start_ns});
    }
  }

  /// What kernels and copies have in common. False: not launched inside of a capture range.
  template <typename record, typename execution>
  bool fill(const record& from, std::string_view what, execution& to) const {
    check_times(from, what);
    if (from.device > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
      m_file.fail(fmt::format("corrupt: a {} ran on the device {}", what, from.device));
    }
    const auto found = m_launches.find(from.correlation);
    if (found == m_launches.end() && !m_capture_times.contain(from.start_ns)) return false;
    to.device = static_cast<int>(from.device);
    to.stream = from.stream;
    to.process_id = static_cast<std::uint32_t>(m_file.header.process_id);
    to.start_ns = static_cast<std::int64_t>(from.start_ns);
    to.end_ns = static_cast<std::int64_t>(from.end_ns);
    to.graph_node = from.graph_node;
    to.correlation = from.correlation;
    to.launched_ns = to.start_ns;
    if (found != m_launches.end()) {
      to.thread_id = found->second.thread_id;
      to.launched_ns = static_cast<std::int64_t>(found->second.start_ns);
      constexpr std::uint64_t longest_ns = std::numeric_limits<std::uint32_t>::max();
      to.call_ns = static_cast<std::uint32_t>(std::min(found->second.call_ns, longest_ns));
    }
    return true;
  }

  void add_kernel(const collector::kernel_record& record) {
    core::stop_if_interrupted();
    core::kernel_execution kernel;
    if (!fill(record, "kernel", kernel)) return;
    const kernel_name& name = name_of(record.name_id);
    kernel.shape = m_timeline.shapes.keep({name.demangled,
                                           name.mangled,
                                           {record.grid[0], record.grid[1], record.grid[2]},
                                           {record.block[0], record.block[1], record.block[2]},
                                           record.registers_per_thread,
                                           record.shared_bytes,
                                           {record.cluster[0], record.cluster[1], record.cluster[2]},
                                           record.dynamic_shared_bytes,
                                           record.local_bytes});
    m_timeline.kernels.push_back(kernel);
  }

  void add_copy(const collector::copy_record& record) {
    core::stop_if_interrupted();
    core::copy_execution copy;
    if (!fill(record, "copy", copy)) return;
    if (record.bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      m_file.fail(fmt::format("corrupt: a copy moves {} bytes", record.bytes));
    }
    copy.bytes = static_cast<std::int64_t>(record.bytes);
    copy.kind = kind_of(record.direction);
    m_timeline.copies.push_back(copy);
  }

  void add_graph_node(const collector::graph_node_record& record) {
    constexpr auto latest_ns = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (record.made_ns == 0 || record.made_ns > latest_ns)
      m_file.fail(fmt::format("corrupt: a graph's node was made at {} ns", record.made_ns));
    m_timeline.graph_nodes.push_back({record.node, record.original,
                                      static_cast<std::uint32_t>(m_file.header.process_id), record.thread_id,
                                      static_cast<std::int64_t>(record.made_ns)});
  }

  /// A kernel with one code has that one's hash, however often it was loaded; one with several has theirs in
  /// the order of their numbers: who loaded what first may differ from run to run.
  void add_code_hashes() {
    std::map<std::string_view, std::set<std::uint64_t>> by_kernel;
    for (const collector::code_hash_record& record : m_file.code_hashes) {
      core::stop_if_interrupted();
      by_kernel[m_file.string_of(record.name_id, "the name of a module's kernel")].insert(record.hash);
    }
    for (const auto& [name, hashes] : by_kernel) {
      std::uint64_t all = collector::fnv1a64_start;
      for (const std::uint64_t one : hashes) all = collector::fnv1a64(&one, sizeof one, all);
      m_timeline.code_hashes.emplace(name, hashes.size() == 1 ? *hashes.begin() : all);
    }
  }

  core::copy_kind kind_of(std::uint32_t direction) const {
    switch (static_cast<collector::copy_direction>(direction)) {
      case collector::copy_direction::other:
        return core::copy_kind::other;
      case collector::copy_direction::host_to_device:
        return core::copy_kind::host_to_device;
      case collector::copy_direction::device_to_host:
        return core::copy_kind::device_to_host;
      case collector::copy_direction::device_to_device:
        return core::copy_kind::device_to_device;
      case collector::copy_direction::memset:
        return core::copy_kind::memset;
    }
    m_file.fail(fmt::format("corrupt: a copy goes in the unknown direction {}", direction));
  }

  const kernel_name& name_of(std::uint32_t id) {
    const auto [place, is_new] = m_names.try_emplace(id);
    if (is_new) {
      place->second.mangled = m_file.string_of(id, "a kernel's name");
      place->second.demangled = m_timeline.texts.keep(core::demangle(std::string(place->second.mangled)));
    }
    return place->second;
  }

  const embedded_file& m_file;
  core::timeline& m_timeline;
  capture_times m_capture_times;
  /// By correlation: the thread, and the time of the outermost call.
  std::unordered_map<std::uint32_t, launch> m_launches;
  std::unordered_map<std::uint32_t, kernel_name> m_names;
};

/// Adds the GPU's kernels and copies and the host's calls, each in the order of its start. Of a gated
/// recording only what was launched inside of a capture range; a kernel whose call is not in the recording
/// counts by its own start and has the thread 0. Of two calls, one inside the other (the runtime calls the
/// driver), only the outer stays, as in nsys.
void add_activity(const embedded_file& file, core::timeline& timeline) {
  activity_adder(file, timeline).add();
}

core::range_record to_range(const embedded_file& file, const collector::range_record& record) {
  constexpr auto latest_ns = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_ordered = record.end_ns == 0 || record.end_ns >= record.start_ns;
  if (!is_ordered || record.start_ns > latest_ns || record.end_ns > latest_ns) {
    file.fail(fmt::format("corrupt: a range lasts from {} to {} ns", record.start_ns, record.end_ns));
  }
  core::range_record range;
  range.name = file.string_of(record.name_id, "a range's name");
  if (record.domain_id != 0) range.domain = file.string_of(record.domain_id, "a domain's name");
  switch (record.style) {
    case static_cast<std::uint8_t>(collector::record_style::push_pop):
      range.style = core::range_style::push_pop;
      break;
    case static_cast<std::uint8_t>(collector::record_style::start_end):
      range.style = core::range_style::start_end;
      break;
    default:
      file.fail(fmt::format("corrupt: a range is of the unknown style {}", record.style));
  }
  range.process_id = static_cast<std::uint32_t>(file.header.process_id);
  range.thread_id = record.thread_id;
  range.start_ns = static_cast<std::int64_t>(record.start_ns);
  if (record.end_ns != 0) range.end_ns = static_cast<std::int64_t>(record.end_ns);
  return range;
}

template <std::size_t size>
std::string text_of(const char (&note)[size]) {
  return core::to_valid_utf8(std::string_view(note, strnlen(note, size)));
}

/// The words between the commas, without the blanks that CUDA ignores.
std::vector<std::string> gpus_listed(std::string_view list) {
  std::vector<std::string> gpus;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string_view word = list.substr(begin, end - begin);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    gpus.emplace_back(word);
    begin = end + 1;
  }
  return gpus;
}

/// Of a child that was forked before its program used CUDA older collectors wrote that it never did, and its
/// kernels nevertheless.
bool is_gpu_recorded(const embedded_file& file) {
  const auto state = static_cast<collector::gpu_state>(file.header.gpu);
  return state == collector::gpu_state::recording ||
         (state == collector::gpu_state::no_cuda && (!file.kernels.empty() || !file.copies.empty()));
}

std::optional<std::string> kernels_absent_reason(const embedded_file& file) {
  if (is_gpu_recorded(file)) return std::nullopt;
  switch (static_cast<collector::gpu_state>(file.header.gpu)) {
    case collector::gpu_state::recording:
      return std::nullopt;
    case collector::gpu_state::no_cuda:
      return "the traced process never initialised CUDA";
    case collector::gpu_state::not_asked:
      return "CUDA was not told to load the embedded collector (CUDA_INJECTION64_PATH was not set)";
    case collector::gpu_state::failed:
      break;
  }
  return fmt::format("the embedded collector could not record GPU activity: {}",
                     text_of(file.header.gpu_note));
}

/// A gated recording is flushed when its capture range closes, any other only when the process ends by
/// exit().
bool is_whole(const embedded_file& file) {
  if (!is_gpu_recorded(file)) return true;
  if (file.header.gated == 0) return file.header.gpu_flushed_ns != 0;
  return std::all_of(file.ranges.begin(), file.ranges.end(), [&](const collector::range_record& range) {
    return range.is_capture_range == 0 || (range.end_ns != 0 && range.end_ns <= file.header.gpu_flushed_ns);
  });
}

void set_sync_facts(const collector::file_header& header, embedded_facts& facts) {
  const auto ends = [&](collector::sync_outcome outcome) {
    return header.sync_ends[static_cast<std::size_t>(outcome)];
  };
  facts.synchronised_ends = ends(collector::sync_outcome::waited);
  const auto add = [&](collector::sync_outcome outcome, const char* reason) {
    if (ends(outcome) > 0) facts.unsynchronised_ends[reason] = ends(outcome);
  };
  add(collector::sync_outcome::capturing, "a stream was capturing a graph");
  add(collector::sync_outcome::no_context, "no CUDA context was current on the range's thread");
  add(collector::sync_outcome::error, "cuCtxSynchronize failed");
  if (header.sync == static_cast<std::uint32_t>(collector::sync_state::failed))
    facts.sync_problem = text_of(header.sync_note);
}

embedded_facts facts_of(const embedded_file& file) {
  embedded_facts facts;
  facts.dropped_ranges = file.header.dropped_records;
  facts.dropped_activities = file.header.dropped_activities;
  facts.dropped_code_hashes = file.header.dropped_code_hashes;
  facts.is_activity_whole = is_whole(file);
  facts.cupti_version = file.header.cupti_version;
  facts.range_cost_ns = static_cast<double>(file.header.range_cost_ps) / 1000;
  set_sync_facts(file.header, facts);
  return facts;
}

}  // namespace

core::timeline read_embedded_timeline(const std::filesystem::path& file) {
  embedded_facts unused;
  return read_embedded_timeline(file, unused);
}

core::timeline read_embedded_timeline(const std::filesystem::path& file, embedded_facts& facts) {
  const embedded_file recorded = read_embedded_file(file);
  facts = facts_of(recorded);
  core::timeline result;
  result.tool = "embedded";
  result.tool_version = std::to_string(recorded.header.version);
  result.texts.adopt(recorded.texts);
  result.kernels_absent_reason = kernels_absent_reason(recorded);
  if (const std::string visible = text_of(recorded.header.visible_gpus); !visible.empty()) {
    const auto process = static_cast<std::uint32_t>(recorded.header.process_id);
    result.visible_gpus.emplace(process, gpus_listed(visible));
  }
  // What was never delivered is at least one record.
  result.dropped_records =
      facts.dropped_ranges + facts.dropped_activities + (facts.is_activity_whole ? 0 : 1);
  result.ranges.reserve(recorded.ranges.size());
  for (const collector::range_record& record : recorded.ranges) {
    core::stop_if_interrupted();
    result.ranges.push_back(to_range(recorded, record));
  }
  sort_by_start(result.ranges);
  rename_raised_calls(result);
  add_activity(recorded, result);
  return result;
}

}  // namespace profgate::parsers
