#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// The memory that CUPTI fills, and the thread that empties it. Bounded: where all buffers are full, CUPTI
/// gets none and counts what it drops; the traced program never waits.
class activity_buffers {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{8} << 20;  ///< some 40,000 kernels
  static constexpr std::size_t max_count = 16;

  /// Called on the writing thread with each buffer that CUPTI has filled.
  using consumer = void (*)(std::uint8_t* filled, std::size_t valid_bytes);

  /// Makes the thread and the first buffers. False if the system refuses.
  bool start(consumer consume);

  /// A zeroed buffer of buffer_bytes, or nothing.
  std::uint8_t* take();
  void put_back_filled(std::uint8_t* filled, std::size_t valid_bytes);

  /// Waits until all that was put back has been consumed. False: not within the time.
  bool drain(std::int64_t timeout_s);

 private:
  struct filled_buffer {
    std::uint8_t* memory;
    std::size_t valid_bytes;
  };

  static void* write_all(void* self);
  [[noreturn]] void consume_forever();
  std::uint8_t* allocate(int more_flags);

  consumer m_consume = nullptr;
  pthread_mutex_t m_lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t m_filled_one = PTHREAD_COND_INITIALIZER;
  pthread_cond_t m_emptied_all = PTHREAD_COND_INITIALIZER;
  std::uint8_t* m_free[max_count] = {};
  std::size_t m_free_count = 0;
  std::size_t m_allocated_count = 0;
  filled_buffer m_filled[max_count] = {};  ///< a ring, oldest first
  std::size_t m_first_filled = 0;
  std::size_t m_filled_count = 0;
  bool m_is_consuming = false;
};

}  // namespace profgate::collector
