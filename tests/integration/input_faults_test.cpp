#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "artifacts/inputs.h"
#include "pair_fixture.h"

/// Bad configuration and bad model files: exit code 2, file and line, the fix, nothing half-written. Broken
/// tools: doctor names them.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class input_faults : public pair_fixture {
 protected:
  /// A copy of the small Llama checkpoint that a test may spoil.
  fs::path copy_of_checkpoint() const {
    const fs::path copy = m_project / "checkpoint";
    fs::copy(fs::path(PROFGATE_TEST_DATA) / "reference/checkpoints/llama", copy);
    fs::permissions(copy / "model.safetensors", fs::perms::owner_all);
    return copy;
  }
  command_result run_checkpoint(const fs::path& checkpoint, const std::vector<std::string>& overrides = {}) {
    return run_pair(register_llm("llm/llama-tiny", "smoke",
                                 {"model.weights=checkpoint", "model.checkpoint=" + checkpoint.string(),
                                  "model.reference=null", "model.reference_file=null"}),
                    overrides);
  }
};

TEST_F(input_faults, an_unknown_key_is_named_with_file_line_and_the_nearest_key) {
  const fs::path manifest = register_probe({});
  std::ofstream(m_project / "conf/workload/probe.yaml") << "name: probe\ndevice: cpu\nprompt_tokns: 3\n";
  const command_result result = run_pair(manifest);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("probe.yaml:3"), HasSubstr("prompt_tokns"), HasSubstr("prompt_tokens")));
  EXPECT_TRUE(runs().empty()) << "a run directory was made for a configuration that cannot run";
}

TEST_F(input_faults, a_pair_whose_name_leads_out_of_its_folder_is_refused) {
  const fs::path manifest = register_probe({});
  nlohmann::json changed = nlohmann::json::parse(std::ifstream(manifest));
  changed["pair"] = "../../outside.b1";
  std::ofstream(manifest) << changed;
  const command_result result = profgate({"step", "prepare", "--manifest", manifest.string()});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("../../outside.b1"));
  EXPECT_FALSE(fs::exists(m_project / "tmp" / "stage2"));
}

TEST_F(input_faults, a_bad_override_names_its_source) {
  const command_result result = run_pair(register_probe({}), {"run.mode=deeep"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, AllOf(HasSubstr("command line"), HasSubstr("deep")));
}

TEST_F(input_faults, slips_on_the_command_line_are_told_in_two_lines_with_what_was_meant) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> slips = {
      {{"runn"}, "did you mean 'run'?"},
      {{"baseline", "lst"}, "did you mean 'list'?"},
      {{"run", "--adaptor", "pytorch", "--", "/bin/true"}, "did you mean '--adapter'?"},
      {{"run", "workload.stages=[step]", "./bench"}, "is a setting, and no pair stands before it"},
      {{"run", "./bench"}, "profgate run [settings] -- ./bench"},
      {{"run", "workload.stages=step", "--", "/bin/true"}, "such as [a, {name: b, …}]"},
      {{"run", "--", "/etc/passwd"}, "chmod +x /etc/passwd"},
      {{"run", "artifacts.stage2_dir=/proc/none", "--", "/bin/true"},
       "choose a place where folders can be made"},
      {{"ab", "artifacts.stage2_dir=/proc/none", "--", "/bin/true", "--", "/bin/true"},
       "choose a place where folders can be made"},
      {{"ab", "workload.stages=[setp]", "--", PROFGATE_RANGE_PROBE, "ranges", "2", "step", "--",
        PROFGATE_RANGE_PROBE, "ranges", "2", "step"},
       "did you mean 'step'?"},
  };
  for (const auto& [words, meant] : slips) {
    const command_result result = profgate(words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(meant)) << words.front();
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 2) << result.output;
  }
}

TEST_F(input_faults, a_setting_behind_the_program_is_noted) {
  const command_result result = profgate({"run", "timeline=none", "--", "/bin/true", "workload.batch=2"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("note: 'workload.batch=2' stands behind the --"));
}

TEST_F(input_faults, a_sound_checkpoint_runs) {
  const command_result result = run_checkpoint(copy_of_checkpoint());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("inputs.yaml"), AllOf(HasSubstr("model.safetensors"), HasSubstr("header and size")));
}

TEST_F(input_faults, a_checkpoint_is_hashed_as_a_whole_on_request) {
  const fs::path checkpoint = copy_of_checkpoint();
  const command_result result = run_checkpoint(checkpoint, {"artifacts.hash_whole_inputs=true"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("inputs.yaml"), ::testing::Not(HasSubstr("header and size")));
  const std::string weights_sha256 = artifacts::describe_input(checkpoint / "model.safetensors", true).sha256;
  EXPECT_THAT(text_of("inputs.yaml"), HasSubstr(weights_sha256));
  EXPECT_THAT(text_of("env.json"), HasSubstr(weights_sha256));
}

TEST_F(input_faults, a_missing_model_file_is_named) {
  const fs::path checkpoint = copy_of_checkpoint();
  fs::remove(checkpoint / "model.safetensors");
  const command_result result = run_checkpoint(checkpoint);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("model.safetensors"));
}

TEST_F(input_faults, a_missing_checkpoint_folder_is_named) {
  const command_result result = run_checkpoint(m_project / "no-such-folder");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("no-such-folder"));
}

TEST_F(input_faults, a_truncated_model_file_is_named) {
  const fs::path checkpoint = copy_of_checkpoint();
  fs::resize_file(checkpoint / "model.safetensors", 100000);
  const command_result result = run_checkpoint(checkpoint);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("model.safetensors"));
}

