#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "../collector/temp_folder.h"
#include "core/error.h"
#include "profilers/collector_installation.h"
#include "profilers/ncu_installation.h"
#include "profilers/nsys_installation.h"

namespace profgate::profilers {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class installation : public ::testing::Test {
 protected:
  installation() { m_environment.root = m_root.path(); }

  fs::path make_executable(const std::string& name) {
    const fs::path file = m_root / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/false\n";
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }

  test::temp_folder m_root;
  tool_environment m_environment;
};

TEST_F(installation, looks_where_nsys_hides) {
  EXPECT_FALSE(find_nsys(m_environment).executable);
  EXPECT_THAT(find_nsys(m_environment).reason, HasSubstr("nsys is not on PATH"));
  const fs::path debian = make_executable("usr/lib/nsight-systems/bin/nsys");
  EXPECT_EQ(find_nsys(m_environment).executable, debian);
  const fs::path in_ncu = make_executable("opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys");
  EXPECT_EQ(find_nsys(m_environment).executable, in_ncu);
  make_executable("opt/nvidia/nsight-systems/2024.9.1/bin/nsys");
  const fs::path newest = make_executable("opt/nvidia/nsight-systems/2024.10.1/bin/nsys");
  EXPECT_EQ(find_nsys(m_environment).executable, newest) << "10 is later than 9";
  m_environment.variables["PATH"] = "/nowhere:" + (m_root / "bin").string();
  const fs::path on_path = make_executable("bin/nsys");
  EXPECT_EQ(find_nsys(m_environment).executable, on_path);
  EXPECT_EQ(find_nsys(m_environment).found_by, "PATH");
}

TEST_F(installation, takes_no_tool_from_a_relative_folder_of_path) {
  const fs::path here = fs::relative(make_executable("bin/nsys").parent_path());
  make_executable("bin/ncu");
  ASSERT_TRUE(fs::exists(here / "nsys"));
  m_environment.variables["PATH"] = ":" + here.string();
  EXPECT_FALSE(find_nsys(m_environment).executable);
  EXPECT_FALSE(find_ncu(m_environment).executable);
  m_environment.variables["PROFGATE_NSYS"] = (here / "nsys").string();
  EXPECT_TRUE(find_nsys(m_environment).executable.value().is_absolute()) << "named, and run from elsewhere";
}

TEST_F(installation, looks_for_cupti_where_the_collector_does) {
  EXPECT_THAT(find_cupti(m_environment).reason, HasSubstr("no libcupti.so.13 or .12"));
  const fs::path in_ncu =
      make_executable("opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/libcupti.so.13.0");
  EXPECT_EQ(find_cupti(m_environment).library, in_ncu);
  const fs::path older = make_executable("usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12");
  EXPECT_EQ(find_cupti(m_environment).library, older);
  const fs::path newer = make_executable("usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13");
  EXPECT_EQ(find_cupti(m_environment).library, newer);
  m_environment.variables["LD_LIBRARY_PATH"] = "/nowhere:/libs";
  const fs::path on_path = make_executable("libs/libcupti.so.12");
  EXPECT_EQ(find_cupti(m_environment).library, on_path);
  m_environment.variables["CUDA_HOME"] = "/home/cuda";
  const fs::path home = make_executable("home/cuda/lib64/libcupti.so.12");
  EXPECT_EQ(find_cupti(m_environment).library, home);
  m_environment.variables["PROFGATE_CUPTI_LIBRARY"] = newer.string();
  EXPECT_EQ(find_cupti(m_environment).library, newer);
  m_environment.variables["PROFGATE_CUPTI_LIBRARY"] = "none";
  EXPECT_EQ(find_cupti(m_environment).reason, "hidden by PROFGATE_CUPTI_LIBRARY=none");
  m_environment.variables["PROFGATE_CUPTI_LIBRARY"] = "/no/such";
  EXPECT_THAT(find_cupti(m_environment).reason, HasSubstr("/no/such does not exist"));
}

TEST_F(installation, obeys_the_variable) {
  make_executable("usr/local/cuda/bin/nsys");
  m_environment.variables["PROFGATE_NSYS"] = "none";
  EXPECT_FALSE(find_nsys(m_environment).executable);
  EXPECT_EQ(find_nsys(m_environment).reason, "hidden by PROFGATE_NSYS=none");
  const fs::path mine = make_executable("mine");
  m_environment.variables["PROFGATE_NSYS"] = mine.string();
  EXPECT_EQ(find_nsys(m_environment).executable, mine);
  m_environment.variables["PROFGATE_NSYS"] = "/no/such/nsys";
  EXPECT_THROW(find_nsys(m_environment), core::bad_input)
      << "what was asked for must not be replaced in silence";
}

TEST_F(installation, finds_the_importer_inside_of_nsight_compute) {
  const fs::path nsys = make_executable("opt/ncu/host/target-linux-x64/nsys");
  EXPECT_EQ(find_importer(nsys), std::nullopt);
  const fs::path importer = make_executable("opt/ncu/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter");
  EXPECT_EQ(find_importer(nsys), importer);
}

TEST_F(installation, finds_the_importer_where_debian_splits_the_folders) {
  make_executable("usr/lib/aarch64/nsight-systems/target-linux-sbsa-armv8/nsys");
  const fs::path importer = make_executable("usr/lib/nsight-systems/host-linux-armv8/QdstrmImporter");
  fs::create_directories(m_root / "usr/lib/nsight-systems/bin");
  fs::create_directories(m_root / "usr/bin");
  fs::create_symlink("../aarch64/nsight-systems/target-linux-sbsa-armv8",
                     m_root / "usr/lib/nsight-systems/target-linux-sbsa-armv8");
  fs::create_symlink("../target-linux-sbsa-armv8/nsys", m_root / "usr/lib/nsight-systems/bin/nsys");
  fs::create_symlink("../lib/nsight-systems/bin/nsys", m_root / "usr/bin/nsys");
  EXPECT_EQ(find_importer(m_root / "usr/bin/nsys"), importer);
}

TEST_F(installation, names_what_the_importer_misses) {
  EXPECT_THAT(parse_missing_libraries("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\tlibssh.so => not found\n"
                                      "\tlibdw.so.1 => not found\n\tlibssh.so => not found\n"),
              ElementsAre("libssh.so", "libdw.so.1"));
  EXPECT_THAT(
      parse_missing_libraries("QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot "
                              "open shared object file: No such file or directory\n"),
      ElementsAre("libdw.so.1"));
  EXPECT_EQ(
      missing_library_remedy({"libssh.so", "libdw.so.1"}),
      "apt-get install libssh-4 libdw1, or set PROFGATE_NSYS_LIBRARY_PATH to a folder that holds libssh.so, "
      "libdw.so.1");
  EXPECT_THAT(missing_library_remedy({"libodd.so"}), HasSubstr("set PROFGATE_NSYS_LIBRARY_PATH"));
}

TEST_F(installation, asks_nsys_about_itself) {
  const fs::path nsys = make_executable("usr/lib/nsight-systems/bin/nsys");
  make_executable("usr/lib/nsight-systems/host-linux-armv8/QdstrmImporter");
  m_environment.variables["PROFGATE_NSYS_LIBRARY_PATH"] = "/extra";
  m_environment.variables["LD_LIBRARY_PATH"] = "/old";
  const nsys_installation found = inspect_nsys(nsys, m_environment, [](const tool_command& command) {
    tool_run run;
    run.started = true;
    const std::string& last = command.argv.back();
    if (last == "--version") run.captured_stdout = "NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n";
    if (last == "--help-reports")
      run.captured_stdout = "\n  nvtxppsum -- NVTX\n  gpukernsum[:base] -- Kernels\n";
    if (last == "--help") run.captured_stdout = "\t--cuda-graph-trace=\n";
    if (command.set_environment.count("LD_TRACE_LOADED_OBJECTS") > 0) {
      EXPECT_EQ(command.set_environment.at("LD_LIBRARY_PATH"), "/extra:/old");
      run.captured_stdout = "\tlibdw.so.1 => not found\n";
    }
    return run;
  });
  EXPECT_EQ(found.version, "2022.4.2.1-df9881f");
  EXPECT_EQ(found.inherited_library_path, "/old");
  EXPECT_THAT(found.reports, ElementsAre("nvtxppsum", "gpukernsum"));
  EXPECT_TRUE(found.knows_cuda_graph_trace);
  EXPECT_THAT(found.missing_libraries, ElementsAre("libdw.so.1"));
}

TEST_F(installation, a_broken_nsys_is_a_failure) {
  EXPECT_THROW(inspect_nsys("/opt/nsys", m_environment, [](const tool_command&) { return tool_run{}; }),
               core::step_failure);
}

TEST_F(installation, finds_ncu_and_who_may_read_counters) {
  const fs::path ncu = make_executable("opt/nvidia/nsight-compute/2025.3.1/ncu");
  EXPECT_EQ(find_ncu(m_environment).executable, ncu);
  EXPECT_THAT(ncu_list_sections_command("/opt/ncu"), ElementsAre("/opt/ncu", "--list-sections"));
  EXPECT_EQ(ncu_version(ncu,
                        [](const tool_command&) {
                          tool_run run;
                          run.started = true;
                          run.captured_stdout =
                              "NVIDIA (R) Nsight Compute\nVersion 2022.3.0.0 (build 31729285)\n";
                          return run;
                        }),
            "2022.3.0.0");
  EXPECT_EQ(are_counters_for_admins_only(m_environment), std::nullopt);
  fs::create_directories(m_root / "proc/driver/nvidia");
  std::ofstream(m_root / "proc/driver/nvidia/params") << "EnableMSI: 1\nRmProfilingAdminOnly: 0\n";
  EXPECT_EQ(are_counters_for_admins_only(m_environment), false);
  std::ofstream(m_root / "proc/driver/nvidia/params") << "EnableMSI: 0\nRmProfilingAdminOnly: 1\n";
  EXPECT_EQ(are_counters_for_admins_only(m_environment), true);
}

}  // namespace
}  // namespace profgate::profilers
