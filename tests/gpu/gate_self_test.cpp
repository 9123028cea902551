#include "gpu_pair_fixture.h"

/// The gate on this machine's GPU: what it says of a build against itself, with and without a planted kernel.
namespace profgate::integration {
namespace {

using ::testing::HasSubstr;

class gate_on_gpu : public gpu_pair_fixture {};

TEST_F(gate_on_gpu, passes_an_unchanged_build_and_names_a_planted_kernel_first) {
  const command_result result =
      profgate({"gate", "--self-test", "--manifest", small_pair().string(), "--planted-ratio", "0.2"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("  1. +"));
  EXPECT_THAT(result.output, HasSubstr("planted_delay_kernel in planted is new"));
  EXPECT_THAT(result.last_line(), HasSubstr("fails and is named first"));
}

}  // namespace
}  // namespace profgate::integration