TEST_F(input_faults, an_absurd_header_length_is_refused) {
  const fs::path checkpoint = copy_of_checkpoint();
  std::fstream file(checkpoint / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.write("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  file.close();
  const command_result result = run_checkpoint(checkpoint);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("header"));
}

TEST_F(input_faults, what_is_no_file_among_the_inputs_is_named_for_what_it_is) {
  const fs::path pair = register_llm("llm/llama-tiny", "smoke");
  fs::create_directory(m_project / "folder");
  fs::create_symlink("nowhere", m_project / "dangling");
  fs::create_symlink("loop", m_project / "loop");
  ASSERT_EQ(::mkfifo((m_project / "fifo").c_str(), 0600), 0);
  const auto expect_refused = [&](const std::vector<std::string>& settings, const std::string& words) {
    const command_result result = run_pair(pair, settings);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(words));
  };
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"folder", "is a directory"},
      {"dangling", "is a link that leads nowhere"},
      {"loop", "is a link that leads back to itself"},
      {"fifo", "is a FIFO"},
      {"none", "is not there"}};
  const auto in_manifest = [&](const std::string& key_and_value) {
    std::ofstream(m_project / "pages.yaml") << "- {prompt_tokens: 2}\n- {" << key_and_value << "}\n";
    return "inputs.manifest=" + (m_project / "pages.yaml").string();
  };
  for (const auto& [name, words] : kinds) {
    const std::string which = (m_project / name).string() + ", which " + words;
    expect_refused({"inputs.manifest=" + name}, "'inputs.manifest' names " + which);
    expect_refused({in_manifest("image: " + name)}, "pages.yaml:2: 'image' names " + which);
    expect_refused({in_manifest("tokens_file: " + name)}, "pages.yaml:2: 'tokens_file' names " + which);
  }
  expect_refused({"inputs.manifest=none"}, "else to the project");
  for (const char* no_path : {"image: ''", "image: [a]", "tokens_file: {a: b}"})
    expect_refused({in_manifest(no_path)}, "' is no path");
  EXPECT_EQ(run_pair(pair, {in_manifest("image: null")}).exit_code, 0) << "null counts as absent";
  expect_refused({"inputs.image=" + (m_project / "folder").string(), "model.weights=checkpoint",
                  "model.checkpoint=" + copy_of_checkpoint().string()},
                 "folder, which is a directory");
}

TEST_F(input_faults, a_folder_that_is_no_run_is_not_analyzed) {
  const command_result result = profgate({"analyze", m_project.string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("not a run directory"));
}

TEST_F(input_faults, doctor_reports_a_broken_tool_beside_all_other_checks) {
  for (const std::string variable : {"PROFGATE_NSYS", "PROFGATE_NCU"}) {
    m_environment = {{"PROFGATE_NSYS", "none"}, {"PROFGATE_NCU", "none"}};
    m_environment[variable] = "/bin/false";
    const command_result result = profgate({"doctor"});
    EXPECT_EQ(result.exit_code, 3) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("broken "), HasSubstr("/bin/false --version does not work"),
                                     HasSubstr("set " + variable + " to one that works")));
    for (const char* const other : {"driver ", "gpu ", "embedded collector ", "disk "})
      EXPECT_THAT(result.output, HasSubstr(other)) << variable;
  }
}

TEST_F(input_faults, what_is_required_fails_where_it_would_be_skipped) {
  m_environment["PROFGATE_NSYS"] = "none";
  m_environment["PROFGATE_REQUIRE"] = "nsys";
  const fs::path manifest = register_probe({});
  const command_result without_nsys = run_pair(manifest, {"timeline=auto"});
  EXPECT_EQ(without_nsys.exit_code, 3) << without_nsys.output;
  EXPECT_THAT(status_of("timeline").reason, HasSubstr("PROFGATE_REQUIRE requires 'nsys'"));
  EXPECT_EQ(profgate({"doctor", "--require", "nsys"}).exit_code, 3);
  EXPECT_EQ(profgate({"doctor", "--require", "baseline"}).exit_code, 2) << "that is no part of a machine";

  m_environment["PROFGATE_REQUIRE"] = "baseline";
  const command_result without_baseline = run_pair(manifest);
  EXPECT_EQ(without_baseline.exit_code, 3) << without_baseline.output;
  EXPECT_THAT(status_of("gate").reason, AllOf(HasSubstr("requires 'baseline'"), HasSubstr("to make one")));

  m_environment["PROFGATE_REQUIRE"] = "gup";
  const command_result slip = run_pair(manifest);
  EXPECT_EQ(slip.exit_code, 2) << slip.output;
  EXPECT_THAT(slip.output, HasSubstr("did you mean 'gpu'?"));
}

TEST_F(input_faults, a_gpu_pair_is_skipped_with_the_reason) {
  if (fs::exists("/proc/driver/nvidia/version")) GTEST_SKIP() << "this machine has an NVIDIA driver";
  const command_result result = run_pair(register_llm("llm/qwen3-0.6b", "decode-b1"));
  EXPECT_EQ(result.exit_code, 77) << result.output;
  EXPECT_THAT(status_of("prepare").reason, HasSubstr("GPU"));
  m_environment["PROFGATE_REQUIRE"] = "gpu";
  EXPECT_EQ(run_pair(register_llm("llm/qwen3-0.6b", "decode-b1")).exit_code, 3);
  EXPECT_THAT(status_of("prepare").reason, HasSubstr("PROFGATE_REQUIRE requires 'gpu': no GPU"));
}

}  // namespace
}  // namespace profgate::integration
