#include <csignal>

#include "core/file_lock.h"
#include "torture_fixture.h"

/// Interrupted at any moment: it says so by its exit code, soon, with nobody left behind and nothing
/// recorded.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;

class torture_interrupt : public torture {
 protected:
  /// Rounds of `argv`, each ended at a random moment. `complaint` looks at what is there then, `is_done` says
  /// whether it came to its end; then the same command succeeds.
  void interrupt(const words& argv, const std::vector<int>& good_codes,
                 const std::function<std::string(bool is_done)>& complaint = {}) {
    const int longest_ms = duration_ms(argv, good_codes);
    std::vector<int> codes = good_codes;
    codes.insert(codes.end(), {130, -1});  // -1: its main had not begun
    for (int round = 0; round < rounds(); ++round) {
      const ending ended = end_at_random(argv, random_interrupts(), longest_ms);
      std::string all = unless_ended(ended, codes) + left_behind();
      if (complaint) all += complaint(ended.exit_code != 130 && ended.exit_code != -1);
      all += unless_ended(end_of(start(argv)), good_codes);
      count_round(ended.was_hit, all);
    }
  }
};

TEST_F(torture_interrupt, a_run) {
  interrupt(profgate_words({"run", "--manifest", register_probe({}).string()}), {0},
            [&](bool) { return damaged_json(stage2_dir()); });
}

TEST_F(torture_interrupt, an_accept_accepts_nothing) {
  for (int round = 0; round < rounds(10); ++round) {
    fs::remove_all(m_project / "conf/baselines");
    const std::string history = "history-" + std::to_string(round) + ".db";
    const ending ended = end_at_random(profgate_words({"baseline", "accept", recorded("candidate").string(),
                                                       "--reason", "torture", "--history-file", history}),
                                       random_interrupts(), 60);
    std::string complaint = unless_ended(ended, {130, 0, -1}) + left_behind();
    const bool is_accepted = profgate({"baseline", "list"}).output.find("torture") != std::string::npos;
    complaint += unless(is_accepted == (ended.exit_code == 0), "accepted, or not, unlike its exit code");
    const command_result shown = profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history});
    const bool is_recorded = shown.output.find("| accepted |") != std::string::npos;
    complaint += unless(is_recorded == is_accepted, "recorded, or not, unlike the baseline");
    count_round(ended.was_hit, complaint + damaged_history(m_project / history));
  }
}

TEST_F(torture_interrupt, a_comparison_of_builds) {
  quick_build("old");
  interrupt(ab_words(quick_build("new"), "old"), {0, 77}, [&](bool) { return damaged_json(stage2_dir()); });
}

TEST_F(torture_interrupt, an_analysis_leaves_whole_files) {
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const fs::path made = latest_run();
  ASSERT_EQ(profgate({"analyze", made.string()}).exit_code, 0);
  const std::map<std::string, std::string> before = contents_of(made);
  interrupt(profgate_words({"analyze", made.string()}), {0}, [&](bool) {
    const auto is_temporary = [](const auto& file) { return fs::path(file.first).extension() == ".tmp"; };
    std::map<std::string, std::string> now = contents_of(made);
    std::erase_if(now, is_temporary);
    return unless(now == before, "a file of the run is not as it was made first") + damaged_json(made);
  });
}

TEST_F(torture_interrupt, a_comparison_of_runs_leaves_whole_files) {
  const fs::path manifest = register_probe({});
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  interrupt(profgate_words({"compare", runs().front().string(), runs().back().string(), "--out", "compared"}),
            {0}, [&](bool) { return damaged_json(m_project / "compared"); });
}

TEST_F(torture_interrupt, a_session_takes_its_ctest_along) {
  const fs::path manifest = quick_build("build");
  write_ctest_file(m_project / "build", manifest);
  interrupt(profgate_words({"session", "--build-dir", "build"}), {0, 77},
            [&](bool) { return running_probes() + damaged_json(stage2_dir()); });
}

TEST_F(torture_interrupt, a_history_has_all_or_nothing) {
  const fs::path history = m_project / "history.db";
  const words append = profgate_words(
      {"history", "append", recorded("candidate").string(), "--history-file", history.string()});
  const int longest_ms = duration_ms(append);
  for (int round = 0; round < rounds(10); ++round) {
    fs::remove(history);
    const ending ended = end_at_random(append, random_interrupts(), longest_ms);
    std::string complaint = unless_ended(ended, {130, 0, -1}) + left_behind() + damaged_history(history);
    const command_result shown =
        profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history.string()});
    const bool is_recorded = shown.output.find("9.11 ms") != std::string::npos;
    complaint += unless(is_recorded == (ended.exit_code == 0), "recorded, or not, unlike its exit code " +
                                                                   std::to_string(ended.exit_code) + ": " +
                                                                   ended.output + shown.output);
    count_round(ended.was_hit, complaint + unless_ended(end_of(start(append)), {0}));
  }
}

/// Each command that measures waits here for a turn that never comes.
TEST_F(torture_interrupt, whoever_waits_for_others_to_measure) {
  quick_build("old");
  const fs::path manifest = quick_build("build");
  write_ctest_file(m_project / "build", manifest);
  const std::vector<words> commands = {
      profgate_words({"run", "--manifest", manifest.string()}), ab_words(manifest, "old"),
      profgate_words({"session", "--build-dir", "build"}),
      profgate_words({"baseline", "record", "--manifest", manifest.string(), "--out", "new.runs.json"})};
  const core::file_lock turn = core::file_lock::among_users(m_project / "profgate-measuring.lock", {});
  for (int round = 0; round < rounds(); ++round) {
    for (const words& command : commands) {
      const ending ended = end_at_random(command, random_interrupts(), 300);
      std::string complaint = unless_ended(ended, {130, -1}) + left_behind() + running_probes();
      complaint += unless(!fs::exists(m_project / "new.runs.json"), "recorded without its turn");
      count_round(ended.was_hit, complaint);
    }
  }
}

}  // namespace
}  // namespace profgate::integration
