#include <gmock/gmock.h>

#include "nsys_agreement.h"

/// The same recordings, summed by `nsys stats` and by us. tests/gpu does it with what was just recorded.
namespace profgate::test {
namespace {

class nsys_stats : public ::testing::TestWithParam<std::string> {
 protected:
  nsys_recording m_recording{std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1" / GetParam()};
};

TEST_P(nsys_stats, has_the_same_kernels) {
  expect_same_kernels(m_recording);
}

TEST_P(nsys_stats, has_the_same_host_time_by_range) {
  expect_same_host_time_by_range(m_recording);
}

TEST_P(nsys_stats, projects_ranges_onto_the_gpu_alike) {
  expect_same_projections(m_recording);
}

TEST_P(nsys_stats, finds_the_same_kernels_in_each_range) {
  expect_same_kernels_in_each_range(m_recording);
}

INSTANTIATE_TEST_SUITE_P(recordings, nsys_stats,
                         ::testing::Values("qwen3-3layers/eager", "qwen3-3layers/graph",
                                           "qwen3-0.6b.decode-b1/run", "llama-3.1-8b.decode-b1/nsys/run",
                                           "deepseek-ocr-decoder.decode-b1/nsys/run"));

}  // namespace
}  // namespace profgate::test
