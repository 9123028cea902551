#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "pair_fixture.h"

/// Recorded comparisons through the real program: each folder of tests/data/gate says what must come out.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const fs::path recorded_cases = fs::path(PROFGATE_TEST_DATA) / "gate";

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class recorded_gate : public pair_fixture {
 protected:
  command_result judge(const fs::path& baseline, const fs::path& candidate,
                       const std::vector<std::string>& words = {}) const {
    std::vector<std::string> all = {"gate", "--baseline", baseline.string(), "--candidate",
                                    candidate.string()};
    all.insert(all.end(), words.begin(), words.end());
    return profgate(all);
  }
  command_result judge_case(const std::string& name, const std::vector<std::string>& words = {}) const {
    return judge(recorded_cases / name / "baseline.runs.json", recorded_cases / name / "candidate.runs.json",
                 words);
  }
  /// The case's baseline, changed by a person.
  fs::path edited(const std::string& name, const std::function<std::string(std::string)>& edit) const {
    const fs::path file = m_project / "edited.json";
    std::ofstream(file) << edit(contents_of(recorded_cases / name / "baseline.runs.json"));
    return file;
  }
  fs::path candidate_of(const std::string& name) const {
    return recorded_cases / name / "candidate.runs.json";
  }
};

TEST_F(recorded_gate, says_of_every_case_what_is_expected) {
  std::size_t cases = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(recorded_cases)) {
    if (!entry.is_directory()) continue;
    ++cases;
    SCOPED_TRACE(entry.path().filename().string());
    const command_result result = judge_case(entry.path().filename().string());
    std::ifstream expected(entry.path() / "expected.txt");
    ASSERT_TRUE(expected.good());
    for (std::string line; std::getline(expected, line);) {
      const std::string value = line.substr(5);
      if (line.starts_with("exit ")) {
        EXPECT_EQ(std::to_string(result.exit_code), value) << result.output;
      } else {
        EXPECT_THAT(result.output, HasSubstr(value));
      }
    }
  }
  EXPECT_GE(cases, 8U);
}

/// README.md shows it as what a failing test looks like.
TEST_F(recorded_gate, leaves_the_picture_of_the_readme) {
  const command_result result =
      judge_case("h200-pytorch-eager-attention", {"--out", (m_project / "out").string()});
  EXPECT_EQ(result.exit_code, 1);
  const std::string picture = contents_of(m_project / "out/gate.svg");
  const fs::path shown = fs::path(PROFGATE_TEST_DATA) / "../../docs/gate.svg";
  if (const char* update = std::getenv("PROFGATE_UPDATE_GOLDENS"); update != nullptr && *update == '1')
    std::ofstream(shown) << picture;
  EXPECT_TRUE(picture == contents_of(shown))
      << "docs/gate.svg is not what profgate draws now: run this test with PROFGATE_UPDATE_GOLDENS=1";
  EXPECT_TRUE(fs::exists(m_project / "out/gate.md") && fs::exists(m_project / "out/verdict.json"));
}

TEST_F(recorded_gate, makes_no_folders_on_the_way_to_its_files) {
  EXPECT_EQ(judge_case("h200-pytorch-eager-attention", {"--out", (m_project / "a/b").string()}).exit_code, 2);
  EXPECT_FALSE(fs::exists(m_project / "a"));
}

/// Whoever reads the documentation types its commands: "$ profgate gate …" of recorded runs, and what it
/// prints up to "...".
TEST_F(recorded_gate, prints_what_the_documentation_shows) {
  const fs::path root = fs::path(PROFGATE_TEST_DATA).parent_path().parent_path();
  std::size_t commands = 0;
  for (const char* name : {"docs/gate.md", "docs/baselines.md"}) {
    std::istringstream text(contents_of(root / name));
    for (std::string line; std::getline(text, line);) {
      const std::string begin = "$ profgate gate ";
      if (!line.starts_with(begin)) continue;
      ++commands;
      SCOPED_TRACE(std::string(name) + ": " + line);
      std::vector<std::string> words = {"gate"};
      std::istringstream rest(line.substr(begin.size()));
      for (std::string word; rest >> word;)
        words.push_back(word.starts_with("tests/") ? (root / word).string() : word);
      std::istringstream printed(profgate(words).output);
      while (std::getline(text, line) && line != "..." && line != "```") {
        std::string now;
        std::getline(printed, now);
        EXPECT_EQ(line, now);
      }
    }
  }
  EXPECT_GE(commands, 2U);
}

