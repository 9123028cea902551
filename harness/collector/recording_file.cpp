#include "recording_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace profgate::collector {
namespace {

constexpr std::size_t default_max_bytes = std::size_t{256} << 20;
constexpr std::size_t growth_bytes = std::size_t{1} << 20;
constexpr std::size_t max_string_bytes = std::size_t{16} << 10;

class lock_guard {
 public:
  explicit lock_guard(pthread_mutex_t& mutex) : m_mutex(mutex) { pthread_mutex_lock(&m_mutex); }
  ~lock_guard() { pthread_mutex_unlock(&m_mutex); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  pthread_mutex_t& m_mutex;
};

std::size_t max_bytes_from_environment() {
  std::size_t bytes = default_max_bytes;
  if (const char* text = std::getenv("PROFGATE_COLLECTOR_MAX_BYTES")) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (end != text && *end == '\0' && value > 0) {
      bytes = static_cast<std::size_t>(value);
    } else {
      std::fprintf(stderr,
                   "profgate collector: PROFGATE_COLLECTOR_MAX_BYTES=%s is no number of bytes; %zu it is\n",
                   text, bytes);
    }
  }
  // Growing a file past RLIMIT_FSIZE sends SIGXFSZ, which would end the traced program.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    bytes = limit.rlim_cur;
  }
  const std::size_t smallest = header_bytes + 2 * std::size_t{chunk_bytes};  // one of records, one of strings
  return bytes < smallest ? smallest : bytes;
}

/// Writes `pattern` with each %p replaced by the process id. False if it does not fit.
bool expand_path(const char* pattern, char* path, std::size_t capacity) {
  std::size_t used = 0;
  for (const char* c = pattern; *c != '\0'; ++c) {
    int written = 1;
    if (c[0] == '%' && c[1] == 'p') {
      written = std::snprintf(path + used, capacity - used, "%ld", static_cast<long>(getpid()));
      ++c;
    } else {
      path[used] = *c;
    }
    used += static_cast<std::size_t>(written);
    if (used + 1 >= capacity) return false;
  }
  path[used] = '\0';
  return true;
}

/// Never opens a file that is there: another process of the same traced tree may be writing it. The second
/// one is "<path>.2", and so on.
int create_exclusively(char* path, std::size_t capacity) {
  const std::size_t length = std::strlen(path);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    if (attempt > 1) std::snprintf(path + length, capacity - length, ".%d", attempt);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

std::uint32_t hash_of(const char* text, std::size_t length) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (std::size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 16777619U;
  }
  return hash;
}

template <typename integer>
void publish(integer& place, integer value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

}  // namespace

constinit recording_file the_recording;

file_header* recording_file::header() const {
  return reinterpret_cast<file_header*>(m_base);
}

bool recording_file::open_from_environment() {
  const lock_guard lock(m_lock);
  return m_base != nullptr || create_file();
}

bool recording_file::create_file() {
  const char* pattern = std::getenv("PROFGATE_COLLECTOR_OUTPUT");
  if (pattern == nullptr || *pattern == '\0') {
    std::fprintf(stderr,
                 "profgate collector: PROFGATE_COLLECTOR_OUTPUT names no file; nothing is recorded\n");
    return false;
  }
  char path[PATH_MAX];
  if (!expand_path(pattern, path, sizeof path - 16)) {
    std::fprintf(stderr, "profgate collector: PROFGATE_COLLECTOR_OUTPUT is too long; nothing is recorded\n");
    return false;
  }
  const int file = create_exclusively(path, sizeof path);
  const std::size_t max_bytes = max_bytes_from_environment();
  const std::size_t first_bytes = header_bytes + std::size_t{chunk_bytes};
  // The mapping covers the largest size at once, so that no record ever moves; only what posix_fallocate has
  // promised is touched.
  void* base = MAP_FAILED;
  int problem = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(first_bytes));
  if (problem == 0) {
    base = mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) problem = errno;
  }
  if (problem != 0) {
    std::fprintf(stderr, "profgate collector: %s: %s; nothing is recorded\n", path, std::strerror(problem));
    if (file >= 0) {
      close(file);
      unlink(path);
    }
    return false;
  }
  m_file = file;
  m_base = static_cast<char*>(base);
  m_max_bytes = max_bytes;
  m_file_bytes = first_bytes;
  m_next_chunk = 0;
  m_full = false;
  m_string_chunk = nullptr;
  file_header& head = *header();
  head.version = format_version;
  head.header_size = header_bytes;
  head.chunk_size = chunk_bytes;
  head.record_size = sizeof(range_record);
  head.process_id = static_cast<std::uint64_t>(getpid());
  head.gated = m_is_gated;
  std::memcpy(head.magic, file_magic, sizeof file_magic);
  return true;
}

