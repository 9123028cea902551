// What the real CTest makes of the gate's output: measurements for CDash, JUnit XML that is well-formed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "golden_files.h"
#include "judgement_cases.h"
#include "process/runner.h"
#include "render/gate_views.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Whether every element that opens also closes, in order; enough of XML for what CTest writes.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.starts_with("?") || tag.ends_with("/")) continue;
    const std::string name = tag.substr(0, tag.find_first_of(" \t\n"));
    if (!name.starts_with("/")) {
      open.push_back(name);
    } else {
      if (open.empty() || "/" + open.back() != name) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

class ctest_output : public ::testing::Test {
 protected:
  void SetUp() override {
    m_folder = fs::temp_directory_path() / ("profgate-ctest-" + std::to_string(getpid()));
    fs::create_directories(m_folder);
    write("DartConfiguration.tcl", "SourceDirectory: " + m_folder.string() + "\nBuildDirectory: " +
                                       m_folder.string() + "\nSite: site\nBuildName: build\n");
  }
  void TearDown() override { fs::remove_all(m_folder); }

  void write(const std::string& name, const std::string& text) { std::ofstream(m_folder / name) << text; }

  /// A test that prints what a gate prints and ends like it.
  void add_test(const std::string& name, int code, const std::string& before = "") {
    const gate::judgement whole = made_up_judgement(name);
    std::string text = before + ctest_measurements(whole) + "\n";
    for (const std::string& line : gate_lines(whole)) text += line + "\n";
    write(name + ".txt", text);
    m_tests += "add_test(" + name + " /bin/sh -c \"cat " + name + ".txt; exit " + std::to_string(code) +
               "\")\nset_tests_properties(" + name + " PROPERTIES SKIP_RETURN_CODE 77)\n";
  }

  void run_ctest() {
    write("CTestTestfile.cmake", m_tests);
    process::command ctest;
    ctest.argv = {"ctest",
                  "--test-dir",
                  m_folder.string(),
                  "-T",
                  "Test",
                  "--output-junit",
                  (m_folder / "junit.xml").string()};
    const process::outcome outcome = process::run(ctest, {});
    ASSERT_EQ(outcome.how, process::ending::exited) << outcome.start_error;
    m_junit = read(m_folder / "junit.xml");
    for (const auto& entry : fs::recursive_directory_iterator(m_folder / "Testing"))
      if (entry.path().filename() == "Test.xml") m_cdash = read(entry.path());
  }

  fs::path m_folder;
  std::string m_tests;
  std::string m_junit;
  std::string m_cdash;
};

TEST_F(ctest_output, has_every_gated_number_as_a_measurement) {
  add_test("regressed", 1);
  add_test("unchanged", 0, std::string(5000, 'x') + "\n");  // CTest cuts the output of a passed test
  run_ctest();
  EXPECT_THAT(m_cdash,
              HasSubstr("<NamedMeasurement type=\"numeric/double\" name=\"decode_all_slowdown_percent\">\n"
                        "\t\t\t\t\t<Value>5.08</Value>"));
  EXPECT_THAT(m_cdash, HasSubstr("name=\"decode_all_slowdown_lower_95_percent\">\n\t\t\t\t\t<Value>4.78<"));
  EXPECT_THAT(m_cdash, HasSubstr("name=\"gate_verdict\">\n\t\t\t\t\t<Value>unchanged<"));
  EXPECT_TRUE(is_well_formed(m_cdash));
}

TEST_F(ctest_output, is_meaningful_junit) {
  add_test("regressed", 1);
  add_test("inconclusive", 77);
  run_ctest();
  EXPECT_TRUE(is_well_formed(m_junit));
  EXPECT_THAT(m_junit, AllOf(HasSubstr("failures=\"1\""), HasSubstr("skipped=\"1\"")));
  EXPECT_THAT(m_junit,
              HasSubstr("llama-3.1-8b.decode-b1: regressed: decode_all (16 tokens) is 5.1 % slower"));
  EXPECT_THAT(m_junit, HasSubstr("planted_delay_kernel in planted is new"));
  EXPECT_THAT(m_junit, HasSubstr("the smallest slowdown it could have seen is 6.3 %"));
  EXPECT_THAT(m_junit, Not(HasSubstr("CTestMeasurement")));
}

TEST_F(ctest_output, stays_well_formed_whatever_kernels_are_called) {
  add_test("hostile", 1);
  run_ctest();
  EXPECT_TRUE(is_well_formed(m_junit)) << m_junit;
  EXPECT_TRUE(is_well_formed(m_cdash)) << m_cdash;
  EXPECT_THAT(m_cdash, Not(HasSubstr("<NamedMeasurement type=\"numeric/double\" name=\"fake\"")));
  EXPECT_FALSE(is_well_formed("<a><b></a>"));
}

}  // namespace
}  // namespace profgate::render
