#include "drive.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "core/error.h"
#include "invented_runs.h"

namespace profgate::ab {
namespace {

namespace fs = std::filesystem;
using gate::arm;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Invented processes, with an interrupt before run number `cut_before` or a crash whenever it is asked for.
class invented_effects : public run_effects {
 public:
  finished_run run(arm which, run_kind kind, const std::string& stem) override {
    if (cut_before && m_started == *cut_before) throw core::interrupted("Ctrl-C");
    m_started += 1;
    stems.push_back(stem);
    finished_run run = invented_run(which == arm::baseline ? baseline : candidate, which, kind, m_started);
    if (crash_of && crash_of(which, kind)) {
      run.record.samples_ns.clear();
      run.crash = "exited with code 3";
    }
    return run;
  }
  void say(const std::string& line) override { lines.push_back(line); }
  void now_running(const std::string&) override {}

  invented_build baseline{{{"decode_all", 1e6}}};
  invented_build candidate{{{"decode_all", 1e6}}};
  std::optional<std::size_t> cut_before;
  std::function<bool(arm, run_kind)> crash_of;
  std::vector<std::string> stems;
  std::vector<std::string> lines;

 private:
  std::size_t m_started = 0;
};

class drive_test : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    // Thousands of files are written and synced: in memory, where that is possible.
    m_parent = (fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::path(::testing::TempDir())) /
               (std::string("profgate-ab-") + test->name() + std::to_string(getpid()));
    m_plan.id = "0123456789ab";
    m_plan.pair = "tiny.smoke";
    m_plan.boot_id = "boot 1";
    m_plan.gpu_uuid = "GPU-1";
    m_plan.created_utc = "2026-11-15T00:00:00Z";
  }
  void TearDown() override { fs::remove_all(m_parent); }

  /// The verdict, as one process sees it from start to end.
  std::optional<gate::verdict> compare(invented_effects& effects) {
    run_folder folder(m_parent, m_plan, [&](const std::string& line) { effects.say(line); });
    drive(m_settings, folder, effects);
    const auto steps = stage_steps(m_settings, folder.state());
    folder.archive();
    return steps[0].final_verdict;
  }

  fs::path m_parent;
  plan_record m_plan;
  comparison_settings m_settings = one_stage();
};

TEST_F(drive_test, leaves_one_file_a_run_and_says_one_line_each) {
  invented_effects effects;
  effects.baseline.level_ns["decode_all"] = effects.candidate.level_ns["decode_all"] = 2e6;
  EXPECT_EQ(compare(effects), gate::verdict::unchanged);
  EXPECT_EQ(effects.stems.size(), 14U);
  EXPECT_EQ(effects.stems[0], "000-baseline");
  EXPECT_EQ(effects.stems[1], "001-candidate");
  EXPECT_EQ(effects.lines.size(), 14U);
  EXPECT_THAT(effects.lines[0],
              HasSubstr("run 0 baseline, warm-up: decode_all 2.00 ms; at most 41 more runs"));
  fs::path archived;
  for (const fs::directory_entry& entry : fs::directory_iterator(m_parent)) {
    if (entry.is_directory()) archived = entry.path();
  }
  EXPECT_THAT(archived.filename().string(), HasSubstr("-0123456789ab"));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(archived / "runs")) files += 1;
  EXPECT_EQ(files, 14U);
}

TEST_F(drive_test, a_run_reads_back_as_it_was_written) {
  finished_run run =
      invented_run({{{"decode_all", 1e6}, {"prefill", 2e6}}}, arm::candidate, run_kind::traced, 3);
  run.session = 2;
  run.crash = "killed by SIGSEGV";
  run.record.slot = 12;
  run.record.started_utc = "2026-11-15T01:02:03Z";
  run.record.spoiled_by = "heat";
  run.device_name = "NVIDIA H200";
  run.library_versions = {{"cublaslt", "13.1.0"}};
  run.experts["prefill"] = {6, 64, 283, {{1, 120, 26.5, 3}}};
  run.record.conditions = {1980.0, 61.5, 402.25, {"software_power_cap"}, {"4711 python"}};
  const finished_run read = parse_run(run_json(run), "x.json");
  EXPECT_EQ(run_json(read), run_json(run));
  EXPECT_EQ(read.record.samples_ns, run.record.samples_ns);
  EXPECT_EQ(read.kind, run_kind::traced);
  EXPECT_EQ(read.arm, arm::candidate);
  EXPECT_EQ(read.crash, run.crash);
  EXPECT_EQ(read.experts, run.experts);
  EXPECT_EQ(read.device_name, run.device_name);
  EXPECT_EQ(read.library_versions, run.library_versions);
  EXPECT_EQ(read.record.conditions.foreign_processes, run.record.conditions.foreign_processes);
}

