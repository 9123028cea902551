// report.html stays small whatever a run launches.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "golden_files.h"
#include "many_kernels.h"
#include "render/render.h"

namespace profgate::render {
namespace {

std::size_t page_bytes(std::size_t kernels) {
  std::size_t bytes = 0;
  render_reports(profile_of_many_kernels(
                     read(std::filesystem::path(PROFGATE_GOLDEN_DIR) / "gpu_kernels/profile.json"), kernels),
                 PROFGATE_TEMPLATES_DIR, "", [&](const std::filesystem::path& path, std::string_view text) {
                   if (path == "report.html") bytes = text.size();
                 });
  return bytes;
}

TEST(report_size, of_400_kernels_is_within_300_kB) {
  EXPECT_LE(page_bytes(400), 300'000U);
}

TEST(report_size, of_10000_kernels_is_within_2_MB) {
  EXPECT_LT(page_bytes(10'000), 2'000'000U);
}

}  // namespace
}  // namespace profgate::render
