#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "parsers/timeline.h"
#include "sqlite_reader.h"

namespace profgate::parsers {
namespace {

constexpr int oldest_schema = 2;
constexpr int newest_schema = 3;

// NVTX_EVENTS.eventType
constexpr int push_pop_event = 59;
constexpr int start_end_event = 60;
constexpr int domain_create_event = 75;

// globalTid and globalPid: 24 bits of thread below 24 bits of process.
std::uint64_t process_of(std::int64_t global_id) {
  return static_cast<std::uint64_t>(global_id) >> 24 & 0xFFFFFF;
}
std::uint64_t thread_of(std::int64_t global_id) {
  return static_cast<std::uint64_t>(global_id) & 0xFFFFFF;
}

using string_table = std::unordered_map<std::int64_t, std::string_view>;

void check_schema(sqlite_reader& database, core::timeline& result) {
  const char* const table = database.has_table("META_DATA_EXPORT")   ? "META_DATA_EXPORT"  // 2023 and later
                            : database.has_table("EXPORT_META_DATA") ? "EXPORT_META_DATA"  // 2022
                                                                     : nullptr;
  if (table == nullptr) database.fail("an SQLite database, but not an export of nsys (no EXPORT_META_DATA)");
  std::string schema;
  database.for_each(fmt::format("SELECT name, value FROM {}", table), [&](const sqlite_row& row) {
    const std::string name = row.text(0);
    if (name == "EXPORT_SCHEMA_VERSION") schema = row.text(1);
    if (name == "EXPORT_PRODUCT_VERSION") result.tool_version = row.text(1);
  });
  int major = 0;
  std::from_chars(schema.data(), schema.data() + schema.size(), major);
  if (major < oldest_schema || major > newest_schema) {
    database.fail(fmt::format("its EXPORT_SCHEMA_VERSION is '{}'; this profgate reads {}.x to {}.x", schema,
                              oldest_schema, newest_schema));
  }
}

string_table read_strings(sqlite_reader& database, core::text_pool& texts) {
  string_table strings;
  database.for_each("SELECT id, value FROM StringIds",
                    [&](const sqlite_row& row) { strings.emplace(row.integer(0), texts.keep(row.text(1))); });
  return strings;
}

std::string_view string_of(const sqlite_reader& database, const string_table& strings, std::int64_t id) {
  const auto found = strings.find(id);
  if (found == strings.end()) database.fail(fmt::format("corrupt: string {} is not in StringIds", id));
  return found->second;
}

/// Domain ids count per process.
using domain_table = std::map<std::pair<std::uint64_t, std::int64_t>, std::string_view>;

void read_ranges(sqlite_reader& database, const string_table& strings, core::timeline& result) {
  if (!database.has_table("NVTX_EVENTS")) return;  // nsys leaves empty tables out
  domain_table domains;
  database.for_each(
      fmt::format("SELECT globalTid, domainId, text, textId FROM NVTX_EVENTS WHERE eventType = {}",
                  domain_create_event),
      [&](const sqlite_row& row) {
        const std::optional<std::int64_t> text_id = row.optional_integer(3);
        domains[{process_of(row.integer(0)), row.integer(1)}] =
            text_id ? string_of(database, strings, *text_id) : result.texts.keep(row.text(2));
      });
  database.for_each(
      fmt::format("SELECT start, end, eventType, globalTid, domainId, text, textId FROM NVTX_EVENTS "
                  "WHERE eventType IN ({}, {}) ORDER BY start",
                  push_pop_event, start_end_event),
      [&](const sqlite_row& row) {
        core::range_record range;
        range.start_ns = row.integer(0);
        range.end_ns = row.optional_integer(1);
        if (range.end_ns && *range.end_ns < range.start_ns) {
          database.fail(
              fmt::format("corrupt: a range lasts from {} to {} ns", range.start_ns, *range.end_ns));
        }
        range.style =
            row.integer(2) == push_pop_event ? core::range_style::push_pop : core::range_style::start_end;
        range.process_id = process_of(row.integer(3));
        range.thread_id = thread_of(row.integer(3));
        const auto domain = domains.find({range.process_id, row.integer(4)});
        if (domain != domains.end()) range.domain = domain->second;
        const std::optional<std::int64_t> text_id = row.optional_integer(6);
        range.name = row.is_null(5) && text_id ? string_of(database, strings, *text_id)
                                               : result.texts.keep(row.text(5));
        result.ranges.push_back(range);
      });
}

/// nsys gives a range that was open when the program died the end of the recording. One range may well end
/// right there (a gate closes the recording), but two of one stack cannot be popped in the same nanosecond:
/// both are open then.
void reopen_ranges_closed_by_nsys(std::vector<core::range_record>& ranges) {
  std::int64_t recording_end_ns = 0;
  for (const core::range_record& range : ranges) {
    recording_end_ns = std::max(recording_end_ns, range.end_ns.value_or(0));
  }
  using stack_key = std::pair<std::pair<std::uint64_t, std::uint64_t>, std::string_view>;
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

struct launch {
  std::int64_t start_ns = 0;
  std::uint64_t thread_id = 0;
};

/// Correlation ids have 32 bits and count per process.
std::uint64_t launch_key(std::uint64_t process_id, std::int64_t correlation_id) {
  return process_id << 32 | (static_cast<std::uint64_t>(correlation_id) & 0xFFFFFFFF);
}

/// The call that launched each kernel.
std::unordered_map<std::uint64_t, launch> read_launches(sqlite_reader& database) {
  std::unordered_map<std::uint64_t, launch> launches;
  if (!database.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) return launches;
  database.for_each("SELECT correlationId, globalTid, start FROM CUPTI_ACTIVITY_KIND_RUNTIME",
                    [&](const sqlite_row& row) {
                      launches.try_emplace(launch_key(process_of(row.integer(1)), row.integer(0)),
                                           launch{row.integer(2), thread_of(row.integer(1))});
                    });
  return launches;
}

void read_kernels(sqlite_reader& database, const string_table& strings, core::timeline& result) {
  if (!database.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) {
    result.kernels_absent_reason = database.has_table("TARGET_INFO_GPU")
                                       ? "nsys saw no kernel while it recorded"
                                       : "nsys found no GPU on the machine that recorded";
    return;
  }
  const auto launches = read_launches(database);
  database.for_each(
      "SELECT start, end, deviceId, streamId, globalPid, correlationId, demangledName, mangledName, "
      "gridX, gridY, gridZ, blockX, blockY, blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start",
      [&](const sqlite_row& row) {
        core::kernel_execution kernel;
        kernel.start_ns = row.integer(0);
        kernel.end_ns = row.integer(1);
        if (kernel.end_ns < kernel.start_ns) {
          database.fail(
              fmt::format("corrupt: a kernel runs from {} to {} ns", kernel.start_ns, kernel.end_ns));
        }
        kernel.device = static_cast<int>(row.integer(2));
        kernel.stream = static_cast<std::uint64_t>(row.integer(3));
        kernel.process_id = process_of(row.integer(4));
        kernel.name = string_of(database, strings, row.integer(6));
        if (const auto mangled = row.optional_integer(7)) {
          kernel.mangled_name = string_of(database, strings, *mangled);
        }
        for (int axis = 0; axis < 3; ++axis) {
          kernel.grid[static_cast<std::size_t>(axis)] = static_cast<std::uint32_t>(row.integer(8 + axis));
          kernel.block[static_cast<std::size_t>(axis)] = static_cast<std::uint32_t>(row.integer(11 + axis));
        }
        // Launched before the recording began: no thread is its own, so no range can claim it.
        const auto launched = launches.find(launch_key(kernel.process_id, row.integer(5)));
        kernel.launched_ns = launched == launches.end() ? kernel.start_ns : launched->second.start_ns;
        kernel.thread_id = launched == launches.end() ? 0 : launched->second.thread_id;
        result.kernels.push_back(kernel);
      });
}

}  // namespace

core::timeline read_nsys_sqlite(const std::filesystem::path& file) {
  sqlite_reader database(file);
  core::timeline result;
  result.tool = "nsys";
  check_schema(database, result);
  const string_table strings = read_strings(database, result.texts);
  read_ranges(database, strings, result);
  reopen_ranges_closed_by_nsys(result.ranges);
  read_kernels(database, strings, result);
  return result;
}

}  // namespace profgate::parsers