/// Cut before every possible process: the same verdict, and no run that a whole block does not need.
TEST_F(drive_test, wherever_it_is_cut_the_verdict_is_the_same) {
  for (const double level_ns : {1e6, 1.05e6}) {
    invented_effects uncut;
    uncut.candidate.level_ns["decode_all"] = level_ns;
    const std::optional<gate::verdict> expected = compare(uncut);
    ASSERT_TRUE(expected);
    for (std::size_t cut = 0; cut < uncut.stems.size(); cut += PROFGATE_TEST_STRIDE) {
      invented_effects first;
      first.candidate.level_ns["decode_all"] = level_ns;
      first.cut_before = cut;
      EXPECT_THROW(compare(first), core::interrupted);
      invented_effects rest;
      rest.candidate.level_ns["decode_all"] = level_ns;
      EXPECT_EQ(compare(rest), expected) << "cut before run " << cut;
      const std::size_t kept = cut < 2 ? 0 : (cut - 2) / 4 * 4;
      const bool only_traces_left = level_ns > 1e6 && cut >= 26;
      if (!only_traces_left) {
        const std::size_t counted = level_ns > 1e6 ? 24 : 12;
        const std::size_t traced = level_ns > 1e6 ? 6 : 0;
        EXPECT_EQ(rest.stems.size(), counted - kept + traced + 2) << "cut before run " << cut;
      } else {
        EXPECT_EQ(rest.stems.size(), uncut.stems.size() - cut);
      }
    }
  }
}

TEST_F(drive_test, a_finished_comparison_is_not_taken_up_again) {
  invented_effects first;
  compare(first);
  invented_effects second;
  compare(second);
  EXPECT_EQ(second.stems.size(), first.stems.size());
}

TEST_F(drive_test, another_boot_or_gpu_starts_afresh_and_says_why) {
  for (const bool other_boot : {true, false}) {
    invented_effects cut;
    cut.cut_before = 10;
    EXPECT_THROW(compare(cut), core::interrupted);
    (other_boot ? m_plan.boot_id : m_plan.gpu_uuid) += "x";
    invented_effects rest;
    compare(rest);
    EXPECT_EQ(rest.stems.size(), 14U);
    EXPECT_THAT(rest.lines.front(), HasSubstr("starts afresh"));
    EXPECT_THAT(rest.lines.front(),
                HasSubstr(other_boot ? "before the machine was started anew" : "on another GPU"));
  }
}

TEST_F(drive_test, a_build_that_crashes_once_is_run_again) {
  invented_effects effects;
  int crashes = 0;
  effects.crash_of = [&](arm which, run_kind kind) {
    return which == arm::candidate && kind == run_kind::counted && crashes++ == 2;
  };
  EXPECT_EQ(compare(effects), gate::verdict::unchanged);
  EXPECT_EQ(effects.stems.size(), 15U);
  EXPECT_THAT(effects.lines, Contains(HasSubstr("exited with code 3")));
}

