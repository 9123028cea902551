#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../collector/temp_folder.h"
#include "analysis/profile.h"
#include "artifacts/owner.h"
#include "artifacts/run_store.h"
#include "recordings.h"
#include "runs/run_reader.h"
#include "steps/step.h"

/// The counters step on a run that has its timeline, with a script for ncu that leaves what the real one was
/// recorded to: there is no GPU to try it on, so this shows the plumbing and no more.
namespace profgate::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class counters_step : public ::testing::Test {
 protected:
  counters_step() {
    m_run_dir = artifacts::run_store(m_folder / "runs").claim("qwen.small", artifacts::owner_of(getpid()));
    fs::copy_file(recordings / "ncu" / "eager.sqlite", m_run_dir / "nsys" / "run.sqlite");
    fs::copy_file(recordings / "ncu" / "eager.result.json", m_run_dir / "stage1" / "result.json");
    std::ofstream(m_run_dir / "env.json") << "{}";
    m_manifest.pair = "qwen.small";
    m_manifest.device = "cuda";
    m_manifest.command = {"/bin/true", "--config", "{config}", "--mode", "{mode}", "--result", "{result}"};
    m_manifest.command_has_placeholders = true;
    m_manifest.working_directory = m_folder.path();
  }
  ~counters_step() override { unsetenv("PROFGATE_NCU"); }

  /// An ncu whose profiled run does `profile` ($report: the file it is to leave).
  void install_ncu(const std::string& profile) {
    const fs::path ncu = m_folder / "ncu";
    std::ofstream(ncu) << "#!/bin/sh\n"
                       << "for word; do [ \"$last\" = --export ] && report=$word.ncu-rep; last=$word; done\n"
                       << "case \"$*\" in\n"
                       << "--version) echo 'Version 2025.3.1.0 (build 36398880)' ;;\n"
                       << "--list-sections) cat '" << (recordings / "ncu/ncu_list_sections.txt").string()
                       << "' ;;\n"
                       << "*--import*) cat '" << (recordings / "ncu/ncu_light_raw.csv").string() << "' ;;\n"
                       << "*) " << profile << " ;;\nesac\n";
    fs::permissions(ncu, fs::perms::owner_all);
    setenv("PROFGATE_NCU", ncu.c_str(), 1);
  }

  /// `yaml` goes on within `workload`.
  artifacts::step_status run(const std::string& yaml = "", const std::string& device = "cuda") {
    const config::resolved config = config::parse_resolved(
        "nsys:\n  gating_nvtx: false\nworkload:\n  device: " + device + "\n" + yaml, "config.yaml");
    std::ofstream(m_run_dir / "config.yaml") << config.to_yaml();
    artifacts::step_status status;
    const fs::path stage2_dir = m_folder / "runs";
    const installation parts;
    progress display("counters");
    step_context context{m_manifest, config, parts, stage2_dir, m_run_dir, status, display};
    run_counters(context);
    return status;
  }
  template <typename error>
  std::string words() {
    try {
      run();
    } catch (const error& problem) {
      return problem.what();
    }
    return "";
  }

  test::temp_folder m_folder;
  fs::path m_run_dir;
  pair_manifest m_manifest;
};

TEST_F(counters_step, counts_what_the_timeline_chose_and_says_how_much_that_is) {
  install_ncu("echo report > \"$report\"");
  const artifacts::step_status status = run();
  EXPECT_EQ(status.tool, "ncu");
  EXPECT_EQ(status.tool_version, "2025.3.1.0");
  EXPECT_THAT(status.notes, Contains(HasSubstr("they make up 100 % of its GPU time")));
  for (const char* file : {"ncu/run.ncu-rep", "ncu/run-prefill.ncu-rep", "ncu/raw.csv", "ncu/counters.csv",
                           "ncu/sections.txt"}) {
    EXPECT_TRUE(fs::exists(m_run_dir / file)) << file;
  }
  EXPECT_THAT(content_of(m_run_dir / "ncu/config.yaml"), HasSubstr("cuda_graphs: false"));
  EXPECT_THAT(content_of(m_run_dir / "config.yaml"), HasSubstr("cuda_graphs: true")) << "only for ncu";
  const auto selection = nlohmann::json::parse(content_of(m_run_dir / "ncu/selection.json"));
  EXPECT_GE(selection["stages"][0]["share_ratio"].get<double>(), 0.9);
  bool was_profiled = false;
  for (const auto& [argv, seconds, exit_code, signal] : status.commands) {
    EXPECT_GE(seconds.value_or(-1), 0) << argv.front();
    EXPECT_TRUE(exit_code || signal) << argv.front();
    if (std::find(argv.begin(), argv.end(), "--export") == argv.end()) continue;
    was_profiled = true;
    EXPECT_THAT(argv, Contains((m_run_dir / "ncu/config.yaml").string()));
    EXPECT_THAT(argv, Contains(HasSubstr("regex:^(_ZN8profgate3llm4cuda")));
  }
  EXPECT_TRUE(was_profiled);
}

