#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/records.h"
#include "core/sqlite.h"

/// The tables of nsys's SQLite export, one function a kind of record. Empty tables are absent; columns that
/// came with a later version are probed.
namespace profgate::parsers {

// globalTid and globalPid: 24 bits of thread below 24 bits of process.
inline std::uint32_t process_of(std::int64_t global_id) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(global_id) >> 24 & 0xFFFFFF);
}
inline std::uint32_t thread_of(std::int64_t global_id) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(global_id) & 0xFFFFFF);
}

/// bad_input where no recording can have such times: sums of them must not overflow.
void check_times(const core::sqlite_database& database, const char* what, std::int64_t start_ns,
                 std::int64_t end_ns);

/// StringIds. Read one by one when asked for: nsys also keeps whole log files there.
class nsys_strings {
 public:
  nsys_strings(const core::sqlite_database& database, core::text_pool& texts);
  std::string_view at(std::int64_t id);

 private:
  const core::sqlite_database& m_database;
  core::text_pool& m_texts;
  core::sqlite_statement m_lookup;
  std::unordered_map<std::int64_t, std::string_view> m_known;
};

void read_nsys_ranges(const core::sqlite_database& database, nsys_strings& strings, core::timeline& result);

/// Kernels, copies, memsets and opaque graphs, each sorted by start, and the nodes of graphs. Until
/// read_nsys_calls has run they look as if launched by no thread when they start.
void read_nsys_gpu_work(const core::sqlite_database& database, nsys_strings& strings, core::timeline& result);

/// Tells the GPU's work who launched it, and keeps the calls that wait or copy.
void read_nsys_calls(const core::sqlite_database& database, nsys_strings& strings, core::timeline& result);

}  // namespace profgate::parsers