/// Comparisons by CTest: with a kernel (on the CPU a loop) of 5 % (10 %) of a decode step planted into the
/// candidate, and without.
TEST_F(recorded_gate, judges_every_comparison_of_a_machine_as_it_did_there) {
  std::map<std::string, int> cases;
  for (const char* machine : {"h200-cuda13.0", "neoverse-n1"}) {
    for (const fs::directory_entry& entry :
         fs::directory_iterator(fs::path(PROFGATE_TEST_DATA) / "gate-runs" / machine / "end-to-end")) {
      const std::string name = entry.path().filename().string();
      SCOPED_TRACE(name);
      const bool is_planted = name.find(".planted.") != std::string::npos;
      cases[name.substr(0, name.rfind('.'))] += 1;
      const command_result result = profgate({"gate", entry.path().string()});
      EXPECT_EQ(result.exit_code, is_planted ? 1 : 0) << result.output;
      const auto verdict = nlohmann::json::parse(contents_of(entry.path() / "verdict.json"));
      EXPECT_EQ(verdict.at("exit_code"), result.exit_code);
      if (!is_planted) continue;
      EXPECT_THAT(result.output,
                  ::testing::ContainsRegex(" regressed: decode_all( \\([0-9]+ tokens\\))? is "));
      const auto& causes = verdict.at("stages").at(1).at("attribution").at("causes");
      const auto first = causes.at(0).at("text").get<std::string>();
      EXPECT_THAT(first, HasSubstr("planted"));
      // Run sets of schema 1.0 hold no idle times, and so no causes.
      const bool keeps_traces =
          contents_of(entry.path() / "candidate.runs.json").find("traced_stages") != std::string::npos;
      EXPECT_THAT(result.output,
                  ContainsRegex(keeps_traces ? "  1\\. .*: planted.* is new: " : "no causes: "));
    }
  }
  EXPECT_EQ(cases, (std::map<std::string, int>{{"qwen3-0.6b.decode-b1.unchanged", 19},
                                               {"qwen3-0.6b.decode-b1.planted", 10},
                                               {"llama-3.1-8b.decode-b1.unchanged", 3},
                                               {"llama-3.1-8b.decode-b1.planted", 2},
                                               {"llama-tiny.smoke.unchanged", 5},
                                               {"llama-tiny.smoke.planted", 5}}));
}

TEST_F(recorded_gate, an_inconclusive_comparison_fails_a_release) {
  EXPECT_EQ(judge_case("noisy", {"--inconclusive-fails"}).exit_code, 1);
}

TEST_F(recorded_gate, arms_of_one_comparison_can_be_judged_as_stored_numbers) {
  const command_result result = judge_case("slower-5-percent", {"--stored"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("stored numbers"));
}

TEST_F(recorded_gate, refuses_what_it_would_not_ask) {
  for (const char* word : {"gate.anchor=v1.0", "--planted-ratio=0.2"}) {
    const command_result result = judge_case("same-build", {word});
    EXPECT_EQ(result.exit_code, 2) << word;
    EXPECT_THAT(result.output,
                HasSubstr("is of no use here: what was measured is judged by its own settings"));
  }
  const std::string recorded = (recorded_cases / "h200-pytorch-eager-attention").string();
  EXPECT_EQ(profgate({"gate", recorded, "gate.anchro=v1.0"}).exit_code, 2);
}

TEST_F(recorded_gate, a_corrupt_baseline_is_bad_input) {
  const fs::path cut =
      edited("same-build", [](const std::string& text) { return text.substr(0, text.size() / 2); });
  const command_result result = judge(cut, candidate_of("same-build"));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("edited.json:"), HasSubstr("truncated"), HasSubstr("to fix it")));
  EXPECT_EQ(judge(m_project / "no-such-file.json", candidate_of("same-build")).exit_code, 2);
}

