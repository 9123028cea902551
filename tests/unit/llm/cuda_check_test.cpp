#include <gmock/gmock.h>

#include "cuda/check.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

TEST(cuda_check, a_gpu_that_nothing_was_compiled_for_is_told_from_a_broken_one) {
  try {
    check(cudaErrorNoKernelImageForDevice, "cudaLaunchKernel");
    FAIL();
  } catch (const bad_input& refused) {
    EXPECT_THAT(refused.what(), ::testing::HasSubstr("compiled for other GPUs"));
  }
  EXPECT_THROW(check(cudaErrorIllegalAddress, "cudaLaunchKernel"), judged_bad);
  EXPECT_NO_THROW(check(cudaSuccess, "cudaLaunchKernel"));
}

}  // namespace
}  // namespace profgate::llm::cuda
