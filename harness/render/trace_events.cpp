#include "render/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/trace_spans.h"
#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/program_name.h"

namespace profgate::render {
namespace {

using analysis::trace_span;
using analysis::track;
using analysis::track_kind;

constexpr std::size_t piece_bytes = 1 << 16;

/// Of each capture: host processes keep their numbers (Linux gives none above four million), devices follow.
constexpr std::int64_t first_device = 10'000'000;
constexpr std::int64_t capture_stride = 20'000'000;

std::string json_string(std::string_view text) {
  return nlohmann::json(core::to_valid_utf8(text)).dump();
}

/// Writes one capture's rows as threads of processes, and their spans as complete events.
class event_writer : public analysis::span_visitor {
 public:
  event_writer(std::size_t capture, std::string_view capture_name,
               std::map<std::uint32_t, std::string> programs, const core::short_kernel_names& names,
               const std::function<void(std::string_view)>& write, bool& is_first)
      : m_base(static_cast<std::int64_t>(capture) * capture_stride),
        m_first_flow(static_cast<std::uint64_t>(capture) << 56),
        m_capture_name(capture_name),
        m_programs(std::move(programs)),
        m_write(write),
        m_is_first(is_first),
        m_names(names) {}

  void on_track(std::size_t row_index, const track& row) override {
    const std::size_t index = row_index + 1;  // a viewer takes thread 0 for the idle one
    const std::int64_t process = process_of(row);
    if (m_processes.insert(process).second) {
      name_it("process_name", process, 0, process_name(row));
      // The host above its devices.
      event(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
                        process, process));
    }
    name_it("thread_name", process, index, row_name(row));
    event(
        fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                    process, index, sort_index(row)));
    m_process_of_row[index] = process;
    m_is_kernels_row[index] = row.kind == track_kind::stream;
  }

  void on_span(std::size_t row_index, const trace_span& one) override {
    const std::size_t index = row_index + 1;
    const std::int64_t start_ns = one.start_ns - m_origin_ns;
    const std::int64_t length_ns = one.end_ns - one.start_ns;
    const bool is_in_stream = m_is_kernels_row[index];
    begin_event();
    const auto out = std::back_inserter(m_piece);
    // Microseconds with three digits are nanoseconds: nothing is rounded.
    fmt::format_to(out, R"({{"ph":"X","pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03},"name":{})",
                   m_process_of_row[index], index, start_ns / 1000, start_ns % 1000, length_ns / 1000,
                   length_ns % 1000, is_in_stream ? short_name(one.name) : written(one.name));
    // An arrow leads from the call to what it started.
    if (one.flow != 0)
      fmt::format_to(out, R"(,"bind_id":"{:#x}","{}":true)", m_first_flow + one.flow,
                     is_in_stream ? "flow_in" : "flow_out");
    add_arguments(one);
    m_piece += "}";
    end_event();
  }

  /// Times are told from here on: a viewer cannot show the nanoseconds of a clock that began long ago.
  void set_origin(std::int64_t origin_ns) { m_origin_ns = origin_ns; }

  void flush() {
    m_write(m_piece);
    m_piece.clear();
  }

 private:
  /// Of a kernel and of a copy where it belongs; of a kernel how it was launched, as far as the tool tells.
  void add_arguments(const trace_span& one) {
    const bool has_place = !one.op.empty() || !one.stage.empty();
    const bool has_launch = one.shape != nullptr && one.shape->grid[0] != 0;
    if (!has_place && !has_launch) return;
    m_piece += R"(,"args":{)";
    if (has_place)
      fmt::format_to(std::back_inserter(m_piece), R"("operator":{},"stage":{})", written(one.op),
                     written(one.stage));
    if (has_place && has_launch) m_piece += ",";
    if (has_launch) m_piece += launch_of(*one.shape);
    m_piece += "}";
  }

  const std::string& launch_of(const core::kernel_shape& shape) {
    const auto [found, is_new] = m_launches.try_emplace(&shape);
    if (!is_new) return found->second;
    const auto size = [](const std::array<std::uint32_t, 3>& is) {
      return fmt::format(R"("{}, {}, {}")", is[0], is[1], is[2]);
    };
    std::string& text = found->second;
    text = fmt::format(R"("grid":{},"block":{})", size(shape.grid), size(shape.block));
    if (shape.registers_per_thread > 0)
      text += fmt::format(R"(,"registers a thread":{})", shape.registers_per_thread);
    if (shape.shared_bytes > 0)
      text += fmt::format(R"(,"shared memory a block, bytes":{})", shape.shared_bytes);
    return text;
  }

  static bool is_of_device(const track& row) {
    return row.kind != track_kind::ranges && row.kind != track_kind::calls;
  }

  std::int64_t process_of(const track& row) const {
    return m_base +
           (is_of_device(row) ? first_device + row.device : static_cast<std::int64_t>(row.process_id));
  }

  std::string process_name(const track& row) const {
    if (is_of_device(row)) return fmt::format("GPU {} ({})", row.device, m_capture_name);
    const auto program = m_programs.find(row.process_id);
    return fmt::format("{}process {} ({})", program == m_programs.end() ? "" : program->second + ", ",
                       row.process_id, m_capture_name);
  }

  static std::string row_name(const track& row) {
    const std::string lane = row.lane > 0 ? fmt::format(", lane {}", row.lane + 1) : "";
    switch (row.kind) {
      case track_kind::ranges:
        return fmt::format("thread {}: NVTX {}{}{}", row.thread_id, row.domain,
                           row.stream > 0 ? " start/end" : "", lane);
      case track_kind::calls:
        return fmt::format("thread {}: CUDA calls{}", row.thread_id, lane);
      case track_kind::operators:
        return "operators";
      case track_kind::idle:
        return "idle" + lane;
      default:
        return fmt::format("stream {}{}", row.stream, lane);
    }
  }

  static int sort_index(const track& row) {
    const int kind = row.kind == track_kind::stream ? 2 : row.kind == track_kind::idle ? 1 : 0;
    return kind * 1000 + static_cast<int>(std::min<std::uint32_t>(row.stream, 90)) * 10 +
           static_cast<int>(std::min<std::uint32_t>(row.lane, 9));
  }

  /// As JSON, made once: a trace has hundreds of thousands of spans, and a few hundred texts.
  const std::string& written(std::string_view text) {
    const auto [found, is_new] = m_written.try_emplace(text);
    if (is_new) found->second = json_string(text);
    return found->second;
  }

  /// The same of a kernel's name, shortened.
  const std::string& short_name(std::string_view name) {
    const auto [found, is_new] = m_short_names.try_emplace(name);
    if (is_new) found->second = json_string(m_names.of(name));
    return found->second;
  }

  void name_it(const char* what, std::int64_t process, std::size_t thread, const std::string& name) {
    event(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process,
                      thread, json_string(name)));
  }

  void event(std::string_view text) {
    begin_event();
    m_piece += text;
    end_event();
  }

  void begin_event() {
    m_piece += m_is_first ? "\n" : ",\n";
    m_is_first = false;
  }
  void end_event() {
    if (m_piece.size() >= piece_bytes) flush();
  }

  std::int64_t m_base;
  std::uint64_t m_first_flow;  ///< process ids have 24 bits, and 32 are of the call: captures stay apart
  std::string_view m_capture_name;
  std::map<std::uint32_t, std::string> m_programs;  ///< by process
  const std::function<void(std::string_view)>& m_write;
  bool& m_is_first;
  std::int64_t m_origin_ns = 0;
  std::string m_piece;
  std::set<std::int64_t> m_processes;
  std::map<std::size_t, std::int64_t> m_process_of_row;
  std::map<std::size_t, bool> m_is_kernels_row;  ///< names of ranges and calls stay as they are
  const core::short_kernel_names& m_names;       ///< of all captures: the same name is the same kernel
  std::unordered_map<std::string_view, std::string> m_short_names;
  std::unordered_map<std::string_view, std::string> m_written;
  std::unordered_map<const core::kernel_shape*, std::string> m_launches;
};

