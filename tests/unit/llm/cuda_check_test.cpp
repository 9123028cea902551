#include <gmock/gmock.h>

#include "cuda/check.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

TEST(cuda_check, a_gpu_that_nothing_was_compiled_for_is_told_from_a_broken_one) {
  const auto code_of = [](cudaError_t status) {
    try {
      check(status, "cudaLaunchKernel");
      return exit_code::good;
    } catch (const failure& failed) {
      return failed.code();
    }
  };
  EXPECT_EQ(code_of(cudaErrorNoKernelImageForDevice), exit_code::bad_input);
  EXPECT_EQ(code_of(cudaErrorIllegalAddress), exit_code::judged_bad);
  EXPECT_EQ(code_of(cudaSuccess), exit_code::good);
}

}  // namespace
}  // namespace profgate::llm::cuda
