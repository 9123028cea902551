#include "llm/thread_pool.h"

#include <algorithm>

namespace profgate::llm {
namespace {

// About 20 µs of spinning: longer than the gap between two operators of a decode step, short enough not to
// burn a core while the main thread samples or loads.
constexpr int spins_before_sleep = 4000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns once value differs from old.
void await_change(const std::atomic<int>& value, int old) {
  for (int spin = 0; spin < spins_before_sleep; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

thread_pool::thread_pool(unsigned threads) {
  for (unsigned worker = 1; worker < threads; ++worker)
    m_workers.emplace_back([this] { work_until_stopped(); });
}

thread_pool::~thread_pool() {
  m_stopping.store(true, std::memory_order_relaxed);
  m_generation.fetch_add(1, std::memory_order_release);
  m_generation.notify_all();
  for (auto& worker : m_workers) worker.join();
}

void thread_pool::run(const loop& work) {
  if (m_workers.empty() || work.count <= work.chunk) {
    if (work.count > 0) work.body(work.context, 0, work.count);
    return;
  }
  m_loop = work;
  m_next.store(0, std::memory_order_relaxed);
  m_busy_workers.store(static_cast<int>(m_workers.size()), std::memory_order_relaxed);
  m_generation.fetch_add(1, std::memory_order_release);
  m_generation.notify_all();
  take_chunks();
  for (int busy = m_busy_workers.load(std::memory_order_acquire); busy != 0;
       busy = m_busy_workers.load(std::memory_order_acquire))
    await_change(m_busy_workers, busy);
}

void thread_pool::take_chunks() {
  for (;;) {
    const std::size_t begin = m_next.fetch_add(m_loop.chunk, std::memory_order_relaxed);
    if (begin >= m_loop.count) return;
    m_loop.body(m_loop.context, begin, std::min(begin + m_loop.chunk, m_loop.count));
  }
}

void thread_pool::work_until_stopped() {
  int seen = 0;
  for (;;) {
    await_change(m_generation, seen);
    seen = m_generation.load(std::memory_order_acquire);
    if (m_stopping.load(std::memory_order_relaxed)) return;
    take_chunks();
    m_busy_workers.fetch_sub(1, std::memory_order_release);
    m_busy_workers.notify_one();
  }
}

}  // namespace profgate::llm
