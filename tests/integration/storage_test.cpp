#include <fstream>

#include "pair_fixture.h"

/// Full and read-only disks. Both need a file system of their own, so both need root.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class storage : public pair_fixture {};

TEST_F(storage, a_full_disk_fails_the_run_and_leaves_earlier_runs_whole) {
  mounted_tmpfs disk(m_project / "disk", "size=8m");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  const std::string place = "artifacts.stage2_dir=disk/stage2";
  ASSERT_EQ(run_pair(register_probe({}), {place}).exit_code, 0);
  std::ofstream(m_project / "disk/ballast") << std::string(16 << 20, 'x');

  const command_result result = run_pair(register_probe({}), {place});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AnyOf(HasSubstr("No space left"), HasSubstr("full")));
  fs::remove(m_project / "disk/ballast");
  EXPECT_EQ(run_pair(register_probe({}), {place}).exit_code, 0);
}

TEST_F(storage, a_read_only_runs_folder_is_named) {
  mounted_tmpfs disk(m_project / "disk", "size=8m");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  disk.make_read_only();
  const command_result result = run_pair(register_probe({}), {"artifacts.stage2_dir=disk/stage2"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("disk/stage2"));
  EXPECT_THAT(result.output, HasSubstr("artifacts.stage2_dir"));
}

TEST_F(storage, a_disk_without_inodes_is_named) {
  mounted_tmpfs disk(m_project / "disk", "nr_inodes=1");  // its root has it
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const std::string run = latest_run().string();
  const std::string runs = std::string(PROFGATE_TEST_DATA) + "/gate/stored-same-build/candidate.runs.json";
  use_git_identity();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", run, run, "--out", "disk/compared"},
        {"baseline", "accept", runs, "--reason", "full", "--baselines-dir", "disk/baselines"},
        {"history", "append", runs, "--history-file", "disk/history.db"}}) {
    const command_result result = profgate(words);
    EXPECT_THAT(result.exit_code, AnyOf(2, 3)) << result.output;
    EXPECT_THAT(result.output, AnyOf(HasSubstr("No space left"), HasSubstr("the disk is full")));
    EXPECT_THAT(result.output, ::testing::Not(HasSubstr("a fault of profgate")));
  }
}

TEST_F(storage, a_run_that_retention_has_compressed_can_be_analyzed_again) {
  const fs::path manifest = register_probe({});
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  const fs::path first = latest_run();
  ASSERT_EQ(run_pair(manifest, {"artifacts.keep_runs=1"}).exit_code, 0);
  ASSERT_FALSE(fs::exists(first / "nsys/embedded.timeline")) << "the test needs a compressed timeline";
  const command_result result = profgate({"analyze", first.string()});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(fs::exists(first / "report.md"));
}

}  // namespace
}  // namespace profgate::integration
