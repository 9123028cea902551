#include "pair_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace profgate::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

/// A project with its build folder, and what CMake wrote there.
class copied_checkout : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "copied_checkout_XXXXXX";
    m_folder = fs::canonical(::mkdtemp(pattern.data()));
    m_project = m_folder / "project";
    write_manifest(m_project / "build/dev");
  }
  void TearDown() override {
    fs::current_path("/");
    fs::remove_all(m_folder);
  }

  void write_manifest(const fs::path& build_dir) const {
    fs::create_directories(build_dir / "profgate/pairs");
    std::ofstream(manifest_in(build_dir)) << nlohmann::json{
        {"schema_version", 1},
        {"pair", "m.c"},
        {"model", "m"},
        {"config", "c"},
        {"device", "cpu"},
        {"engine", nullptr},
        {"model_choice", nullptr},
        {"workload_choice", "c"},
        {"command", {(build_dir / "bin/program").string(), m_project.string() + "-weights/w"}},
        {"command_has_placeholders", false},
        {"working_directory", build_dir.string()},
        {"project_dir", m_project.string()},
        {"build_dir", build_dir.string()},
        {"conf_dirs", {(m_project / "conf").string(), "/usr/share/profgate/conf"}},
        {"overrides", nlohmann::json::array()},
        {"build", {{"type", "t"}, {"compiler", "c"}, {"compiler_version", "0"}, {"flags", ""}}}};
  }
  static fs::path manifest_in(const fs::path& build_dir) { return build_dir / "profgate/pairs/m.c.json"; }
  fs::path copy(const fs::path& from, const fs::path& to) const {
    fs::create_directories(to.parent_path());
    fs::copy(from, to, fs::copy_options::recursive);
    return to;
  }

  fs::path m_folder;
  fs::path m_project;
};

TEST_F(copied_checkout, stays_where_it_is_if_nothing_was_copied) {
  const pair_manifest manifest = read_pair_manifest(manifest_in(m_project / "build/dev"));
  EXPECT_EQ(manifest.project_dir, m_project);
  EXPECT_EQ(manifest.command[0], (m_project / "build/dev/bin/program").string());
}

TEST_F(copied_checkout, works_in_its_own_folders) {
  const fs::path other = copy(m_project, m_folder / "copy");
  const pair_manifest manifest = read_pair_manifest(manifest_in(other / "build/dev"));
  EXPECT_EQ(manifest.project_dir, other) << "its runs go to its own tmp/";
  EXPECT_EQ(manifest.working_directory, other / "build/dev");
  EXPECT_THAT(manifest.command,
              ElementsAre((other / "build/dev/bin/program").string(), m_project.string() + "-weights/w"));
  EXPECT_THAT(manifest.conf_dirs, ElementsAre(other / "conf", "/usr/share/profgate/conf"));
}

TEST_F(copied_checkout, with_a_copied_build_folder_has_the_programs_of_the_copy) {
  const fs::path before = copy(m_project / "build/dev", m_project / "build/before");
  const pair_manifest manifest = read_pair_manifest(manifest_in(before));
  EXPECT_EQ(manifest.project_dir, m_project);
  EXPECT_EQ(manifest.command[0], (before / "bin/program").string());
}

TEST_F(copied_checkout, reached_through_a_link_is_none) {
  const fs::path link = m_folder / "link";
  fs::create_directory_symlink(m_project, link);
  EXPECT_EQ(read_pair_manifest(manifest_in(link / "build/dev")).project_dir, m_project);
}

TEST_F(copied_checkout, is_found_by_tests_that_name_files_of_the_original) {
  const fs::path other = copy(m_project, m_folder / "copy");
  const fs::path named = manifest_in(m_project / "build/dev");
  fs::create_directories(other / "build/dev/tests");
  fs::current_path(other / "build/dev/tests");
  EXPECT_EQ(manifest_here(named), manifest_in(other / "build/dev"));
  fs::current_path("/");
  EXPECT_EQ(manifest_here(named), named);
  write_manifest(m_project / "build/unlike");  // configured on its own, no copy
  fs::current_path(m_project / "build/unlike");
  EXPECT_EQ(manifest_here(named), named);
}

TEST_F(copied_checkout, finds_the_builds_that_are_no_copies_unless_all_are) {
  const auto configure = [](const fs::path& dir) {
    std::ofstream(dir / "CMakeCache.txt") << "CMAKE_CACHEFILE_DIR:INTERNAL=" << dir.string() << "\n";
  };
  configure(m_project / "build/dev");
  copy(m_project / "build/dev", m_project / "build/before");
  EXPECT_THAT(build_dirs_below(m_project), ElementsAre(m_project / "build/dev"));
  copy(m_project, m_folder / "copy");
  EXPECT_THAT(build_dirs_below(m_folder / "copy"),
              ElementsAre(m_folder / "copy/build/before", m_folder / "copy/build/dev"));

  // Several configurations in one build folder have one cache, around them.
  const fs::path several = m_folder / "several";
  write_manifest(several / "Release");
  configure(several);
  fs::rename(copy(several, m_folder / "aside"), several / "build");
  EXPECT_THAT(build_dirs_below(several), ElementsAre(several / "Release"));
}

}  // namespace
}  // namespace profgate::cli