std::int64_t first_instant_ns(const core::timeline& timeline) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const core::range_record& range : timeline.ranges) first_ns = std::min(first_ns, range.start_ns);
  for (const core::host_call& call : timeline.calls) first_ns = std::min(first_ns, call.start_ns);
  for (const core::copy_execution& copy : timeline.copies)
    first_ns = std::min({first_ns, copy.start_ns, copy.launched_ns > 0 ? copy.launched_ns : copy.start_ns});
  for (const core::kernel_execution& kernel : timeline.kernels)
    first_ns =
        std::min({first_ns, kernel.start_ns, kernel.launched_ns > 0 ? kernel.launched_ns : kernel.start_ns});
  return first_ns == std::numeric_limits<std::int64_t>::max() ? 0 : first_ns;
}

/// What each process of the host is called: by the run's own program where the tool saw only what started
/// that, such as env or an interpreter, or does not tell and there is one process; else as the tool saw it.
std::map<std::uint32_t, std::string> programs_of(const core::timeline& timeline, const std::string& program) {
  std::set<std::uint32_t> processes;
  for (const core::range_record& range : timeline.ranges) processes.insert(range.process_id);
  for (const core::host_call& call : timeline.calls) processes.insert(call.process_id);
  std::map<std::uint32_t, std::string> names;
  for (const std::uint32_t process : processes) {
    const auto seen = timeline.process_names.find(process);
    const bool is_seen = seen != timeline.process_names.end() && !seen->second.empty();
    const bool is_program = is_seen ? core::runs_another_program(seen->second) : processes.size() == 1;
    if (is_program && !program.empty()) {
      names[process] = program;
    } else if (is_seen) {
      names[process] = std::filesystem::path(seen->second).filename().string();
    }
  }
  return names;
}

core::short_kernel_names kernel_names_in(const std::vector<analysis::capture>& captures) {
  std::set<std::string_view> names;
  for (const analysis::capture& source : captures)
    for (const core::kernel_execution& kernel : source.timeline.kernels) names.insert(kernel.shape->name);
  return core::short_kernel_names({names.begin(), names.end()});
}

}  // namespace

void write_trace_events(const analysis::run_facts& facts,
                        const std::function<void(std::string_view)>& write) {
  write(R"({"displayTimeUnit":"ns","traceEvents":[)");
  const core::short_kernel_names names = kernel_names_in(facts.captures);
  bool is_first = true;
  for (std::size_t i = 0; i < facts.captures.size(); ++i) {
    const analysis::capture& source = facts.captures[i];
    event_writer writer(i, source.name, programs_of(source.timeline, facts.program), names, write, is_first);
    writer.set_origin(first_instant_ns(source.timeline));
    analysis::visit_spans(source.timeline, analysis::spans_asked_for(facts), writer);
    writer.flush();
  }
  write("\n]}\n");
}

}  // namespace profgate::render
