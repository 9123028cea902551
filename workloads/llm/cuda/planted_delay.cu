#include "planted_delay.h"

namespace profgate::llm::cuda {
namespace planted {  // named: a kernel keeps its name from build to build

__device__ inline unsigned long long globaltimer_ns() {
  unsigned long long now_ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now_ns));
  return now_ns;
}

/// The timer may stand still for up to a microsecond: counted from its next tick, the delay is never short.
/// Without griddepcontrol.launch_dependents the next kernel cannot start before this one ends.
__global__ void planted_delay_kernel(unsigned long long delay_ns) {
  const unsigned long long called_ns = globaltimer_ns();
  unsigned long long began_ns = called_ns;
  while (began_ns == called_ns) began_ns = globaltimer_ns();
  while (globaltimer_ns() - began_ns < delay_ns) {
  }
}

}  // namespace planted

void plant_delay(const queue& to, std::int64_t delay_ns) {
  queue one_by_one = to;
  one_by_one.overlap = false;
  launch(one_by_one, planted::planted_delay_kernel, dim3(1), dim3(1), 0, delay_ns);
}

}  // namespace profgate::llm::cuda