TEST_F(drive_test, a_build_that_crashes_twice_fails_with_arm_reason_and_log_and_may_be_tried_again) {
  invented_effects effects;
  effects.crash_of = [&](arm which, run_kind kind) {
    return which == arm::candidate && kind == run_kind::counted && effects.stems.size() > 8;
  };
  try {
    compare(effects);
    FAIL() << "it must not end well";
  } catch (const core::step_failure& failed) {
    EXPECT_THAT(failed.what(), HasSubstr("the candidate failed twice in a row: exited with code 3"));
    EXPECT_THAT(failed.remedy(), HasSubstr("-candidate.log"));
    EXPECT_EQ(failed.code(), core::exit_code::failed);
  }
  invented_effects mended;
  EXPECT_EQ(compare(mended), gate::verdict::unchanged);
  EXPECT_LT(mended.stems.size(), 14U);
}

TEST_F(drive_test, the_newest_archives_stay_and_nothing_else_is_removed) {
  fs::create_directories(m_parent / "20200101-000000-somebody-elses-folder");
  for (int i = 10; i < 31; ++i) {
    const fs::path old = m_parent / ("20200101-0000" + std::to_string(i) + "-0123456789ab");
    fs::create_directories(old);
    std::ofstream(old / "plan.json") << "{}";
  }
  invented_effects effects;
  compare(effects);
  EXPECT_TRUE(fs::exists(m_parent / "20200101-000000-somebody-elses-folder"));
  EXPECT_FALSE(fs::exists(m_parent / "20200101-000010-0123456789ab"));
  EXPECT_FALSE(fs::exists(m_parent / "20200101-000011-0123456789ab"));
  EXPECT_TRUE(fs::exists(m_parent / "20200101-000012-0123456789ab"));
}

TEST_F(drive_test, unfinished_comparisons_stay_as_long_as_finished_ones) {
  const auto add = [&](const std::string& name, fs::file_time_type worked_on) {
    fs::create_directories(m_parent / name / "runs");
    std::ofstream(m_parent / name / "plan.json") << "{}";
    for (const char* part : {"runs", "plan.json"}) fs::last_write_time(m_parent / name / part, worked_on);
  };
  const fs::file_time_type now = fs::file_time_type::clock::now();
  const fs::file_time_type long_ago = now - std::chrono::hours(24 * 365 * 10);
  for (int i = 10; i < 30; ++i) add("20250101-0000" + std::to_string(i) + "-0123456789ab", now);
  add("aaaaaaaaaaaa", long_ago);
  add("bbbbbbbbbbbb", now);
  add("somebody-elses", long_ago);
  fs::create_directories(m_parent / "cccccccccccc");
  invented_effects effects;
  compare(effects);
  EXPECT_FALSE(fs::exists(m_parent / "aaaaaaaaaaaa")) << "its settings changed long ago";
  EXPECT_TRUE(fs::exists(m_parent / "bbbbbbbbbbbb")) << "somebody may go on with it";
  EXPECT_TRUE(fs::exists(m_parent / "somebody-elses"));
  EXPECT_TRUE(fs::exists(m_parent / "cccccccccccc")) << "no comparison without a plan";
  EXPECT_FALSE(fs::exists(m_parent / "20250101-000011-0123456789ab"));
  EXPECT_TRUE(fs::exists(m_parent / "20250101-000012-0123456789ab"));
}

TEST_F(drive_test, two_at_once_are_refused) {
  const run_folder folder(m_parent, m_plan, {});
  invented_effects effects;
  EXPECT_THROW(compare(effects), core::bad_input);
}

TEST_F(drive_test, a_damaged_or_missing_run_is_refused_and_not_guessed) {
  invented_effects cut;
  cut.cut_before = 10;
  EXPECT_THROW(compare(cut), core::interrupted);
  const fs::path runs = m_parent / m_plan.id / "runs";
  fs::rename(runs / "003-baseline.json", runs / "003-kept");  // seed 7 begins with the candidate
  invented_effects rest;
  EXPECT_THROW(compare(rest), core::bad_input);
  std::ofstream(runs / "003-baseline.json") << "{\"schema_version\": 1, \"slot\"";
  EXPECT_THROW(compare(rest), core::bad_input);
  fs::remove(runs / "003-baseline.json");
  fs::rename(runs / "003-kept", runs / "003-baseline.json");
  EXPECT_EQ(compare(rest), gate::verdict::unchanged);
}

}  // namespace
}  // namespace profgate::ab
