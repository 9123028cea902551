#include "runs/run_folder_check.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "../collector/temp_folder.h"
#include "core/error.h"

namespace profgate::runs {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class run_folder_check : public ::testing::Test {
 protected:
  run_folder_check() {
    fs::create_directories(m_run / "ncu");
    fs::create_directories(m_outside);
    std::ofstream(m_run / "env.json") << "{}";
    std::ofstream(m_outside / "file") << "mine";
  }

  std::string refusal() const {
    try {
      check_run_folder(m_run);
    } catch (const core::bad_input& refused) {
      return refused.what();
    }
    return "";
  }

  test::temp_folder m_folder;
  fs::path m_run = m_folder / "run";
  fs::path m_outside = m_folder / "outside";
};

TEST_F(run_folder_check, passes_an_ordinary_run_and_links_within_it) {
  fs::create_symlink("../env.json", m_run / "ncu" / "env.json");
  fs::create_symlink("gone", m_run / "dangling");
  EXPECT_EQ(refusal(), "");
}

TEST_F(run_folder_check, refuses_folders_and_files_that_lead_out) {
  const fs::path link = m_run / "ncu" / "regions";
  for (const fs::path& target : {m_outside, m_outside / "file", m_outside / "gone", fs::path("..") / ".."}) {
    fs::create_directory_symlink(target, link);
    EXPECT_THAT(refusal(), HasSubstr("ncu/regions: is a link that leads out of the run's folder")) << target;
    fs::remove(link);
  }
  fs::create_symlink("regions", link);
  EXPECT_THAT(refusal(), HasSubstr("leads out")) << "a link to itself";
  fs::remove(link);
  // A folder beside it whose name begins as its own does is outside, too.
  const fs::path beside = m_run.string() + "-more";
  fs::create_directories(beside);
  fs::create_directory_symlink(beside, m_run / "stage1");
  EXPECT_THAT(refusal(), HasSubstr("leads out"));
}

TEST_F(run_folder_check, refuses_what_is_no_file) {
  ASSERT_EQ(::mkfifo((m_run / "ncu" / "result.json").c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("is a FIFO"));
}

}  // namespace
}  // namespace profgate::runs
