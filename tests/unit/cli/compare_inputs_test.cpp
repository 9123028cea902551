#include "compare_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "artifacts/run_list.h"
#include "commands.h"
#include "core/error.h"

namespace profgate::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const first_commit = "1111111111111111111111111111111111111111";
const char* const second_commit = "2222222222222222222222222222222222222222";

std::string recorded_profile(const std::string& name) {
  std::ifstream stream(PROFGATE_TEST_DATA "/profiles/h200/" + name + ".json");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class compare_inputs : public ::testing::Test {
 protected:
  void SetUp() override {
    m_place.runs_dir = fs::temp_directory_path() / ("profgate-compare-" + std::to_string(getpid()));
    fs::create_directories(m_place.runs_dir);
    add_run("20250101-000000-qwen3-0.6b.decode-b1", "qwen3-0.6b.decode-b1", "qwen3-0.6b.decode-b1.nsys",
            first_commit);
    add_run("20250102-000000-qwen3-0.6b.decode-b1", "qwen3-0.6b.decode-b1", "qwen3-0.6b.decode-b1.embedded",
            second_commit);
    add_run("20250103-000000-llama-3.1-8b.decode-b1", "llama-3.1-8b.decode-b1", "llama-3.1-8b.decode-b1",
            second_commit);
  }
  void TearDown() override { fs::remove_all(m_place.runs_dir); }

  void add_run(const std::string& id, const std::string& pair, const std::string& profile,
               const std::string& commit) {
    const fs::path folder = m_place.runs_dir / id;
    fs::create_directories(folder);
    artifacts::write_run_marker(folder, pair, "2025-01-01T00:00:00Z");
    std::ofstream(folder / "profile.json") << recorded_profile(profile);
    std::ofstream(folder / "env.json") << "{\"git\": {\"commit\": \"" << commit << "\"}}";
  }

  std::string complaint(const std::string& name) {
    try {
      find_side(name, m_place);
      return "";
    } catch (const core::bad_input& error) {
      return std::string(error.what()) + " " + error.remedy();
    }
  }

  compare_place m_place;
};

TEST_F(compare_inputs, are_a_directory_a_file_a_run_id_or_a_pair) {
  const std::string id = "20250101-000000-qwen3-0.6b.decode-b1";
  EXPECT_EQ(find_side((m_place.runs_dir / id).string(), m_place).name, id);
  EXPECT_EQ(find_side((m_place.runs_dir / id / "profile.json").string(), m_place).model, "qwen3-0.6b");
  EXPECT_EQ(find_side(id, m_place).facts.at("run.mode"), "deep");
  // a pair is its newest run
  EXPECT_EQ(find_side("qwen3-0.6b.decode-b1", m_place).facts.at("run.mode"), "light");
}

TEST_F(compare_inputs, are_the_newest_run_of_a_commit) {
  EXPECT_THAT(find_side("1111111", m_place).name,
              HasSubstr("1111111 (20250101-000000-qwen3-0.6b.decode-b1)"));
  EXPECT_THAT(
      complaint("2222222"),
      AllOf(HasSubstr("several pairs: llama-3.1-8b.decode-b1, qwen3-0.6b.decode-b1"), HasSubstr("--pair")));
  EXPECT_EQ(common_pair("1111111", "2222222", m_place.runs_dir), "qwen3-0.6b.decode-b1");
  EXPECT_EQ(common_pair("2222222", "2222222", m_place.runs_dir), std::nullopt);
  m_place.pair = "llama-3.1-8b.decode-b1";
  EXPECT_EQ(find_side("2222222", m_place).model, "llama-3.1-8b");
  EXPECT_THAT(complaint("1111111"), HasSubstr("and pair llama-3.1-8b.decode-b1"));
}

TEST_F(compare_inputs, of_models_are_linked_from_where_the_table_will_lie) {
  const fs::path place = "no-such-folder/beside";
  ASSERT_FALSE(fs::exists(place.parent_path()));
  for (const fs::path& from : {place, fs::absolute(place)}) {
    const nlohmann::json rows = nlohmann::json::parse(models_table(m_place.runs_dir, {}, from))["rows"];
    ASSERT_EQ(rows.size(), 2u);
    for (const nlohmann::json& row : rows) {
      const fs::path folder = row["folder"].get<std::string>();
      EXPECT_TRUE(folder.is_relative()) << folder;
      EXPECT_TRUE(fs::exists((fs::current_path() / place / folder).lexically_normal() / "profile.json"))
          << folder;
    }
  }
}

TEST_F(compare_inputs, that_mean_nothing_are_refused_with_words) {
  EXPECT_THAT(complaint("no-such-thing"),
              AllOf(HasSubstr("'no-such-thing' is nothing"), HasSubstr("--runs-dir")));
  EXPECT_THAT(complaint("abcdef0"), HasSubstr("no run in"));
  EXPECT_THAT(complaint("--all"), HasSubstr("is nothing"));
  const fs::path empty = m_place.runs_dir / "empty";
  fs::create_directories(empty);
  EXPECT_THAT(complaint(empty.string()), HasSubstr("has no profile.json"));
  std::ofstream(empty / "x.json") << "[1, 2]";
  EXPECT_THAT(complaint((empty / "x.json").string()), HasSubstr("is not a JSON object"));
  std::ofstream(empty / "y.json") << "{}";
  EXPECT_THAT(complaint((empty / "y.json").string()), HasSubstr("schema_version"));
}

}  // namespace
}  // namespace profgate::cli
