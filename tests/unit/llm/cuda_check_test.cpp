#include <gmock/gmock.h>

#include "cuda/attention.h"
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

/// As an H200 is.
queue hopper() {
  queue to;
  to.multiprocessors = 132;
  to.overlap = to.clusters = to.warpgroups = true;
  return to;
}

TEST(context_split, is_a_cluster_where_each_head_has_keys_of_its_own_and_the_context_is_not_long) {
  const auto is_clustered = [](const queue& to, int batch, int heads, int kv_heads, std::int64_t capacity) {
    const context_split split = split_context(to, batch, heads, kv_heads, capacity);
    EXPECT_TRUE(!split.clustered || split.blocks == 8);
    return split.clustered;
  };
  EXPECT_TRUE(is_clustered(hopper(), 1, 10, 10, 964));
  EXPECT_TRUE(is_clustered(hopper(), 1, 10, 10, 100));
  EXPECT_TRUE(is_clustered(hopper(), 1, 16, 16, 2304));
  EXPECT_FALSE(is_clustered(hopper(), 1, 16, 16, 2305));
  EXPECT_FALSE(is_clustered(hopper(), 2, 10, 10, 964)) << "more blocks than run at once";
  EXPECT_FALSE(is_clustered(hopper(), 1, 4, 4, 964)) << "most multiprocessors would have nothing to do";
  EXPECT_FALSE(is_clustered(hopper(), 1, 16, 8, 964));
  queue ampere = hopper();
  ampere.clusters = false;
  EXPECT_FALSE(is_clustered(ampere, 1, 10, 10, 964));
}

TEST(context_split, gives_every_multiprocessor_a_large_block_or_three_small_ones) {
  EXPECT_EQ(split_context(hopper(), 1, 16, 8, 2112).blocks, 16);
  EXPECT_EQ(split_context(hopper(), 1, 32, 8, 2112).blocks, 16);
  EXPECT_EQ(split_context(hopper(), 16, 32, 8, 2112).blocks, 3);
  EXPECT_EQ(split_context(hopper(), 1, 32, 8, 300).blocks, 4) << "64 positions a block at least";
  EXPECT_EQ(split_context(hopper(), 1, 32, 8, 10).blocks, 1);
}

}  // namespace
}  // namespace profgate::llm::cuda
