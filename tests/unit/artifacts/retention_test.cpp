#include "artifacts/retention.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "artifacts/files.h"
#include "artifacts/run_list.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "small_disk.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string compressed_pair = "a.smoke";
const std::string trace(100000, 't');

class retention : public folder_test {
 protected:
  /// A run that is over, `minute` minutes after the first.
  std::filesystem::path old_run(int minute) const {
    const run_store store(folder());
    const process_owner owner = owner_of(::getpid());
    const auto run =
        store.claim(compressed_pair, owner, core::utc_clock::from_time_t(1763171526 + 60 * minute));
    store.release(compressed_pair, owner);
    put(run / "nsys" / "run.sqlite", trace);
    put(run / "report.md", "small");
    return run;
  }

  std::vector<std::filesystem::path> planned(std::size_t keep_runs,
                                             const std::vector<std::string>& protected_run_ids = {}) const {
    std::vector<std::filesystem::path> runs;
    for (const compression& item : plan_retention(folder(), compressed_pair, keep_runs, protected_run_ids)) {
      runs.push_back(item.run_directory);
    }
    return runs;
  }
};

TEST_F(retention, compresses_all_but_the_last_runs) {
  const std::vector<std::filesystem::path> runs{old_run(0), old_run(1), old_run(2)};
  const auto plan = plan_retention(folder(), compressed_pair, 1, {});
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_GT(plan[0].bytes_before, trace.size());
  const retention_result result = apply_retention(folder(), plan);
  EXPECT_LT(result.bytes_after, result.bytes_before / 10);
  for (const auto& run : runs) EXPECT_EQ(read_file(run / "nsys" / "run.sqlite"), trace);
  EXPECT_TRUE(std::filesystem::exists(runs[0] / "nsys" / "run.sqlite.gz"));
  EXPECT_FALSE(std::filesystem::exists(runs[0] / "nsys" / "run.sqlite"));
  EXPECT_TRUE(std::filesystem::exists(runs[2] / "nsys" / "run.sqlite"));
  EXPECT_EQ(get(runs[0] / "report.md"), "small") << "nothing to gain below one disk block";
  EXPECT_EQ(list_runs(folder(), compressed_pair).size(), 3U) << "a compressed run is still a run";
  EXPECT_TRUE(planned(1).empty()) << "nothing is left to do";
}

TEST_F(retention, leaves_what_people_read_as_it_is) {
  const auto run = old_run(0);
  const std::vector<std::filesystem::path> read{
      "report.md",    "report.html",         "gate.svg", "pictures/roofline.svg", "profile.json",
      "verdict.json", "stage1/metrics.json", "env.json", "config.yaml",           "ncu/regions/report.md",
      "trace.json.gz"};
  for (const auto& file : read) put(run / file, trace);
  put(run / "nsys/log.txt", trace);
  apply_retention(folder(), plan_retention(folder(), compressed_pair, 0, {}));
  for (const auto& file : read) EXPECT_EQ(get(run / file), trace) << file;
  EXPECT_FALSE(std::filesystem::exists(run / "nsys/log.txt"));
  EXPECT_TRUE(planned(0).empty()) << "nothing is left to do";
}

TEST_F(retention, leaves_alone_what_a_baseline_names_or_somebody_uses) {
  const auto baseline = old_run(0);
  const auto working = old_run(1);
  start_step(working, "stage1");
  const auto plain = old_run(2);
  const auto claimed = run_store(folder()).claim(compressed_pair, owner_of(::getpid()));
  put(claimed / "nsys" / "run.sqlite", trace);
  EXPECT_THAT(planned(0, {baseline.filename().string()}), ::testing::ElementsAre(plain));
}

TEST_F(retention, takes_up_what_a_crash_left) {
  const auto run = old_run(0);
  const auto path = run / "nsys" / "run.sqlite";
  put(path.string() + ".gz.tmp", "half a fi");  // died while writing
  apply_retention(folder(), plan_retention(folder(), compressed_pair, 0, {}));
  EXPECT_EQ(read_file(path), trace);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".gz.tmp"));

  put(path, trace);  // died between the rename and the removal: both are there
  EXPECT_EQ(planned(0).size(), 1U);
  apply_retention(folder(), plan_retention(folder(), compressed_pair, 0, {}));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(read_file(path), trace);
}

TEST_F(retention, keeps_both_where_the_compressed_file_is_another) {
  const auto path = old_run(0) / "nsys" / "run.sqlite";
  for (const std::string& other : {std::string("not gzip"), trace}) {
    put(path.string() + ".gz", other);
    compress_file(path);
    EXPECT_EQ(get(path), trace);
    EXPECT_EQ(get(path.string() + ".gz"), other);
  }
  put(folder() / "longer", trace + "x");
  compress_file(folder() / "longer");
  std::filesystem::rename(folder() / "longer.gz", path.string() + ".gz");
  compress_file(path);
  EXPECT_EQ(get(path), trace);
  EXPECT_TRUE(planned(0).empty()) << "what cannot be compressed must not be planned for ever";
}

TEST_F(retention, a_full_disk_loses_nothing) {
  const auto answer = on_mounted_disk(folder(), "size=256k", false, [&] {
    std::string noise;
    for (unsigned state = 1; noise.size() < 200000;)
      noise += static_cast<char>((state = state * 1664525 + 7) >> 24);
    put(folder() / "noise", noise);
    const std::string error = error_of([&] { compress_file(folder() / "noise"); });
    return std::to_string(entries_in(folder())) + (get(folder() / "noise") == noise ? " same " : " lost ") +
           error;
  });
  if (!answer) GTEST_SKIP() << "this machine does not let the test mount a small disk";
  EXPECT_THAT(*answer, StartsWith("1 same 3: "));
  EXPECT_THAT(*answer, HasSubstr("the disk is full"));
}

TEST_F(retention, follows_no_symlink) {
  const auto run = old_run(0);
  put(folder() / "elsewhere" / "precious", trace);
  std::filesystem::create_directory_symlink(folder() / "elsewhere", run / "link");
  std::filesystem::create_symlink(folder() / "elsewhere" / "precious", run / "file_link");
  apply_retention(folder(), plan_retention(folder(), compressed_pair, 0, {}));
  EXPECT_EQ(get(folder() / "elsewhere" / "precious"), trace);
  EXPECT_TRUE(std::filesystem::is_symlink(run / "file_link"));
}

}  // namespace
}  // namespace profgate::artifacts
