#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <vector>

namespace profgate::llm {

/// A fixed team of threads for loops of microseconds to milliseconds. Workers spin briefly between loops,
/// since a decode step has hundreds of them and waking a sleeping thread costs more than most, then sleep.
class thread_pool {
 public:
  /// threads counts the caller too, which works in every loop; at least 1.
  explicit thread_pool(unsigned threads);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool();

  unsigned size() const { return static_cast<unsigned>(m_workers.size()) + 1; }

  /// Calls body(begin, end) for chunks that cover [0, count), each at most `chunk` long, and returns when all
  /// are done. Threads take chunks as they get free. body must not throw.
  template <typename Body>
  void for_chunks(std::size_t count, std::size_t chunk, Body&& body) {
    using body_type = std::remove_reference_t<Body>;
    run({count, chunk, &body, [](void* context, std::size_t begin, std::size_t end) {
           (*static_cast<body_type*>(context))(begin, end);
         }});
  }

 private:
  struct loop {
    std::size_t count = 0;
    std::size_t chunk = 1;
    void* context = nullptr;
    void (*body)(void* context, std::size_t begin, std::size_t end) = nullptr;
  };

  void run(const loop& work);
  void take_chunks();
  void work_until_stopped();

  loop m_loop;
  std::atomic<std::size_t> m_next{0};  ///< first index that no thread has taken
  std::atomic<int> m_generation{0};    ///< counts loops; workers wait for it to change
  std::atomic<int> m_busy_workers{0};  ///< workers that have not finished the current loop
  std::atomic<bool> m_stopping{false};
  std::vector<std::thread> m_workers;
};

}  // namespace profgate::llm
