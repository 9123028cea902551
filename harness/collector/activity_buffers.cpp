#include "activity_buffers.h"

#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "lock_guard.h"

namespace profgate::collector {
namespace {

constexpr std::size_t first_count = 3;

}  // namespace

bool activity_buffers::start(consumer consume) {
  m_consume = consume;
  for (std::size_t i = 0; i < first_count; ++i) {
    // Touched now, so that the program does not take the page faults inside of a stage.
    std::uint8_t* const buffer = allocate(MAP_POPULATE);
    if (buffer == nullptr) return false;
    m_free[m_free_count++] = buffer;
  }
  // The program's signals are the program's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, &activity_buffers::write_all, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  pthread_setname_np(thread, "profgate-writer");
  pthread_detach(thread);
  return true;
}

std::uint8_t* activity_buffers::allocate(int more_flags) {
  void* const memory =
      mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  ++m_allocated_count;
  return static_cast<std::uint8_t*>(memory);
}

std::uint8_t* activity_buffers::take() {
  const lock_guard lock(m_lock);
  if (m_free_count > 0) return m_free[--m_free_count];
  return m_allocated_count < max_count ? allocate(0) : nullptr;
}

void activity_buffers::put_back_filled(std::uint8_t* filled, std::size_t valid_bytes) {
  const lock_guard lock(m_lock);
  m_filled[(m_first_filled + m_filled_count) % max_count] = {filled, valid_bytes};
  ++m_filled_count;
  pthread_cond_signal(&m_filled_one);
}

bool activity_buffers::drain(std::int64_t timeout_s) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);  // the clock of pthread_cond_timedwait
  until.tv_sec += timeout_s;
  const lock_guard lock(m_lock);
  while (m_filled_count > 0 || m_is_consuming) {
    if (pthread_cond_timedwait(&m_emptied_all, &m_lock, &until) != 0) return false;
  }
  return true;
}

void* activity_buffers::write_all(void* self) {
  static_cast<activity_buffers*>(self)->consume_forever();
}

void activity_buffers::consume_forever() {
  pthread_mutex_lock(&m_lock);
  for (;;) {
    while (m_filled_count == 0) {
      m_is_consuming = false;
      pthread_cond_broadcast(&m_emptied_all);
      pthread_cond_wait(&m_filled_one, &m_lock);
    }
    m_is_consuming = true;
    const filled_buffer filled = m_filled[m_first_filled];
    m_first_filled = (m_first_filled + 1) % max_count;
    --m_filled_count;
    pthread_mutex_unlock(&m_lock);
    m_consume(filled.memory, filled.valid_bytes);
    // CUPTI was told that buffers come zeroed, or it would do it on the program's threads.
    std::memset(filled.memory, 0, buffer_bytes);
    pthread_mutex_lock(&m_lock);
    m_free[m_free_count++] = filled.memory;
  }
}

}  // namespace profgate::collector
