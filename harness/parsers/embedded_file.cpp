#include "embedded_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/escape.h"
#include "core/interrupt.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

using collector::chunk_bytes;
using collector::chunk_header;
using collector::chunk_kind;
using collector::header_bytes;

/// Holds one chunk at a time: the file may have hundreds of megabytes.
class embedded_reader {
 public:
  explicit embedded_reader(const std::filesystem::path& file) : m_in(file, std::ios::binary) {
    m_file.file_name = file.string();
    std::error_code problem;
    m_file_bytes = std::filesystem::file_size(file, problem);
    if (problem || !m_in) {
      throw core::bad_input(m_file.file_name, 0,
                            fmt::format("cannot be read: {}", problem ? problem.message() : "not readable"),
                            "run the timeline step again");
    }
    read_header();
  }

  embedded_file read() {
    for (std::uint64_t i = 0; i < m_file.header.chunk_count; ++i) read_chunk(i);
    return std::move(m_file);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { m_file.fail(what); }

  void read_header() {
    collector::file_header& head = m_file.header;
    if (m_file_bytes < header_bytes || !m_in.read(reinterpret_cast<char*>(&head), sizeof head)) {
      fail(fmt::format("truncated: {} bytes, a recording's header alone has {}", m_file_bytes, header_bytes));
    }
    if (std::memcmp(head.magic, collector::file_magic, sizeof collector::file_magic) != 0) {
      fail("not a recording of the embedded collector (it does not start with PGTIMELN)");
    }
    if (head.version != collector::format_version) {
      fail(fmt::format("recorded in format {}, this profgate reads format {}", head.version,
                       collector::format_version));
    }
    if (head.header_size != header_bytes || head.chunk_size != chunk_bytes ||
        head.record_size != sizeof(collector::range_record)) {
      fail("corrupt header: its sizes are not those of its format");
    }
    if (head.gpu > static_cast<std::uint32_t>(collector::gpu_state::not_asked)) {
      fail(fmt::format("corrupt header: the unknown state {} of the GPU's recording", head.gpu));
    }
    if (head.sync > static_cast<std::uint32_t>(collector::sync_state::failed)) {
      fail(fmt::format("corrupt header: the unknown state {} of synchronised ranges", head.sync));
    }
    if (head.chunk_count > (m_file_bytes - header_bytes) / chunk_bytes) {
      fail(fmt::format("truncated: {} bytes hold fewer than the {} chunks that its header promises",
                       m_file_bytes, head.chunk_count));
    }
  }

  void read_chunk(std::uint64_t index) {
    core::stop_if_interrupted();
    m_in.seekg(static_cast<std::streamoff>(header_bytes + index * chunk_bytes));
    m_chunk.resize(chunk_bytes);
    if (!m_in.read(m_chunk.data(), chunk_bytes)) fail(fmt::format("chunk {} cannot be read", index));
    chunk_header head;
    std::memcpy(&head, m_chunk.data(), sizeof head);
    switch (static_cast<chunk_kind>(head.kind)) {
      case chunk_kind::records:
        return read_ranges();
      case chunk_kind::strings:
        return read_strings(head.used_bytes, index);
      case chunk_kind::short_kernels:
        return read_records(m_file.kernels, "kernels", head.used_bytes, index, collector::short_kernel_bytes);
      case chunk_kind::kernels:
        return read_records(m_file.kernels, "kernels", head.used_bytes, index);
      case chunk_kind::copies:
        return read_records(m_file.copies, "copies", head.used_bytes, index);
      case chunk_kind::calls:
        return read_records(m_file.calls, "calls", head.used_bytes, index);
      case chunk_kind::graph_nodes:
        return read_records(m_file.graph_nodes, "graph nodes", head.used_bytes, index);
      case chunk_kind::code_hashes:
        return read_records(m_file.code_hashes, "code hashes", head.used_bytes, index);
      case chunk_kind::unused:
        break;
    }
    fail(fmt::format("corrupt: chunk {} is of the unknown kind {}", index, head.kind));
  }

  /// Several threads fill a chunk of ranges, so it has gaps.
  void read_ranges() {
    for (std::uint32_t i = 0; i < collector::records_per_chunk; ++i) {
      collector::range_record record;
      std::memcpy(&record, m_chunk.data() + sizeof(chunk_header) + i * sizeof record, sizeof record);
      if (record.start_ns != 0) m_file.ranges.push_back(record);
    }
  }

  /// Of a record that older collectors wrote shorter, the rest is zero.
  template <typename record>
  void read_records(std::vector<record>& all, std::string_view what, std::uint32_t used_bytes,
                    std::uint64_t index, std::size_t record_bytes = sizeof(record)) {
    if (used_bytes < sizeof(chunk_header) || used_bytes > chunk_bytes ||
        (used_bytes - sizeof(chunk_header)) % record_bytes != 0) {
      fail(fmt::format("corrupt: {} bytes of {} in chunk {} are no whole number of records", used_bytes, what,
                       index));
    }
    for (std::size_t at = sizeof(chunk_header); at < used_bytes; at += record_bytes)
      std::memcpy(&all.emplace_back(), m_chunk.data() + at, record_bytes);
  }

  void read_strings(std::uint32_t used_bytes, std::uint64_t index) {
    if (used_bytes > chunk_bytes) fail(fmt::format("corrupt: the strings of chunk {} pass its end", index));
    std::size_t at = sizeof(chunk_header);
    while (at + sizeof(collector::string_entry) <= used_bytes) {
      collector::string_entry entry;
      std::memcpy(&entry, m_chunk.data() + at, sizeof entry);
      const std::size_t next = at + collector::padded_string_bytes(entry.length);
      if (next > used_bytes) fail(fmt::format("corrupt: a string of chunk {} passes its end", index));
      if (entry.id == 0) fail(fmt::format("corrupt: a string of chunk {} has no id", index));
      m_file.strings[entry.id] = m_file.texts.keep(
          core::to_valid_utf8(std::string_view(m_chunk).substr(at + sizeof entry, entry.length)));
      at = next;
    }
  }

  std::ifstream m_in;
  std::uintmax_t m_file_bytes = 0;
  std::string m_chunk;
  embedded_file m_file;
};

}  // namespace

void embedded_file::fail(const std::string& what) const {
  throw core::bad_input(file_name, 0, what,
                        "the recording is damaged or not one of profgate's embedded collector; run the "
                        "timeline step again");
}

std::string_view embedded_file::string_of(std::uint32_t id, std::string_view whose) const {
  const auto found = strings.find(id);
  if (found == strings.end()) fail(fmt::format("corrupt: {}, string {}, is not in it", whose, id));
  return found->second;
}

embedded_file read_embedded_file(const std::filesystem::path& file) {
  return embedded_reader(file).read();
}

bool is_embedded_timeline(const std::filesystem::path& file) {
  std::array<char, sizeof collector::file_magic> magic{};
  std::ifstream in(file, std::ios::binary);
  in.read(magic.data(), magic.size());
  return std::equal(magic.begin(), magic.end(), collector::file_magic);
}

}  // namespace profgate::parsers
