#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "collector/timeline_format.h"
#include "core/error.h"
#include "core/escape.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

using collector::chunk_bytes;
using collector::chunk_header;
using collector::chunk_kind;
using collector::file_header;
using collector::header_bytes;

/// Holds one chunk at a time: the file may have hundreds of megabytes.
class embedded_reader {
 public:
  explicit embedded_reader(const std::filesystem::path& file)
      : m_name(file.string()), m_in(file, std::ios::binary) {
    std::error_code problem;
    m_file_bytes = std::filesystem::file_size(file, problem);
    if (problem || !m_in) {
      throw core::bad_input(m_name, 0,
                            fmt::format("cannot be read: {}", problem ? problem.message() : "not readable"),
                            "run the timeline step again");
    }
    read_header();
  }

  core::timeline read() {
    for (std::uint64_t i = 0; i < m_header.chunk_count; ++i) read_chunk(i);
    core::timeline result;
    result.tool = "embedded";
    result.tool_version = std::to_string(m_header.version);
    result.kernels_absent_reason = "the embedded collector records NVTX ranges only, no GPU activity";
    result.dropped_records = m_header.dropped_records;
    result.ranges.reserve(m_records.size());
    for (const collector::range_record& record : m_records) result.ranges.push_back(to_range(record));
    result.texts = m_texts;
    std::stable_sort(result.ranges.begin(), result.ranges.end(),
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw core::bad_input(m_name, 0, what,
                          "the recording is damaged or not one of profgate's embedded collector; run the "
                          "timeline step again");
  }

  void read_header() {
    if (m_file_bytes < header_bytes || !m_in.read(reinterpret_cast<char*>(&m_header), sizeof m_header)) {
      fail(fmt::format("truncated: {} bytes, a recording's header alone has {}", m_file_bytes, header_bytes));
    }
    if (std::memcmp(m_header.magic, collector::file_magic, sizeof collector::file_magic) != 0) {
      fail("not a recording of the embedded collector (it does not start with PGTIMELN)");
    }
    if (m_header.version != collector::format_version) {
      fail(fmt::format("recorded in format {}, this profgate reads format {}", m_header.version,
                       collector::format_version));
    }
    if (m_header.header_size != header_bytes || m_header.chunk_size != chunk_bytes ||
        m_header.record_size != sizeof(collector::range_record)) {
      fail("corrupt header: its sizes are not those of its format");
    }
    if (m_header.chunk_count > (m_file_bytes - header_bytes) / chunk_bytes) {
      fail(fmt::format("truncated: {} bytes hold fewer than the {} chunks that its header promises",
                       m_file_bytes, m_header.chunk_count));
    }
  }

  void read_chunk(std::uint64_t index) {
    m_in.seekg(static_cast<std::streamoff>(header_bytes + index * chunk_bytes));
    m_chunk.resize(chunk_bytes);
    if (!m_in.read(m_chunk.data(), chunk_bytes)) fail(fmt::format("chunk {} cannot be read", index));
    chunk_header head;
    std::memcpy(&head, m_chunk.data(), sizeof head);
    if (head.kind == static_cast<std::uint32_t>(chunk_kind::records)) {
      read_records();
    } else if (head.kind == static_cast<std::uint32_t>(chunk_kind::strings)) {
      read_strings(head.used_bytes, index);
    } else {
      fail(fmt::format("corrupt: chunk {} is of the unknown kind {}", index, head.kind));
    }
  }

  void read_records() {
    for (std::uint32_t i = 0; i < collector::records_per_chunk; ++i) {
      collector::range_record record;
      std::memcpy(&record, m_chunk.data() + sizeof(chunk_header) + i * sizeof record, sizeof record);
      if (record.start_ns != 0) m_records.push_back(record);
    }
  }

  void read_strings(std::uint32_t used_bytes, std::uint64_t index) {
    if (used_bytes > chunk_bytes) fail(fmt::format("corrupt: the strings of chunk {} pass its end", index));
    std::size_t at = sizeof(chunk_header);
    while (at + sizeof(collector::string_entry) <= used_bytes) {
      collector::string_entry entry;
      std::memcpy(&entry, m_chunk.data() + at, sizeof entry);
      const std::size_t next = at + collector::padded_string_bytes(entry.length);
      if (next > used_bytes) fail(fmt::format("corrupt: a string of chunk {} passes its end", index));
      m_strings[entry.id] = m_texts.keep(
          core::to_valid_utf8(std::string_view(m_chunk).substr(at + sizeof entry, entry.length)));
      at = next;
    }
  }

  std::string_view string_of(std::uint32_t id) const {
    const auto found = m_strings.find(id);
    if (found == m_strings.end()) fail(fmt::format("corrupt: a range's name, string {}, is not in it", id));
    return found->second;
  }

  core::range_record to_range(const collector::range_record& record) const {
    constexpr auto latest_ns = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const bool is_ordered = record.end_ns == 0 || record.end_ns >= record.start_ns;
    if (!is_ordered || record.start_ns > latest_ns || record.end_ns > latest_ns) {
      fail(fmt::format("corrupt: a range lasts from {} to {} ns", record.start_ns, record.end_ns));
    }
    core::range_record range;
    range.name = string_of(record.name_id);
    if (record.domain_id != 0) range.domain = string_of(record.domain_id);
    switch (record.style) {
      case static_cast<std::uint8_t>(collector::record_style::push_pop):
        range.style = core::range_style::push_pop;
        break;
      case static_cast<std::uint8_t>(collector::record_style::start_end):
        range.style = core::range_style::start_end;
        break;
      default:
        fail(fmt::format("corrupt: a range is of the unknown style {}", record.style));
    }
    range.process_id = static_cast<std::uint32_t>(m_header.process_id);
    range.thread_id = static_cast<std::uint32_t>(record.thread_id);
    range.start_ns = static_cast<std::int64_t>(record.start_ns);
    if (record.end_ns != 0) range.end_ns = static_cast<std::int64_t>(record.end_ns);
    return range;
  }

  std::string m_name;
  std::ifstream m_in;
  std::uintmax_t m_file_bytes = 0;
  file_header m_header{};
  std::string m_chunk;
  std::vector<collector::range_record> m_records;
  core::text_pool m_texts;
  std::unordered_map<std::uint32_t, std::string_view> m_strings;
};

}  // namespace

core::timeline read_embedded_timeline(const std::filesystem::path& file) {
  return embedded_reader(file).read();
}

}  // namespace profgate::parsers
