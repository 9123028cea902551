#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/kernel_names.h"
#include "nsys_tables.h"
#include "sort_by_start.h"

namespace profgate::parsers {
namespace {

/// Finds the GPU work that a call launched. Calls mostly come in the order of their correlation ids, so the
/// next one asked for is mostly the next one here.
class launch_index {
 public:
  explicit launch_index(core::timeline& timeline) : m_timeline(timeline) {
    m_entries.reserve(timeline.kernels.size() + timeline.copies.size() + timeline.opaque_graphs.size());
    add(timeline.kernels, kind::kernel);
    add(timeline.copies, kind::copy);
    add(timeline.opaque_graphs, kind::graph);
    if (!std::is_sorted(m_entries.begin(), m_entries.end(), by_key)) {
      std::sort(m_entries.begin(), m_entries.end(), by_key);
    }
  }

  void set_launch(std::uint64_t key, std::uint32_t thread_id, std::int64_t start_ns, std::uint32_t call_ns) {
    if (m_next == m_entries.size() || m_entries[m_next].key != key) {
      m_next = static_cast<std::size_t>(
          std::lower_bound(m_entries.begin(), m_entries.end(), entry{key, 0, kind::kernel}, by_key) -
          m_entries.begin());
    }
    for (; m_next < m_entries.size() && m_entries[m_next].key == key; ++m_next) {
      const entry& found = m_entries[m_next];
      if (found.what == kind::kernel) set(m_timeline.kernels[found.index], thread_id, start_ns, call_ns);
      if (found.what == kind::copy) set(m_timeline.copies[found.index], thread_id, start_ns, call_ns);
      if (found.what == kind::graph) set(m_timeline.opaque_graphs[found.index], thread_id, start_ns, call_ns);
    }
  }

  /// Correlation ids count per process.
  static std::uint64_t key_of(std::uint32_t process_id, std::uint32_t correlation) {
    return std::uint64_t{process_id} << 32 | correlation;
  }

 private:
  enum class kind : std::uint32_t { kernel, copy, graph };
  struct entry {
    std::uint64_t key;
    std::uint32_t index;
    kind what;
  };

  static bool by_key(const entry& a, const entry& b) { return a.key < b.key; }

  template <typename record>
  void add(const std::vector<record>& works, kind what) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      m_entries.push_back(
          {key_of(works[i].process_id, works[i].correlation), static_cast<std::uint32_t>(i), what});
    }
  }

  template <typename record>
  static void set(record& work, std::uint32_t thread_id, std::int64_t start_ns, std::uint32_t call_ns) {
    if (work.thread_id != 0) return;  // a driver call inside the runtime's: the outer one came first
    work.thread_id = thread_id;
    work.launched_ns = start_ns;
    work.call_ns = call_ns;
  }

  core::timeline& m_timeline;
  std::vector<entry> m_entries;
  std::size_t m_next = 0;
};

/// Calls that make the host wait for the device, or that move data.
bool is_kept(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos ||
         name.find("Memcpy") != std::string_view::npos || name.find("Memset") != std::string_view::npos;
}

}  // namespace

void read_nsys_calls(const core::sqlite_database& database, nsys_strings& strings, core::timeline& result) {
  const std::string table = "CUPTI_ACTIVITY_KIND_RUNTIME";
  if (!database.has_table(table)) return;
  launch_index launches(result);
  std::unordered_map<std::int64_t, bool> kept_names;
  core::sqlite_statement rows =
      database.query(fmt::format("SELECT start, end, globalTid, correlationId, {} FROM {}",
                                 database.column_or_null(table, "nameId"), table));
  while (rows.next()) {
    const std::int64_t start_ns = rows.whole_number(0);
    const std::int64_t end_ns = rows.whole_number(1);
    check_times(database, "a call", start_ns, end_ns);
    const std::uint32_t process_id = process_of(rows.integer(2));
    const std::uint32_t thread_id = thread_of(rows.integer(2));
    const auto correlation = static_cast<std::uint32_t>(rows.integer(3) & 0xFFFFFFFF);
    constexpr std::int64_t longest_ns = std::numeric_limits<std::uint32_t>::max();
    launches.set_launch(launch_index::key_of(process_id, correlation), thread_id, start_ns,
                        static_cast<std::uint32_t>(std::min(end_ns - start_ns, longest_ns)));
    if (rows.is_null(4)) continue;
    const auto [name, is_new] = kept_names.try_emplace(rows.integer(4), false);
    if (is_new) name->second = is_kept(strings.at(rows.integer(4)));
    if (name->second) {
      result.calls.push_back({core::documented_call_name(strings.at(rows.integer(4))), process_id, thread_id,
                              start_ns, end_ns, correlation});
    }
  }
  sort_by_start(result.calls);
}

}  // namespace profgate::parsers
