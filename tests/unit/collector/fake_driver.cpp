// A libcuda.so.1 without a GPU: what the collector calls to wait for the device. Each wait is a line of
// standard output, "sync" when it begins and "synced" at its end, so that a test sees when it happens.
//
//   FAKE_CUDA_CONTEXT=all|main      threads that have a context; none: no thread has
//   FAKE_CUDA_SYNC_US=<time>        what a wait takes
//   FAKE_CUDA_SYNC_RESULT=<code>    what it returns
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

void say(const char* line) {
  if (write(STDOUT_FILENO, line, std::strlen(line)) < 0) std::abort();
}

}  // namespace

FAKE_EXPORT int cuCtxGetCurrent(void** context) {
  static int a_context = 0;
  const char* const whose = std::getenv("FAKE_CUDA_CONTEXT");
  const bool is_mine = whose != nullptr && (std::strcmp(whose, "all") == 0 ||
                                            (std::strcmp(whose, "main") == 0 && gettid() == getpid()));
  *context = is_mine ? &a_context : nullptr;
  return 0;
}

FAKE_EXPORT int cuCtxSynchronize() {
  say("sync\n");
  usleep(static_cast<useconds_t>(number_of("FAKE_CUDA_SYNC_US")));
  say("synced\n");
  return number_of("FAKE_CUDA_SYNC_RESULT");
}
