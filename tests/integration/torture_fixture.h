#pragma once

#include <random>
#include <string>
#include <vector>

#include "pair_fixture.h"

/// Commands that are killed, interrupted, left without room or started all at once: a few rounds here, many
/// with PROFGATE_TORTURE=1 in the environment.
namespace profgate::integration {

class torture : public pair_fixture {
 protected:
  using words = std::vector<std::string>;

  void SetUp() override;
  void TearDown() override;  ///< prints what became of the rounds; one that is lost fails the test

  static bool is_large();
  /// `in_small`: more of a command that takes no time.
  static int rounds(int in_small = 2) { return is_large() ? 50 : in_small; }

  struct ending {
    int exit_code = -1;    ///< -1: a signal ended it
    bool was_hit = false;  ///< it still ran when the signal was sent
    std::string output;    ///< both streams
  };
  /// A command in the background, in the project's folder.
  struct started {
    pid_t pid = -1;
    std::filesystem::path output_file;
  };
  started start(const words& argv);
  /// Waits for it. One that does not end within two minutes is killed, and the test fails.
  ending end_of(const started& command);
  /// Sends `signals` to the command, and to none of its children, at a random moment of its first
  /// `longest_ms`.
  ending end_at_random(const words& argv, const std::vector<int>& signals, int longest_ms);
  /// SIGINT, SIGTERM or SIGHUP, and perhaps more of them: people press Ctrl-C twice.
  std::vector<int> random_interrupts();
  int random_up_to(int largest) { return std::uniform_int_distribution<int>(0, largest)(m_random); }

  /// How long the command takes when nothing happens to it; it must end with one of these codes.
  int duration_ms(const words& argv, const std::vector<int>& good_codes = {0});
  words profgate_words(const words& further) const;

  /// Whoever a command has left behind ends within twenty seconds, too; else they are named here and killed.
  std::string left_behind();

  /// Probes of this project that run now.
  std::string running_probes() const;

  /// Complaints are empty where all is as it should be.
  static std::string unless(bool is_good, const std::string& complaint);
  static std::string unless_ended(const ending& result, const std::vector<int>& good_codes);
  /// One round is over. With a complaint it is lost.
  void count_round(bool was_hit, const std::string& complaint);

  /// Empty: each JSON file below `folder` is whole. What a killed writer leaves has a dot before its name.
  static std::string damaged_json(const std::filesystem::path& folder);
  /// Empty: SQLite finds no fault in it.
  static std::string damaged_history(const std::filesystem::path& file);
  static std::string read_text(const std::filesystem::path& file);
  /// Every file below `folder` by its contents.
  static std::map<std::string, std::string> contents_of(const std::filesystem::path& folder);

  /// A build folder with one pair of the probe, its rounds and steps few; returns its manifest.
  std::filesystem::path quick_build(const std::string& folder);
  /// `ab` of a quick build with itself: margins so wide that noise decides nothing.
  words ab_words(const std::filesystem::path& manifest, const std::string& baseline) const;
  /// The seven tests of the pair of `manifest`, as profgate_add_workload() registers them.
  void write_ctest_file(const std::filesystem::path& build_dir, const std::filesystem::path& manifest) const;
  /// The recorded run set of a pair called qwen3-0.6b.decode-b1.
  static std::filesystem::path recorded(const std::string& arm);

 private:
  std::mt19937 m_random{std::random_device{}()};
  int m_started = 0;
  int m_tried = 0;
  int m_hit = 0;
  int m_recovered = 0;
  int m_lost = 0;
};

}  // namespace profgate::integration
