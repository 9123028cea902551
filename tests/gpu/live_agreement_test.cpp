#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "../unit/agreement/nsys_agreement.h"
#include "gpu_pair_fixture.h"
#include "parsers/nsys_csv.h"

/// What nsys recorded a moment ago on this machine: its own sums and ours.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using total_and_calls = std::pair<std::int64_t, std::int64_t>;

class live_agreement : public gpu_pair_fixture {
 protected:
  void expect_agreement_with_nsys(const std::vector<std::string>& overrides) {
    const command_result result = run_pair(small_pair(), overrides);
    if (status_of("timeline").state == core::step_state::skipped) {
      GTEST_SKIP() << status_of("timeline").reason;
    }
    ASSERT_EQ(result.exit_code, 0) << result.output;
    std::map<std::string, total_and_calls> theirs;  // by kernel, of all captures of the run
    for (const fs::directory_entry& entry : fs::directory_iterator(latest_run() / "nsys")) {
      if (entry.path().extension() != ".sqlite") continue;
      const test::nsys_recording recording(entry.path().parent_path() / entry.path().stem());
      test::expect_same_kernels(recording);
      test::expect_same_host_time_by_range(recording);
      test::expect_same_projections(recording);
      test::expect_same_kernels_in_each_range(recording);
      for (const core::kernel_record& row :
           parsers::read_kernel_sum_csv(recording.csv("cuda_gpu_kern_sum"))) {
        theirs[row.kernel_name].first += row.total_ns;
        theirs[row.kernel_name].second += row.calls;
      }
    }
    std::multiset<total_and_calls> expected;
    for (const auto& [name, sums] : theirs) expected.insert(sums);
    EXPECT_EQ(overall_table_of_kernels_md(), expected);
  }

  /// "| name | 1.234567 | 8 | … |" → 1234567 ns and 8 calls.
  std::multiset<total_and_calls> overall_table_of_kernels_md() const {
    std::multiset<total_and_calls> rows;
    std::istringstream lines(text_of("kernels.md"));
    bool is_overall = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("## ")) is_overall = line == "## Overall";
      if (!is_overall || !line.starts_with("| ") || line.starts_with("| kernel_name")) continue;
      std::istringstream cells(line.substr(line.find(" | ") + 3));
      std::string milliseconds;
      std::string bar;
      std::int64_t calls = 0;
      cells >> milliseconds >> bar >> calls;
      const std::size_t point = milliseconds.find('.');
      if (point == std::string::npos) continue;  // the rule below the heading
      rows.insert(
          {std::stoll(milliseconds.substr(0, point)) * 1'000'000 + std::stoll(milliseconds.substr(point + 1)),
           calls});
    }
    return rows;
  }
};

TEST_F(live_agreement, of_gated_captures) {
  expect_agreement_with_nsys({"timeline=nsys", "nsys.gating_nvtx=true", "run.mode=light"});
}

TEST_F(live_agreement, of_one_capture_of_everything) {
  expect_agreement_with_nsys({"timeline=nsys", "nsys.gating_nvtx=false", "run.mode=light"});
}

}  // namespace
}  // namespace profgate::integration