TEST_F(recorded_gate, a_tampered_baseline_is_detected) {
  const fs::path tampered = edited("slower-5-percent", [](std::string text) {
    const std::size_t digit = text.find("\"decode_all\": [") + std::string("\"decode_all\": [").size();
    text[digit] = text[digit] == '9' ? '8' : '9';
    return text;
  });
  const command_result result = judge(tampered, candidate_of("slower-5-percent"));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("edited by hand"), HasSubstr("or remove it, measure the build again")));
}

TEST_F(recorded_gate, a_merge_conflict_is_named_by_its_line) {
  const fs::path conflict = edited("same-build", [](std::string text) {
    return text.insert(text.find("  \"created_utc\""), "<<<<<<< HEAD\n");
  });
  const command_result result = judge(conflict, candidate_of("same-build"));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("edited.json:4: "), HasSubstr("unfinished merge")));
}

TEST_F(recorded_gate, another_schema_is_not_comparable) {
  const fs::path newer =
      edited("same-build", [](std::string text) { return text.replace(text.find("\"1.1\""), 5, "\"2.0\""); });
  const command_result result = judge(newer, candidate_of("same-build"));
  EXPECT_EQ(result.exit_code, 77) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("not comparable"), HasSubstr("schema 2.0")));
}

TEST_F(recorded_gate, waivers_let_a_regression_pass_until_they_expire) {
  const auto waive = [&](const std::string& expires, const std::string& max_ratio) {
    fs::create_directories(m_project / "conf/baselines");
    std::ofstream(m_project / "conf/baselines/waivers.yaml")
        << "- pair: qwen3-0.6b.decode-b1\n  stage: decode_all\n  owner: ada\n  reason: the new sampler\n  "
           "expires: "
        << expires << "\n  max_ratio: " << max_ratio << "\n";
    return judge_case("slower-5-percent");
  };
  const command_result waived = waive("2999-12-31", "0.08");
  EXPECT_EQ(waived.exit_code, 0) << waived.output;
  EXPECT_THAT(waived.output, AllOf(HasSubstr("regressed"), HasSubstr("waived: ada, until 2999-12-31")));
  EXPECT_EQ(waive("2999-12-31", "0.03").exit_code, 1);
  EXPECT_EQ(waive("2020-01-01", "0.08").exit_code, 1);
  const command_result expired = judge_case("same-build");
  EXPECT_EQ(expired.exit_code, 1) << "an expired waiver fails even where nothing got slower";
  EXPECT_THAT(expired.output,
              AllOf(HasSubstr("failed: the waiver of ada for decode_all expired on 2020-01-01"),
                    ::testing::ContainsRegex("its runs: unchanged: decode_all( \\([0-9]+ tokens\\))? is ")));
  const command_result noisy = judge_case("noisy");
  EXPECT_EQ(noisy.exit_code, 1);
  EXPECT_THAT(noisy.output, AllOf(HasSubstr("failed: the waiver of ada"), HasSubstr("inconclusive")));
  const command_result no_date = waive("soon", "0.08");
  EXPECT_EQ(no_date.exit_code, 2);
  EXPECT_THAT(no_date.output, AllOf(HasSubstr("waivers.yaml:5"), HasSubstr("no date")));
}

TEST_F(recorded_gate, a_run_is_judged_from_elsewhere_with_the_waivers_of_its_project) {
  const fs::path project = m_project / "elsewhere";
  const fs::path run = project / "tmp/stage2/ab/qwen3-0.6b.decode-b1/20261115-124615-3809cd582bc3";
  fs::create_directories(run.parent_path());
  fs::copy(recorded_cases / "slower-5-percent", run, fs::copy_options::recursive);
  EXPECT_EQ(profgate({"gate", run.string()}).exit_code, 1);
  fs::create_directories(project / "conf/baselines");
  std::ofstream(project / "conf/baselines/waivers.yaml")
      << "- pair: qwen3-0.6b.decode-b1\n  stage: decode_all\n  owner: ada\n  reason: the new sampler\n"
         "  expires: 2999-12-31\n  max_ratio: 0.08\n";
  const command_result waived = profgate({"gate", run.string()});
  EXPECT_EQ(waived.exit_code, 0) << waived.output;
  EXPECT_THAT(waived.output, HasSubstr("waived: ada, until 2999-12-31"));
}

}  // namespace
}  // namespace profgate::integration
