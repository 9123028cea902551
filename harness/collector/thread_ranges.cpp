#include "thread_ranges.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "capture_range.h"
#include "clock.h"
#include "device_sync.h"
#include "gpu_trace.h"

namespace profgate::collector {
namespace {

constexpr std::uint32_t max_open_ranges = 65536;
constexpr std::uint32_t max_level = (std::uint32_t{1} << 31) - 1;

constinit thread_local thread_ranges* current_thread = nullptr;
pthread_once_t key_once = PTHREAD_ONCE_INIT;
pthread_key_t thread_key;

/// The store that makes a record exist comes last, so that a program which dies here leaves it whole or not
/// at all.
void publish_time(std::uint64_t& place, std::uint64_t time_ns) {
  __atomic_store_n(&place, time_ns, __ATOMIC_RELEASE);
}

/// After the range has its end: what the flush costs falls between two stages, where the device is idle.
void close_capture_range() {
  if (the_capture_range.close()) flush_gpu_trace();
}

}  // namespace

thread_ranges* thread_ranges::current() {
  if (current_thread != nullptr) [[likely]] {
    return current_thread;
  }
  pthread_once(&key_once, [] { pthread_key_create(&thread_key, &thread_ranges::release); });
  auto* made = static_cast<thread_ranges*>(std::calloc(1, sizeof(thread_ranges)));
  if (made == nullptr) return nullptr;
  made->m_thread_id = static_cast<std::uint32_t>(gettid());
  pthread_setspecific(thread_key, made);
  current_thread = made;
  return made;
}

/// A thread has ended. Its unused records serve the next one: a program that starts a thread a step would
/// otherwise fill the file with empty chunks.
void thread_ranges::release(void* self) {
  auto* thread = static_cast<thread_ranges*>(self);
  the_recording.give_back(thread->m_free);
  std::free(thread->m_open);
  std::free(thread);
  current_thread = nullptr;
}

void thread_ranges::forget_records_after_fork() {
  thread_ranges* const thread = current_thread;
  if (thread == nullptr) return;
  thread->m_free = {};
  thread->m_thread_id = static_cast<std::uint32_t>(gettid());
  for (std::uint32_t i = 0; i < thread->m_open_count; ++i) thread->m_open[i].record = nullptr;
}

std::uint64_t thread_ranges::try_range_cost_ps() {
  constexpr std::uint32_t tries = 64;
  constexpr std::uint32_t nobodys_name = UINT32_MAX;
  range_record records[2 * tries];
  std::memset(records, 0, sizeof records);
  thread_ranges scratch{};
  scratch.m_free = {records, records + 2 * tries};
  std::uint64_t began_ns = 0;
  for (std::uint32_t i = 0; i < 2 * tries; ++i) {
    if (i == tries) began_ns = now_ns();  // the first ones warm up
    scratch.push(0, nobodys_name);
    scratch.pop(0);
  }
  const std::uint64_t took_ns = now_ns() - began_ns;
  std::free(scratch.m_open);
  return took_ns * 1000 / tries;
}

bool thread_ranges::make_room_on_stack() {
  if (m_open_count < m_open_capacity) [[likely]] {
    return true;
  }
  const std::uint32_t capacity = m_open_capacity == 0 ? 64 : m_open_capacity * 2;
  if (capacity > max_open_ranges) return false;
  auto* larger = static_cast<open_range*>(std::realloc(m_open, capacity * sizeof(open_range)));
  if (larger == nullptr) return false;
  m_open = larger;
  m_open_capacity = capacity;
  return true;
}

/// A record without its start time, or nothing where the range is not to be, or cannot be, recorded.
range_record* thread_ranges::begin_record(std::uint32_t domain_id, std::uint32_t name_id, record_style style,
                                          bool* is_capture_range) {
  if (!the_capture_range.lets_through(domain_id, name_id, is_capture_range)) return nullptr;
  range_record* const record = take_record(domain_id, name_id, style, m_open_count);
  if (record != nullptr) record->is_capture_range = *is_capture_range ? 1 : 0;
  return record;
}

range_record* thread_ranges::take_record(std::uint32_t domain_id, std::uint32_t name_id, record_style style,
                                         std::uint32_t nesting) {
  if (m_free.next == m_free.end) [[unlikely]] {
    m_free = the_recording.claim_records();
  }
  if (m_free.next == m_free.end || name_id == 0) [[unlikely]] {
    the_recording.count_dropped();
    return nullptr;
  }
  range_record* const record = m_free.next++;
  record->name_id = name_id;
  record->domain_id = domain_id;
  record->thread_id = m_thread_id;
  record->style = static_cast<std::uint8_t>(style);
  record->nesting = static_cast<std::uint16_t>(nesting < UINT16_MAX ? nesting : UINT16_MAX);
  return record;
}

void thread_ranges::record_open_ranges() {
  for (std::uint32_t i = 0; i < m_open_count; ++i) {
    open_range& open = m_open[i];
    if (open.record != nullptr) continue;
    open.record = take_record(open.domain_id, open.name_id, record_style::push_pop, i);
    if (open.record == nullptr) return;
    publish_time(open.record->start_ns, now_ns());
  }
}

int thread_ranges::push(std::uint32_t domain_id, std::uint32_t name_id) {
  if (the_device_sync.wants(domain_id, name_id)) the_device_sync.wait();
  if (!make_room_on_stack()) [[unlikely]] {
    ++m_too_deep;
    the_recording.count_dropped();
    return static_cast<int>(max_open_ranges);
  }
  std::uint32_t level = 0;
  for (std::uint32_t i = m_open_count; i > 0; --i) {
    if (m_open[i - 1].domain_id != domain_id) continue;
    level = (m_open[i - 1].level_in_domain + 1) & max_level;
    break;
  }
  bool is_capture_range = false;
  range_record* const record = begin_record(domain_id, name_id, record_style::push_pop, &is_capture_range);
  open_range& opened = m_open[m_open_count++];
  opened.record = record;
  opened.domain_id = domain_id;
  opened.name_id = name_id;
  opened.level_in_domain = level & max_level;
  opened.is_capture_range = is_capture_range ? 1 : 0;
  if (record != nullptr) publish_time(record->start_ns, now_ns());
  return static_cast<int>(level);
}

int thread_ranges::pop(std::uint32_t domain_id) {
  std::uint64_t end_ns = now_ns();
  if (m_too_deep > 0) [[unlikely]] {
    --m_too_deep;
    return static_cast<int>(max_open_ranges);
  }
  std::uint32_t i = m_open_count;
  while (i > 0 && m_open[i - 1].domain_id != domain_id) --i;
  if (i == 0) return -2;  // NVTX_NO_PUSH_POP_TRACKING: the program pops what it never pushed
  const open_range closed = m_open[i - 1];
  if (the_device_sync.wants(closed.domain_id, closed.name_id)) {
    the_device_sync.wait();
    end_ns = now_ns();
  }
  // Domains have stacks of their own: ranges of other domains may lie above this one.
  std::memmove(m_open + i - 1, m_open + i, (m_open_count - i) * sizeof(open_range));
  --m_open_count;
  if (closed.record != nullptr) publish_time(closed.record->end_ns, end_ns);
  if (closed.is_capture_range != 0) close_capture_range();
  return static_cast<int>(closed.level_in_domain);
}

std::uint64_t thread_ranges::start(std::uint32_t domain_id, std::uint32_t name_id) {
  if (the_device_sync.wants(domain_id, name_id)) the_device_sync.wait();
  bool is_capture_range = false;
  range_record* const record = begin_record(domain_id, name_id, record_style::start_end, &is_capture_range);
  if (record == nullptr) {
    if (is_capture_range)
      the_capture_range.close();  // without a record there is no id by which the program could end it
    return 0;
  }
  publish_time(record->start_ns, now_ns());
  return the_recording.id_of(record);
}

void thread_ranges::end(std::uint64_t range_id) {
  std::uint64_t end_ns = now_ns();
  range_record* const record = the_recording.record_of(range_id);
  if (record == nullptr) return;
  if (the_device_sync.wants(record->domain_id, record->name_id)) {
    the_device_sync.wait();
    end_ns = now_ns();
  }
  std::uint64_t still_open = 0;
  const bool is_first_end = __atomic_compare_exchange_n(&record->end_ns, &still_open, end_ns, false,
                                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  if (is_first_end && record->is_capture_range != 0) close_capture_range();
}

}  // namespace profgate::collector