TEST_F(counters_step, of_a_pair_for_the_cpu_that_used_a_gpu_says_how_to_have_it_counted) {
  try {
    run("", "cpu");
    FAIL() << "it was counted";
  } catch (const core::not_possible& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("yet the timeline holds kernels of a GPU"));
    EXPECT_THAT(refused.remedy(), HasSubstr("CONFIGS gpu"));
  }
}

TEST_F(counters_step, shortens_the_prompt_under_ncu_where_memory_is_short) {
  install_ncu("echo report > \"$report\"");
  const std::string yaml = "  prompt_tokens: 64\n  decode_tokens: 3\nncu:\n  reduced_prompt_tokens: 16\n";
  const auto prompt_in = [&](const char* file) {
    return config::parse_resolved(content_of(m_run_dir / file), file).integer("workload.prompt_tokens");
  };
  EXPECT_THAT(run(yaml).notes, Not(Contains(HasSubstr("instead of 64"))));
  EXPECT_EQ(prompt_in("ncu/config.yaml"), 64) << "nobody knows how much memory there is";

  // The recorded workload takes 476.4 MB, 45.03 % of this; with a shorter prompt 475.8 MB.
  std::ofstream(m_run_dir / "env.json")
      << R"({"gpu_at_start": {"devices": [{"memory_total_bytes": 1058000000}]}})";
  EXPECT_THAT(run(yaml).notes,
              Contains(HasSubstr("a prompt of 16 tokens instead of 64, about 45 %: kernels")));
  EXPECT_EQ(prompt_in("ncu/config.yaml"), 16);
  EXPECT_EQ(prompt_in("config.yaml"), 64) << "only for ncu";
}

TEST_F(counters_step, reaches_profile_json) {
  install_ncu("echo report > \"$report\"");
  run();
  const std::string profile = analysis::profile_json(runs::run_reader(m_run_dir).facts());
  analysis::validate_profile(profile, "profile.json");
  const nlohmann::json decode = nlohmann::json::parse(profile)["stages"][1]["counters"];
  EXPECT_EQ(decode["unmatched_launches_count"], 0);
  EXPECT_EQ(decode["kernels"][0]["op"], "lm_head");
}

TEST_F(counters_step, denied_counters_are_a_skip_that_leaves_the_selection) {
  install_ncu("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'");
  EXPECT_THAT(words<core::not_possible>(), HasSubstr("ERR_NVGPUCTRPERM"));
  EXPECT_TRUE(fs::exists(m_run_dir / "ncu/selection.json"));
}

TEST_F(counters_step, a_crash_of_ncu_is_a_failure) {
  install_ncu("kill -9 $$");
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("SIGKILL"));
}

TEST_F(counters_step, a_missing_ncu_is_a_skip_and_a_broken_one_a_failure) {
  setenv("PROFGATE_NCU", "none", 1);
  EXPECT_THAT(words<core::not_possible>(), Not(::testing::IsEmpty()));
  std::ofstream(m_folder / "broken") << "#!/bin/sh\nexit 1\n";
  fs::permissions(m_folder / "broken", fs::perms::owner_all);
  setenv("PROFGATE_NCU", (m_folder / "broken").c_str(), 1);
  EXPECT_THAT(words<core::step_failure>(), HasSubstr("--version does not work"));
}

TEST_F(counters_step, without_a_timeline_still_counts) {
  install_ncu("echo report > \"$report\"");
  fs::remove(m_run_dir / "nsys" / "run.sqlite");
  const artifacts::step_status status = run();
  EXPECT_THAT(status.notes, Contains(HasSubstr("its kernels were not chosen by their time")));
}

}  // namespace
}  // namespace profgate::cli
