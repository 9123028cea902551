#include "artifacts/provenance.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// The first null without a reason beside it, or reason without its null, as a JSON pointer; "" for none.
std::string unexplained(const json& value, const std::string& where = "") {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string found = unexplained(value[i], where + "/" + std::to_string(i));
      if (!found.empty()) return found;
    }
  }
  if (!value.is_object()) return "";
  const json reasons = value.value("not_measured", json::object());
  for (const auto& [key, member] : value.items()) {
    if (member.is_null() && reasons.value(key, "").empty()) return where + "/" + key;
    const std::string found = unexplained(member, where + "/" + key);
    if (!found.empty()) return found;
  }
  for (const auto& [key, reason] : reasons.items()) {
    if (!value.contains(key) || !value[key].is_null()) return where + "/not_measured/" + key;
  }
  return "";
}

provenance complete_facts() {
  provenance facts;
  facts.run_id = "20251115-015206-a.b";
  facts.created_utc = "2025-11-15T01:52:06Z";
  facts.host = gather_host_facts();
  facts.gpu_at_start = gather_gpu_facts(PROFGATE_FAKE_NVML);
  facts.build = {"0.1.0", std::string("g++ 12.2"), std::string("Release"), std::string("-O3")};
  facts.tool_versions = {{"nsys", std::string("2022.4.2")},
                         {"ncu", core::measured<std::string>::absent("not on PATH")}};
  facts.config_sha256 = "abc";
  facts.inputs = {{"/m/config.json", 2, "def", hash_scope::whole_file}};
  facts.argv = {{"bench", "--token", "hunter2"}};
  facts.environment = {{"PATH", "/bin"}};
  return facts;
}

TEST(env_json, explains_every_null_whatever_is_missing) {
  EXPECT_EQ(unexplained(json::parse(env_json(provenance{}))), "");
  EXPECT_EQ(unexplained(json::parse(env_json(complete_facts()))), "");
  provenance without_gpu = complete_facts();
  without_gpu.gpu_at_start = gather_gpu_facts("libprofgate-no-such-library.so.1");
  const json document = json::parse(env_json(without_gpu));
  EXPECT_EQ(unexplained(document), "");
  EXPECT_TRUE(document["gpu_at_start"]["devices"].is_null());
}

TEST(env_json, holds_the_facts) {
  const json document = json::parse(env_json(complete_facts()));
  EXPECT_EQ(document["schema_version"], "1.0");
  EXPECT_EQ(document["gpu_at_start"]["devices"][0]["multiprocessor_count"], 132);
  EXPECT_EQ(document["gpu_at_start"]["devices"][1]["not_measured"]["temperature_c"], "NVML: Not Supported");
  EXPECT_EQ(document["tool_versions"]["nsys"], "2022.4.2");
  EXPECT_EQ(document["tool_versions"]["not_measured"]["ncu"], "not on PATH");
  EXPECT_EQ(document["inputs"][0]["sha256_over"], "whole file");
  EXPECT_EQ(document["argv"], json::parse(R"([["bench", "--token", "[redacted]"]])"));
  EXPECT_EQ(document["environment"]["PATH"], "/bin");
}

TEST(env_json, says_why_it_does_not_know_how_a_foreign_program_was_built) {
  provenance facts = complete_facts();
  const auto nothing =
      core::measured<std::string>::absent("the program was not built by a project that registers it");
  facts.build = {"0.1.0", nothing, nothing, nothing};
  const json build = json::parse(env_json(facts))["build"];
  for (const char* key : {"compiler", "build_type", "flags"}) {
    EXPECT_TRUE(build[key].is_null()) << key;
    EXPECT_EQ(build["not_measured"][key], "the program was not built by a project that registers it");
  }
  EXPECT_EQ(build["profgate_version"], "0.1.0");
}

TEST(env_json, takes_any_bytes) {
  provenance facts = complete_facts();
  facts.environment["PATH"] = "/b\xFFn";
  EXPECT_EQ(json::parse(env_json(facts))["environment"]["PATH"], "/b\xEF\xBF\xBDn");
}

TEST(with_late_facts, adds_what_is_known_only_then) {
  const std::string before = env_json(complete_facts());
  EXPECT_THAT(json::parse(before)["not_measured"]["gpu_at_end"], "the run has not come to its end");
  const json after = json::parse(with_late_facts(
      before, {gather_gpu_facts(PROFGATE_FAKE_NVML), {{"ncu", "--key=xyz"}}, {{"cublaslt", "13.1.0"}}}));
  EXPECT_EQ(after["gpu_at_end"]["devices"][0]["temperature_c"], 31);
  EXPECT_EQ(after["gpu_at_start"], json::parse(before)["gpu_at_start"]);
  EXPECT_EQ(after["argv"][1][1], "--key=[redacted]");
  EXPECT_EQ(after["library_versions"]["cublaslt"], "13.1.0");
  EXPECT_EQ(unexplained(after), "");
}

TEST(with_late_facts, refuses_another_document) {
  for (const char* text : {"", "[]", "{}", R"({"gpu_at_start": {}})"}) {
    EXPECT_THAT(error_of([&] { with_late_facts(text, {}); }), HasSubstr("2: env.json")) << text;
  }
}

TEST(git_facts, reads_commit_branch_and_changes) {
  std::vector<std::vector<std::string>> asked;
  const auto answer = [&](const std::filesystem::path& dir,
                          const std::vector<std::string>& words) -> std::optional<std::string> {
    asked.push_back({dir.string()});
    asked.back().insert(asked.back().end(), words.begin(), words.end());
    if (words[0] == "status") return " M a.cpp\nA  b.cpp\n";
    return words[1] == "--verify" ? "0123abcd\n" : "main\n";
  };
  const git_facts facts = gather_git_facts("/project", "conf/baselines", answer);
  EXPECT_EQ(facts.commit.value(), "0123abcd");
  EXPECT_EQ(facts.branch.value(), "main");
  EXPECT_EQ(facts.dirty.value(), true);
  EXPECT_EQ(facts.changed_files_count.value(), 2);
  EXPECT_EQ(asked.at(0), (std::vector<std::string>{"/project", "rev-parse", "--verify", "HEAD"}));
  EXPECT_EQ(asked.back(),
            (std::vector<std::string>{"/project", "status", "--porcelain", "--untracked-files=no", "--", ":/",
                                      ":(exclude,literal)conf/baselines"}))
      << "builds, logs and baselines are no code";
  gather_git_facts("/project", "/elsewhere", answer);
  EXPECT_EQ(asked.back().back(), "--untracked-files=no") << "git knows no path outside of it";
}

TEST(git_facts, tells_clean_from_unknown) {
  const git_facts clean =
      gather_git_facts("/project", "", [](const auto&, const auto& words) -> std::optional<std::string> {
        return words[0] == "status" ? "" : "HEAD\n";
      });
  EXPECT_EQ(clean.dirty.value(), false);
  EXPECT_THAT(clean.branch.reason(), HasSubstr("not a branch"));
  const git_facts unknown =
      gather_git_facts("/project", "", [](const auto&, const auto&) { return std::nullopt; });
  EXPECT_FALSE(unknown.dirty);
  EXPECT_THAT(unknown.commit.reason(), HasSubstr("/project"));
}

}  // namespace
}  // namespace profgate::artifacts
