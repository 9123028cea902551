#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "nsys_tables.h"
#include "sort_by_start.h"

namespace profgate::parsers {
namespace {

// NVTX_EVENTS.eventType
constexpr int push_pop_event = 59;
constexpr int start_end_event = 60;
constexpr int domain_create_event = 75;

/// Domain ids count per process.
using domain_table = std::map<std::pair<std::uint32_t, std::int64_t>, std::string_view>;

domain_table read_domains(const core::sqlite_database& database, nsys_strings& strings,
                          core::text_pool& texts) {
  domain_table domains;
  core::sqlite_statement rows =
      database.query(fmt::format("SELECT globalTid, domainId, text, {} FROM NVTX_EVENTS WHERE eventType = {}",
                                 database.column_or_null("NVTX_EVENTS", "textId"), domain_create_event));
  while (rows.next()) {
    const std::optional<std::int64_t> text_id = rows.optional_integer(3);
    const std::string_view name =
        rows.is_null(2) && text_id ? strings.at(*text_id) : texts.keep(rows.text(2));
    domains.try_emplace({process_of(rows.integer(0)), rows.integer(1)}, name);
  }
  return domains;
}

/// nsys gives a range that was open when the program died the end of the recording. One range may well end
/// right there (a capture range closes the recording), but two of one stack cannot be popped in the same
/// nanosecond: both are open then.
void reopen_ranges_closed_by_nsys(std::vector<core::range_record>& ranges) {
  std::int64_t recording_end_ns = 0;
  for (const core::range_record& range : ranges) {
    recording_end_ns = std::max(recording_end_ns, range.end_ns.value_or(0));
  }
  using stack_key = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::string_view>;
  std::map<stack_key, std::vector<core::range_record*>> ended_last;
  for (core::range_record& range : ranges) {
    if (range.style != core::range_style::push_pop || range.end_ns != recording_end_ns) continue;
    ended_last[{{range.process_id, range.thread_id}, range.domain}].push_back(&range);
  }
  for (auto& [stack, open] : ended_last) {
    if (open.size() < 2) continue;
    for (core::range_record* range : open) range->end_ns.reset();
  }
}

}  // namespace

void read_nsys_ranges(const core::sqlite_database& database, nsys_strings& strings, core::timeline& result) {
  if (!database.has_table("NVTX_EVENTS")) return;
  const domain_table domains = read_domains(database, strings, result.texts);
  result.ranges.reserve(database.rows_at_most("NVTX_EVENTS"));
  core::sqlite_statement rows = database.query(
      fmt::format("SELECT start, end, eventType, globalTid, domainId, text, {} FROM NVTX_EVENTS "
                  "WHERE eventType IN ({}, {})",
                  database.column_or_null("NVTX_EVENTS", "textId"), push_pop_event, start_end_event));
  domain_table::key_type last_domain_key{~0U, -1};
  std::string_view last_domain;  // neighbours share theirs
  while (rows.next()) {
    core::range_record range;
    range.start_ns = rows.whole_number(0);
    range.end_ns = rows.optional_integer(1);
    check_times(database, "a range", range.start_ns, range.end_ns.value_or(range.start_ns));
    range.style =
        rows.integer(2) == push_pop_event ? core::range_style::push_pop : core::range_style::start_end;
    range.process_id = process_of(rows.integer(3));
    range.thread_id = thread_of(rows.integer(3));
    const domain_table::key_type key{range.process_id, rows.integer(4)};
    if (key != last_domain_key) {
      const auto domain = domains.find(key);
      last_domain = domain == domains.end() ? std::string_view() : domain->second;
      last_domain_key = key;
    }
    range.domain = last_domain;
    range.name =
        rows.is_null(5) && !rows.is_null(6) ? strings.at(rows.integer(6)) : result.texts.keep(rows.text(5));
    result.ranges.push_back(range);
  }
  sort_by_start(result.ranges);
  reopen_ranges_closed_by_nsys(result.ranges);
}

}  // namespace profgate::parsers
