#include "recording_file.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "lock_guard.h"

namespace profgate::collector {
namespace {

constexpr std::size_t max_string_bytes = std::size_t{16} << 10;

/// Libraries bring thousands of kernels that never run: they must not take the room of those that do.
constexpr std::size_t code_share = 8;  // an eighth of the file

template <typename integer>
void publish(integer& place, integer value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

bool has_room(const chunk_header* open, std::uint32_t bytes) {
  return open != nullptr && open->used_bytes + bytes <= chunk_bytes;
}

void write_into(chunk_header& open, const void* record, std::uint32_t bytes) {
  std::memcpy(reinterpret_cast<char*>(&open) + open.used_bytes, record, bytes);
  publish(open.used_bytes, open.used_bytes + bytes);
}

}  // namespace

constinit recording_file the_recording;

file_header* recording_file::header() const {
  return reinterpret_cast<file_header*>(m_file.base());
}

bool recording_file::open_from_environment() {
  const lock_guard lock(m_lock);
  return is_open() || create_file();
}

bool recording_file::create_file() {
  if (!m_file.create_from_environment(header_bytes + std::size_t{chunk_bytes})) return false;
  m_next_chunk = 0;
  file_header& head = *header();
  head.version = format_version;
  head.header_size = header_bytes;
  head.chunk_size = chunk_bytes;
  head.record_size = sizeof(range_record);
  head.process_id = static_cast<std::uint64_t>(getpid());
  head.gated = m_is_gated;
  head.range_cost_ps = m_range_cost_ps;
  if (m_is_sync_asked) head.sync = static_cast<std::uint32_t>(sync_state::no_cuda);
  const bool is_asked =
      std::getenv("CUDA_INJECTION64_PATH") != nullptr && std::getenv("PROFGATE_COLLECTOR_SYNC") == nullptr;
  head.gpu = static_cast<std::uint32_t>(is_asked ? gpu_state::no_cuda : gpu_state::not_asked);
  std::memcpy(head.magic, file_magic, sizeof file_magic);
  return true;
}

/// The child of a fork() starts with its parent's mapping: it copies the strings over, under the same ids,
/// and lets go of it.
bool recording_file::ensure_own_file() {
  if (!m_is_forked) return is_open();
  m_is_forked = false;
  char* const parents_base = m_file.base();
  const std::size_t parents_bytes = m_file.max_bytes();
  m_file.close_file();
  for (chunk_header*& open : m_open_chunks) open = nullptr;
  const bool created = create_file();
  for (string_table::known_string& known : m_strings) {
    if (known.id == 0) continue;
    known.text = created ? write_string(known.id, known.text, known.length) : nullptr;
    if (known.text == nullptr) known.id = 0;
  }
  file_mapping::unmap(parents_base, parents_bytes);
  return created;
}

char* recording_file::claim_chunk(chunk_kind kind) {
  const std::size_t begin = header_bytes + m_next_chunk * chunk_bytes;
  if (!m_file.promise(begin + chunk_bytes)) return nullptr;
  char* const chunk = m_file.base() + begin;
  ++m_next_chunk;
  auto* head = reinterpret_cast<chunk_header*>(chunk);
  head->used_bytes = sizeof(chunk_header);
  publish(head->kind, static_cast<std::uint32_t>(kind));
  publish(header()->chunk_count, static_cast<std::uint64_t>(m_next_chunk));
  return chunk;
}

record_span recording_file::claim_records() {
  const lock_guard lock(m_lock);
  if (!ensure_own_file()) return {};
  if (m_spares != nullptr) {
    spare_span* const spare = m_spares;
    m_spares = spare->next;
    const record_span span = spare->span;
    std::free(spare);
    return span;
  }
  char* const chunk = claim_chunk(chunk_kind::records);
  if (chunk == nullptr) return {};
  auto* first = reinterpret_cast<range_record*>(chunk + sizeof(chunk_header));
  return {first, first + records_per_chunk};
}

void recording_file::give_back(record_span rest) {
  if (rest.next == rest.end) return;
  const lock_guard lock(m_lock);
  auto* spare = static_cast<spare_span*>(std::malloc(sizeof(spare_span)));
  if (spare == nullptr) return;
  *spare = {rest, m_spares};
  m_spares = spare;
}

const char* recording_file::write_string(std::uint32_t id, const char* text, std::size_t length) {
  const std::size_t bytes = padded_string_bytes(length);
  chunk_header*& open = m_open_chunks[static_cast<std::size_t>(chunk_kind::strings)];
  if (open == nullptr || open->used_bytes + bytes > chunk_bytes) {
    char* const chunk = claim_chunk(chunk_kind::strings);
    if (chunk == nullptr) return nullptr;
    open = reinterpret_cast<chunk_header*>(chunk);
  }
  char* const place = reinterpret_cast<char*>(open) + open->used_bytes;
  const string_entry entry{id, static_cast<std::uint32_t>(length)};
  std::memcpy(place, &entry, sizeof entry);
  std::memcpy(place + sizeof entry, text, length);
  publish(open->used_bytes, static_cast<std::uint32_t>(open->used_bytes + bytes));
  return place + sizeof entry;
}

std::uint32_t recording_file::intern(const char* text, std::size_t length) {
  if (length > max_string_bytes) length = max_string_bytes;
  const lock_guard lock(m_lock);
  if (!ensure_own_file()) return 0;
  string_table::known_string* const slot = m_strings.slot_of(text, length);
  if (slot == nullptr) return 0;
  if (slot->id == 0) {
    const char* const place = write_string(m_strings.next_id(), text, length);
    if (place == nullptr) return 0;
    m_strings.keep(*slot, place, length);
  }
  return slot->id;
}

void recording_file::describe_range_cost(std::uint64_t picoseconds) {
  const lock_guard lock(m_lock);
  m_range_cost_ps = picoseconds;
  if (is_open() && !m_is_forked) header()->range_cost_ps = picoseconds;
}

void recording_file::count_dropped() {
  const lock_guard lock(m_lock);
  if (ensure_own_file()) ++header()->dropped_records;
}

void recording_file::mark_gated() {
  const lock_guard lock(m_lock);
  m_is_gated = 1;
  header()->gated = 1;
}

/// Under the lock. False: no room.
bool recording_file::open_chunk(chunk_kind kind) {
  char* const chunk = is_open() && !m_is_forked ? claim_chunk(kind) : nullptr;
  if (chunk != nullptr)
    m_open_chunks[static_cast<std::size_t>(kind)] = reinterpret_cast<chunk_header*>(chunk);
  return chunk != nullptr;
}

/// The lock is for a new chunk only: a chunk that is open belongs to the thread that fills it.
bool recording_file::append_bytes(chunk_kind kind, const void* record, std::uint32_t bytes) {
  chunk_header*& open = m_open_chunks[static_cast<std::size_t>(kind)];
  if (!has_room(open, bytes)) {
    const lock_guard lock(m_lock);
    if (!open_chunk(kind)) return false;
  }
  write_into(*open, record, bytes);
  return true;
}

bool recording_file::append_locked(chunk_kind kind, const void* record, std::uint32_t bytes) {
  const lock_guard lock(m_lock);
  chunk_header*& open = m_open_chunks[static_cast<std::size_t>(kind)];
  if (m_is_forked || (!has_room(open, bytes) && !open_chunk(kind))) return false;
  write_into(*open, record, bytes);
  return true;
}

bool recording_file::append_code_hash(const char* name, std::size_t name_length, std::uint64_t hash) {
  const std::size_t bytes = padded_string_bytes(name_length) + sizeof(code_hash_record);
  const std::size_t bytes_before = __atomic_fetch_add(&m_code_bytes, bytes, __ATOMIC_RELAXED);
  if (bytes_before + bytes > m_file.max_bytes() / code_share) return false;
  const code_hash_record record{hash, intern(name, name_length), 0};
  return record.name_id != 0 && append_locked(chunk_kind::code_hashes, &record, sizeof record);
}

void recording_file::count_dropped_code_hashes(std::uint64_t count) {
  const lock_guard lock(m_lock);
  if (is_open() && !m_is_forked) header()->dropped_code_hashes += count;
}

void recording_file::count_dropped_activities(std::uint64_t count) {
  const lock_guard lock(m_lock);
  if (is_open() && !m_is_forked) header()->dropped_activities += count;
}

void recording_file::describe_gpu(gpu_state state, std::uint32_t cupti_version, const char* note) {
  const lock_guard lock(m_lock);
  if (!ensure_own_file()) return;
  file_header& head = *header();
  head.cupti_version = cupti_version;
  std::strncpy(head.gpu_note, note, sizeof head.gpu_note - 1);
  // A list that is cut off would name another GPU.
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && std::strlen(visible) < sizeof head.visible_gpus)
    std::strcpy(head.visible_gpus, visible);
  publish(head.gpu, static_cast<std::uint32_t>(state));
}

void recording_file::mark_flushed(std::uint64_t flushed_ns) {
  const lock_guard lock(m_lock);
  if (is_open() && !m_is_forked) publish(header()->gpu_flushed_ns, flushed_ns);
}

void recording_file::describe_sync(sync_state state, const char* note) {
  const lock_guard lock(m_lock);
  m_is_sync_asked = true;
  if (!ensure_own_file()) return;
  file_header& head = *header();
  std::strncpy(head.sync_note, note, sizeof head.sync_note - 1);
  publish(head.sync, static_cast<std::uint32_t>(state));
}

void recording_file::count_sync(sync_outcome outcome) {
  const lock_guard lock(m_lock);
  if (ensure_own_file()) ++header()->sync_ends[static_cast<std::size_t>(outcome)];
}

std::uint64_t recording_file::id_of(const range_record* record) const {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const char*>(record) - m_file.base());
  return static_cast<std::uint64_t>(m_generation) << 48 | offset;
}

range_record* recording_file::record_of(std::uint64_t id) const {
  const std::uint64_t offset = id & ((std::uint64_t{1} << 48) - 1);
  const bool is_ours = id >> 48 == m_generation && !m_is_forked && offset >= header_bytes &&
                       offset + sizeof(range_record) <= m_file.promised_bytes() &&
                       offset % sizeof(range_record) == 0;
  return is_ours ? reinterpret_cast<range_record*>(m_file.base() + offset) : nullptr;
}

void recording_file::before_fork() {
  pthread_mutex_lock(&m_lock);
}

void recording_file::after_fork_in_parent() {
  pthread_mutex_unlock(&m_lock);
}

void recording_file::after_fork_in_child() {
  m_is_forked = is_open();
  ++m_generation;
  m_spares = nullptr;  // they lie in the parent's file; a few bytes leak
  pthread_mutex_unlock(&m_lock);
}

}  // namespace profgate::collector
