#include <gmock/gmock.h>
#include <unistd.h>

#include "artifacts/retention.h"
#include "artifacts/run_list.h"
#include "artifacts/run_store.h"
#include "artifacts/status.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const core::utc_clock::time_point first_hour =
    core::utc_clock::from_time_t(1763171526);  // 2025-11-15T01:52:06Z

class clean : public folder_test {
 protected:
  fs::path stage2_dir() const { return folder() / "stage2"; }

  fs::path old_run(const std::string& pair, int hour) const {
    const run_store store(stage2_dir());
    const process_owner owner = owner_of(::getpid());
    const fs::path run = store.claim(pair, owner, first_hour + std::chrono::hours(hour));
    store.release(pair, owner);
    put(run / "nsys" / "run.sqlite", std::string(1000, 'x'));
    return run;
  }

  static std::vector<fs::path> removed_by(const clean_plan& plan) {
    std::vector<fs::path> paths;
    for (const clean_item& item : plan.remove) paths.push_back(item.run_directory);
    return paths;
  }
};

TEST_F(clean, plans_before_it_removes) {
  const fs::path run = old_run("a.smoke", 0);
  clean_request request;
  request.all = true;
  const clean_plan plan = plan_clean(stage2_dir(), request);
  EXPECT_THAT(removed_by(plan), ::testing::ElementsAre(run));
  EXPECT_GT(plan.bytes, 1000U);
  EXPECT_TRUE(fs::exists(run));
  EXPECT_EQ(apply_clean(stage2_dir(), plan), plan.bytes);
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(clean, keeps_the_newest_of_each_pair) {
  const fs::path old_a = old_run("a.smoke", 0);
  const fs::path new_a = old_run("a.smoke", 1);
  const fs::path only_b = old_run("b.smoke", 0);
  clean_request request;
  request.keep = 1;
  const clean_plan plan = plan_clean(stage2_dir(), request);
  EXPECT_THAT(removed_by(plan), ::testing::ElementsAre(old_a));
  ASSERT_EQ(plan.keep.size(), 2U);
  EXPECT_THAT(plan.keep[0].reason, HasSubstr("among the last 1"));
}

TEST_F(clean, goes_by_age_and_by_pair) {
  const fs::path old_a = old_run("a.smoke", 0);
  old_run("a.smoke", 10);
  old_run("b.smoke", 0);
  clean_request request;
  request.pair = "a.smoke";
  request.older_than = std::chrono::hours(5);
  EXPECT_THAT(removed_by(plan_clean(stage2_dir(), request, first_hour + std::chrono::hours(12))),
              ::testing::ElementsAre(old_a));
}

TEST_F(clean, keeps_what_a_baseline_names_or_somebody_uses) {
  const fs::path baseline = old_run("a.smoke", 0);
  const fs::path working = old_run("a.smoke", 1);
  start_step(working, "timeline");
  const fs::path claimed = run_store(stage2_dir()).claim("a.smoke", owner_of(::getpid()));
  clean_request request;
  request.all = true;
  request.protected_run_ids = {baseline.filename().string()};
  EXPECT_TRUE(plan_clean(stage2_dir(), request).remove.empty());
  // A plan may be older than the claim.
  apply_clean(stage2_dir(), {{{claimed, "a.smoke", 0}, {working, "a.smoke", 0}}, {}, 0});
  EXPECT_TRUE(fs::exists(claimed));
  EXPECT_TRUE(fs::exists(working));
}

TEST_F(clean, does_nothing_without_being_told_what) {
  EXPECT_THAT(error_of([&] { plan_clean(stage2_dir(), {}); }), HasSubstr("--older-than"));
  clean_request request;
  request.all = true;
  request.pair = "../etc.x";
  EXPECT_THAT(error_of([&] { plan_clean(stage2_dir(), request); }), HasSubstr("not the name of a pair"));
}

TEST_F(clean, never_takes_what_is_not_a_run_of_ours) {
  const fs::path run = old_run("a.smoke", 0);
  put(stage2_dir() / "notes" / "mine.txt", "x");                    // another name
  put(stage2_dir() / "20251115-015206-x.smoke" / "mine.txt", "x");  // no marker
  fs::copy(run, stage2_dir() / "20251115-015206-y.smoke");          // a marker of another run
  put(folder() / "outside" / "precious", "x");
  fs::create_directory_symlink(folder() / "outside", stage2_dir() / "20251115-015206-z.smoke");
  fs::create_directory_symlink(folder() / "outside", run / "link");  // a link inside a run
  const fs::path moved = folder() / run.filename();
  fs::copy(run, moved,
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);  // a run, but elsewhere
  clean_request request;
  request.all = true;
  const clean_plan plan = plan_clean(stage2_dir(), request);
  EXPECT_THAT(removed_by(plan), ::testing::ElementsAre(run));
  apply_clean(stage2_dir(), plan);
  EXPECT_FALSE(fs::exists(run));
  EXPECT_EQ(get(folder() / "outside" / "precious"), "x");
  for (const char* name : {"notes", "20251115-015206-x.smoke", "20251115-015206-y.smoke", ".current"}) {
    EXPECT_TRUE(fs::exists(stage2_dir() / name)) << name;
  }
  for (const fs::path& odd : {moved, stage2_dir() / ".." / run.filename(), stage2_dir() / "..", folder()}) {
    EXPECT_THAT(error_of([&] {
                  apply_clean(stage2_dir(), {{{odd, "a.smoke", 0}}, {}, 0});
                }),
                HasSubstr("is not a run in"))
        << odd;
  }
  EXPECT_TRUE(fs::exists(moved));
}

TEST_F(clean, takes_up_a_removal_that_was_cut_short) {
  const fs::path run = old_run("a.smoke", 0);
  for (const char* part : {"nsys", "ncu", "stage1"}) fs::remove_all(run / part);
  clean_request request;
  request.all = true;
  apply_clean(stage2_dir(), plan_clean(stage2_dir(), request));
  EXPECT_FALSE(fs::exists(run));
}

}  // namespace
}  // namespace profgate::artifacts
