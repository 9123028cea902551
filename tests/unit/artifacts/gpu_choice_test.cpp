#include "artifacts/gpu_choice.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "core/error.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class gpu_choice : public ::testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }
  static void forget() {
    for (const char* variable : {"PROFGATE_GPU", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
      ::unsetenv(variable);
  }
  std::int64_t index_by(const std::string& name) const { return chosen_gpu(m_facts, {name, {}})->index; }
  std::int64_t index_visible(const std::string& devices) const {
    return chosen_gpu(m_facts, {{}, devices})->index;
  }
  std::string refusal_of(const gpu_wish& wish) const {
    return error_of([&] { chosen_gpu(m_facts, wish); });
  }

  gpu_facts m_facts = gather_gpu_facts(PROFGATE_FAKE_NVML);
};

TEST_F(gpu_choice, is_by_index_uuid_or_pci_address) {
  EXPECT_EQ(chosen_gpu(m_facts, {})->index, 0);
  EXPECT_EQ(index_by("1"), 1);
  EXPECT_EQ(index_by("GPU-1299"), 1);
  EXPECT_EQ(index_by("0000:d8:00.0"), 1);
  EXPECT_EQ(index_by("00000000:D8:00.0"), 1);
  EXPECT_EQ(index_visible("1,0"), 1);
  EXPECT_EQ(index_visible("GPU-129,GPU-1234"), 1);
}

TEST_F(gpu_choice, of_profgate_goes_before_that_of_cuda) {
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  ::setenv("PROFGATE_GPU", "1", 1);
  EXPECT_EQ(chosen_gpu(m_facts)->index, 1);
  ::setenv("PROFGATE_GPU", "", 1);
  EXPECT_EQ(chosen_gpu(m_facts)->index, 0);
}

TEST_F(gpu_choice, of_what_is_not_there_is_refused_with_what_is) {
  for (const char* wrong : {"2", "GPU-77", "0000:01:00.0", "first", "NVIDIA H200"}) {
    EXPECT_THAT(refusal_of({wrong, {}}),
                AllOf(StartsWith("2: PROFGATE_GPU: there is no GPU '" + std::string(wrong)),
                      HasSubstr("0 (NVIDIA H200, GPU-1234, 0000:3b:00.0)"),
                      HasSubstr("1 (NVIDIA Old, GPU-1299, 0000:d8:00.0)")));
  }
  EXPECT_THAT(refusal_of({{}, "7"}), StartsWith("2: CUDA_VISIBLE_DEVICES: there is no GPU '7'"));
  EXPECT_THAT(refusal_of({"GPU-12", {}}), HasSubstr("may be any of several"));
}

TEST_F(gpu_choice, of_a_part_of_a_gpu_is_refused) {
  EXPECT_THAT(refusal_of({{}, "MIG-11c29e81"}),
              AllOf(StartsWith("2: CUDA_VISIBLE_DEVICES: MIG-11c29e81 is a MIG instance"),
                    HasSubstr("not supported")));
}

TEST_F(gpu_choice, is_none_where_there_is_none_or_all_are_hidden) {
  for (const char* nothing : {"", "-1"})
    EXPECT_THAT(chosen_gpu(m_facts, {{}, nothing}).reason(), HasSubstr("hides every GPU"));
  const gpu_facts none = gather_gpu_facts("libprofgate-no-such-library.so.1");
  EXPECT_THAT(chosen_gpu(none, {"1", {}}).reason(), HasSubstr("no NVIDIA driver"));
}

TEST_F(gpu_choice, reaches_the_children_by_uuid) {
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  hand_gpu_to_children(m_facts);
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "0") << "PROFGATE_GPU is not set";
  ::setenv("PROFGATE_GPU", "1", 1);
  hand_gpu_to_children(m_facts);
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "GPU-1299");
  EXPECT_STREQ(std::getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST_F(gpu_choice, must_be_the_gpu_that_the_workload_took) {
  const gpu_device first = *chosen_gpu(m_facts, {});
  require_chosen_gpu(first, "0000:3B:00.0");
  require_chosen_gpu(first, "");
  EXPECT_THAT(
      error_of([&] { require_chosen_gpu(first, "0000:d8:00.0"); }),
      AllOf(StartsWith("3: "), HasSubstr("ran on the GPU 0000:d8:00.0"),
            HasSubstr("0 (NVIDIA H200, GPU-1234, 0000:3b:00.0)"), HasSubstr("PROFGATE_GPU=0000:d8:00.0")));
}

}  // namespace
}  // namespace profgate::artifacts