/// The child of a fork() starts with its parent's mapping: it copies the strings over, under the same ids,
/// and lets go of it.
bool recording_file::ensure_own_file() {
  if (!m_is_forked) return m_base != nullptr;
  m_is_forked = false;
  char* const parents_base = m_base;
  const std::size_t parents_bytes = m_max_bytes;
  close(m_file);
  m_base = nullptr;
  const bool created = create_file();
  for (std::size_t i = 0; i < m_string_slots; ++i) {
    known_string& known = m_strings[i];
    if (known.id == 0) continue;
    known.text = created ? write_string(known.id, known.text, known.length) : nullptr;
    if (known.text == nullptr) known.id = 0;
  }
  munmap(parents_base, parents_bytes);
  return created;
}

char* recording_file::claim_chunk(chunk_kind kind) {
  if (m_full) return nullptr;
  const std::size_t begin = header_bytes + m_next_chunk * chunk_bytes;
  const std::size_t end = begin + chunk_bytes;
  if (end > m_max_bytes) {
    m_full = true;
    return nullptr;
  }
  if (end > m_file_bytes) {
    std::size_t wanted = m_file_bytes + growth_bytes;
    if (wanted > m_max_bytes) wanted = m_max_bytes;
    if (wanted < end) wanted = end;
    // A disk that is full now gives a count of what was dropped instead of a SIGBUS later.
    if (posix_fallocate(m_file, 0, static_cast<off_t>(wanted)) != 0) {
      m_full = true;
      return nullptr;
    }
    publish(m_file_bytes, wanted);
  }
  char* const chunk = m_base + begin;
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
  if (m_string_chunk == nullptr || m_string_chunk->used_bytes + bytes > chunk_bytes) {
    char* const chunk = claim_chunk(chunk_kind::strings);
    if (chunk == nullptr) return nullptr;
    m_string_chunk = reinterpret_cast<chunk_header*>(chunk);
  }
  char* const place = reinterpret_cast<char*>(m_string_chunk) + m_string_chunk->used_bytes;
  const string_entry entry{id, static_cast<std::uint32_t>(length)};
  std::memcpy(place, &entry, sizeof entry);
  std::memcpy(place + sizeof entry, text, length);
  publish(m_string_chunk->used_bytes, static_cast<std::uint32_t>(m_string_chunk->used_bytes + bytes));
  return place + sizeof entry;
}

bool recording_file::grow_string_table() {
  if ((m_string_count + 1) * std::size_t{2} <= m_string_slots) return true;
  const std::size_t slots = m_string_slots == 0 ? 256 : m_string_slots * 2;
  auto* table = static_cast<known_string*>(std::calloc(slots, sizeof(known_string)));
  if (table == nullptr) return false;
  for (std::size_t i = 0; i < m_string_slots; ++i) {
    if (m_strings[i].id == 0) continue;
    std::size_t slot = m_strings[i].hash & (slots - 1);
    while (table[slot].id != 0) slot = (slot + 1) & (slots - 1);
    table[slot] = m_strings[i];
  }
  std::free(m_strings);
  m_strings = table;
  m_string_slots = slots;
  return true;
}

std::uint32_t recording_file::intern(const char* text, std::size_t length) {
  if (length > max_string_bytes) length = max_string_bytes;
  const std::uint32_t hash = hash_of(text, length);
  const lock_guard lock(m_lock);
  if (!ensure_own_file() || !grow_string_table()) return 0;
  std::size_t slot = hash & (m_string_slots - 1);
  for (; m_strings[slot].id != 0; slot = (slot + 1) & (m_string_slots - 1)) {
    const known_string& known = m_strings[slot];
    if (known.hash == hash && known.length == length && std::memcmp(known.text, text, length) == 0) {
      return known.id;
    }
  }
  const std::uint32_t id = m_string_count + 1;
  const char* const place = write_string(id, text, length);
  if (place == nullptr) return 0;
  ++m_string_count;
  m_strings[slot] = {place, static_cast<std::uint32_t>(length), hash, id};
  return id;
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

std::uint64_t recording_file::id_of(const range_record* record) const {
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<const char*>(record) - m_base);
  return static_cast<std::uint64_t>(m_generation) << 48 | offset;
}

range_record* recording_file::record_of(std::uint64_t id) const {
  const std::uint64_t offset = id & ((std::uint64_t{1} << 48) - 1);
  const bool is_ours = id >> 48 == m_generation && !m_is_forked && offset >= header_bytes &&
                       offset + sizeof(range_record) <= __atomic_load_n(&m_file_bytes, __ATOMIC_ACQUIRE) &&
                       offset % sizeof(range_record) == 0;
  return is_ours ? reinterpret_cast<range_record*>(m_base + offset) : nullptr;
}

void recording_file::before_fork() {
  pthread_mutex_lock(&m_lock);
}

void recording_file::after_fork_in_parent() {
  pthread_mutex_unlock(&m_lock);
}

void recording_file::after_fork_in_child() {
  m_is_forked = m_base != nullptr;
  ++m_generation;
  m_spares = nullptr;  // they lie in the parent's file; a few bytes leak
  pthread_mutex_unlock(&m_lock);
}

}  // namespace profgate::collector
