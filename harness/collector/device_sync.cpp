#include "device_sync.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "recording_file.h"
#include "stream_captures.h"

namespace profgate::collector {

constinit device_sync the_device_sync;

namespace {

// Of CUDA's driver, whose headers need not be there.
constexpr int cuda_success = 0;
constexpr int cuda_capture_unsupported = 900;  ///< CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED

/// A call that has got past the driver's check of captures is harmed by none that begins later: what is left
/// of this time only spares the capture a device that is busy with something else.
constexpr std::uint64_t longest_delay_of_capture_ns = 1'000'000'000;

}  // namespace

void device_sync::read_environment() {
  m_ranges.read_environment("PROFGATE_COLLECTOR_SYNC");
  if (is_asked()) the_recording.describe_sync(sync_state::no_cuda, "");
}

/// The program's own: inside of cuInit() it is loaded.
bool device_sync::find_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  m_get_current_context = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  m_synchronise_context = reinterpret_cast<int (*)()>(dlsym(driver, "cuCtxSynchronize"));
  return m_get_current_context != nullptr && m_synchronise_context != nullptr;
}

void device_sync::start() {
  static constinit pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] { the_device_sync.watch_captures(); });
}

void device_sync::watch_captures() {
  char problem[sizeof file_header::sync_note] = {};
  if (!find_driver()) {
    the_recording.describe_sync(sync_state::failed, "the program has loaded no libcuda.so.1");
  } else if (!watch_stream_captures(problem, sizeof problem)) {
    the_recording.describe_sync(sync_state::failed, problem);
  } else {
    the_recording.describe_sync(sync_state::watching, "");
    __atomic_store_n(&m_process, getpid(), __ATOMIC_RELEASE);
  }
}

void device_sync::wait() {
  const pid_t process = __atomic_load_n(&m_process, __ATOMIC_ACQUIRE);
  if (process == 0 || process != getpid()) return;
  // Both sides say what they are about to do before they look at the other: one of them sees the other.
  __atomic_fetch_add(&m_waiting, 1, __ATOMIC_SEQ_CST);
  sync_outcome outcome = sync_outcome::capturing;
  if (__atomic_load_n(&m_captures, __ATOMIC_SEQ_CST) == 0) {
    void* context = nullptr;
    outcome = sync_outcome::no_context;
    if (m_get_current_context(&context) == cuda_success && context != nullptr) {
      const int result = m_synchronise_context();
      outcome = result == cuda_success ? sync_outcome::waited : sync_outcome::error;
      if (result == cuda_capture_unsupported) {
        // A capture began by a call that this CUPTI does not know: the next one must not be spoiled, too.
        __atomic_store_n(&m_process, 0, __ATOMIC_RELEASE);
        the_recording.describe_sync(sync_state::failed, "a stream captures, and CUPTI did not tell");
      }
    }
  }
  __atomic_fetch_sub(&m_waiting, 1, __ATOMIC_SEQ_CST);
  the_recording.count_sync(outcome);
}

void device_sync::before_capture() {
  __atomic_fetch_add(&m_captures, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&m_waiting, __ATOMIC_SEQ_CST) == 0) return;
  const std::uint64_t begin_ns = now_ns();
  while (__atomic_load_n(&m_waiting, __ATOMIC_SEQ_CST) > 0 &&
         now_ns() - begin_ns < longest_delay_of_capture_ns) {
    const timespec pause{0, 20'000};
    nanosleep(&pause, nullptr);
  }
}

void device_sync::after_capture() {
  // An end without a beginning is the program's mistake, and must not hide the next capture.
  std::int32_t open = __atomic_load_n(&m_captures, __ATOMIC_RELAXED);
  while (open > 0 && !__atomic_compare_exchange_n(&m_captures, &open, open - 1, false, __ATOMIC_SEQ_CST,
                                                  __ATOMIC_RELAXED)) {
  }
}

}  // namespace profgate::collector
