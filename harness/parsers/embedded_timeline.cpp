#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/escape.h"
#include "embedded_activity.h"
#include "embedded_file.h"
#include "parsers/timeline.h"
#include "sort_by_start.h"

namespace profgate::parsers {
namespace {

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

std::string note_of(const collector::file_header& header) {
  return core::to_valid_utf8(
      std::string_view(header.gpu_note, strnlen(header.gpu_note, sizeof header.gpu_note)));
}

std::optional<std::string> kernels_absent_reason(const collector::file_header& header) {
  switch (static_cast<collector::gpu_state>(header.gpu)) {
    case collector::gpu_state::recording:
      return std::nullopt;
    case collector::gpu_state::no_cuda:
      return "the traced process never initialised CUDA";
    case collector::gpu_state::not_asked:
      return "CUDA was not told to load the embedded collector (CUDA_INJECTION64_PATH was not set)";
    case collector::gpu_state::failed:
      break;
  }
  return fmt::format("the embedded collector could not record GPU activity: {}", note_of(header));
}

/// A gated recording is flushed when its gate closes, any other only when the process ends by exit().
bool is_whole(const embedded_file& file) {
  if (file.header.gpu != static_cast<std::uint32_t>(collector::gpu_state::recording)) return true;
  if (file.header.gated == 0) return file.header.gpu_flushed_ns != 0;
  return std::all_of(file.ranges.begin(), file.ranges.end(), [&](const collector::range_record& range) {
    return range.is_gate == 0 || (range.end_ns != 0 && range.end_ns <= file.header.gpu_flushed_ns);
  });
}

embedded_facts facts_of(const embedded_file& file) {
  embedded_facts facts;
  facts.dropped_ranges = file.header.dropped_records;
  facts.dropped_activities = file.header.dropped_activities;
  facts.is_activity_whole = is_whole(file);
  facts.cupti_version = file.header.cupti_version;
  return facts;
}

}  // namespace

core::timeline read_embedded_timeline(const std::filesystem::path& file) {
  const embedded_file recorded = read_embedded_file(file);
  const embedded_facts facts = facts_of(recorded);
  core::timeline result;
  result.tool = "embedded";
  result.tool_version = std::to_string(recorded.header.version);
  result.texts.adopt(recorded.texts);
  result.kernels_absent_reason = kernels_absent_reason(recorded.header);
  // What was never delivered is at least one record.
  result.dropped_records =
      facts.dropped_ranges + facts.dropped_activities + (facts.is_activity_whole ? 0 : 1);
  result.ranges.reserve(recorded.ranges.size());
  for (const collector::range_record& record : recorded.ranges) {
    result.ranges.push_back(to_range(recorded, record));
  }
  sort_by_start(result.ranges);
  add_activity(recorded, result);
  return result;
}

embedded_facts read_embedded_facts(const std::filesystem::path& file) {
  return facts_of(read_embedded_file(file));
}

}  // namespace profgate::parsers
