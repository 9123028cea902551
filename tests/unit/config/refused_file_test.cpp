#include <gmock/gmock.h>

#include "conf_folder.h"
#include "config/yaml_tree.h"

namespace profgate::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Every case writes conf/workload/w.yaml, which the request chooses.
class refused_file : public conf_folder {
 protected:
  refused_file() { m_request.workload_choice = "w"; }

  failure refusal_of(const std::string& text) {
    m_file = write("workload/w.yaml", text);
    return compose_failure();
  }

  std::string m_file;
};

TEST_F(refused_file, unknown_key) {
  const failure refused = refusal_of("name: w\npromt_tokens: 3\n");
  EXPECT_EQ(refused.what, m_file + ":2: unknown key 'workload.promt_tokens'");
  EXPECT_EQ(refused.remedy, "did you mean 'workload.prompt_tokens'? conf/README.md lists every key");
}

TEST_F(refused_file, right_key_in_the_wrong_section) {
  const failure refused = refusal_of("repetitions: 3\n");
  EXPECT_EQ(refused.what, m_file + ":1: unknown key 'workload.repetitions'");
  EXPECT_THAT(refused.remedy, StartsWith("did you mean 'stage1.repetitions'?"));
}

TEST_F(refused_file, key_that_resembles_none) {
  EXPECT_EQ(refusal_of("qqqqqqqqqqqqqqq: 3\n").remedy, "conf/README.md lists every key");
  EXPECT_LT(refusal_of(std::string(900, 'q') + ": 3\n").what.size(), m_file.size() + 100);
}

TEST_F(refused_file, wrong_type) {
  const failure refused = refusal_of("name: w\n\nprompt_tokens: many\n");
  EXPECT_EQ(refused.what, m_file + ":3: 'workload.prompt_tokens' cannot be 'many'");
  EXPECT_EQ(refused.remedy, "give it a whole number from 1 to 1000000, or null");
  EXPECT_EQ(refusal_of("prompt_tokens: [1]\n").what,
            m_file + ":1: 'workload.prompt_tokens' cannot be a list");
  EXPECT_EQ(refusal_of("prompt_tokens: '1'\n").what, m_file + ":1: 'workload.prompt_tokens' cannot be '1'");
  EXPECT_EQ(refusal_of("prompt_tokens: 1.5\n").what, m_file + ":1: 'workload.prompt_tokens' cannot be '1.5'");
  EXPECT_EQ(refusal_of("cuda_graphs: yes\n").remedy, "give it true or false");
  EXPECT_EQ(
      refusal_of("stages: prefill\n").remedy,
      "give it a list of texts or maps with the keys name, range, domain, sync, such as [a, {name: b, …}]");
  EXPECT_EQ(refusal_of("stages: [a, [b]]\n").what, m_file + ":1: 'workload.stages' cannot be a list");
  EXPECT_EQ(refusal_of("nvtx_domain: {a: b}\n").what, m_file + ":1: 'workload.nvtx_domain' cannot be a map");
  EXPECT_EQ(refusal_of("batch: null\n").what, m_file + ":1: 'workload.batch' cannot be null");
}

TEST_F(refused_file, value_out_of_range) {
  EXPECT_EQ(refusal_of("batch: 0\n").remedy, "give it a whole number from 1 to 65536");
  EXPECT_EQ(refusal_of("batch: 99999999999999999999\n").what,
            m_file + ":1: 'workload.batch' cannot be '99999999999999999999'");
}

TEST_F(refused_file, number_that_is_none) {
  write("hardware/h.yaml", "memory_bandwidth_gbs: nan\n");
  m_request.hardware_choice = "h";
  EXPECT_THAT(refusal_of("name: w\n").what, HasSubstr("'hardware.memory_bandwidth_gbs' cannot be 'nan'"));
}

TEST_F(refused_file, value_not_allowed) {
  const failure refused = refusal_of("device: cdua\n");
  EXPECT_EQ(refused.what, m_file + ":1: 'workload.device' cannot be 'cdua'");
  EXPECT_EQ(refused.remedy, "did you mean 'cuda'? It takes one of: cpu, cuda");
  EXPECT_EQ(refusal_of("device: gpu\n").remedy, "did you mean 'cuda'? It takes one of: cpu, cuda");
}

TEST_F(refused_file, text_with_a_line_break) {
  const failure refused = refusal_of("name: \"a\\nb\"\n");
  EXPECT_EQ(refused.what, m_file + ":1: 'workload.name' has a line break or a control character");
}

TEST_F(refused_file, value_in_place_of_a_section) {
  write("model/llm/m.yaml", "shape: 3\n");
  m_request.model_choice = "llm/m";
  const failure refused = refusal_of("name: w\n");
  EXPECT_THAT(refused.what, HasSubstr("m.yaml:1: 'model.shape' is a section, not a value"));
  EXPECT_THAT(refused.remedy, StartsWith("set the keys below it: model.shape.architecture, "));
}

TEST_F(refused_file, list_in_place_of_keys) {
  const failure refused = refusal_of("- a\n- b\n");
  EXPECT_EQ(refused.what, m_file + ":1: 'workload' is a section, not a value");
}

TEST_F(refused_file, dotted_key) {
  write("runner/stage2.yaml", "run.mode: light\n");
  const failure refused = refusal_of("name: w\n");
  EXPECT_THAT(refused.what, HasSubstr("stage2.yaml:1: the key 'run.mode' has a dot"));
}

TEST_F(refused_file, syntax_error) {
  const failure refused = refusal_of("name: w\nstages: [a, b\n");
  EXPECT_THAT(refused.what, StartsWith(m_file + ":"));
  EXPECT_THAT(refused.what, HasSubstr("not valid YAML: "));
  EXPECT_EQ(refused.remedy, "correct the syntax on this line or the one before it");
}

TEST_F(refused_file, duplicate_key) {
  const failure refused = refusal_of("name: w\nbatch: 1\nname: v\n");
  EXPECT_EQ(refused.what,
            m_file + ":3: the key 'name' stands here a second time (first at " + m_file + ":1)");
  EXPECT_EQ(refused.remedy, "remove one of the two");
}

TEST_F(refused_file, missing_or_compound_key) {
  EXPECT_THAT(refusal_of(": 3\n").what, HasSubstr(":1: a key is missing before ':'"));
  EXPECT_THAT(refusal_of("? [a]\n: 3\n").what, HasSubstr(":1: a list or a map stands where a key belongs"));
}

TEST_F(refused_file, aliases_however_many) {
  EXPECT_THAT(refusal_of("name: &n w\nseed_tag: *n\n").what,
              HasSubstr(":1: anchors (&) and aliases (*) are not supported"));
  EXPECT_THAT(refusal_of("stages: [*a]\n").what, StartsWith(m_file + ":1: "));
}

TEST_F(refused_file, tag) {
  EXPECT_THAT(refusal_of("name: !!str w\n").what, HasSubstr(":1: tags (!) are not supported"));
}

TEST_F(refused_file, deep_nesting) {
  EXPECT_THAT(refusal_of("stages: " + std::string(30000, '[') + std::string(30000, ']') + "\n").what,
              HasSubstr(":1: nested more than 16 levels deep"));
  std::string compact;
  for (int level = 0; level < 10000; ++level) compact += "- ";
  EXPECT_THAT(refusal_of(compact + "a\n").what, HasSubstr(":1: nested more than 16 levels deep"));
}

TEST_F(refused_file, second_document) {
  EXPECT_THAT(refusal_of("name: w\n---\nname: v\n").what,
              HasSubstr(":3: a second YAML document starts here"));
}

TEST_F(refused_file, what_is_no_text) {
  EXPECT_THAT(refusal_of("name: w\nseed_tag: \xff\xfe\n").what,
              HasSubstr(":2: this line is not valid UTF-8"));
  EXPECT_THAT(refusal_of(std::string("name: w\n\0\n", 10)).what,
              HasSubstr(":2: this line has the control character 0x00"));
}

TEST_F(refused_file, absurd_size) {
  const failure refused = refusal_of("name: w\n#" + std::string(64 * 1024, 'x'));
  EXPECT_EQ(refused.what, m_file + ": is longer than 64 KiB, the most that a configuration may have");
  EXPECT_THAT(refused.remedy, HasSubstr("split it by a defaults list"));

  constexpr text_limit of_lists = {100, "a list of inputs", "split it"};
  EXPECT_EQ(read_yaml(m_file, of_lists).members.size(), 1U);
  write("workload/w.yaml", std::string(100 * 1024 + 1, '#'));
  try {
    read_yaml(m_file, of_lists);
    FAIL();
  } catch (const core::bad_input& longer) {
    EXPECT_EQ(longer.what(), m_file + ": is longer than 100 KiB, the most that a list of inputs may have");
    EXPECT_EQ(longer.remedy(), "split it");
  }
}

TEST_F(refused_file, tab) {
  const failure refused = refusal_of("stages:\n\t- a\n");
  EXPECT_EQ(refused.what, m_file + ":2: this line is indented with a tab");
  EXPECT_EQ(refused.remedy, "indent with spaces: YAML does not allow tabs there");
}

TEST_F(refused_file, unfinished_merge) {
  const failure refused = refusal_of("name: w\n<<<<<<< HEAD\nbatch: 1\n=======\nbatch: 2\n>>>>>>> topic\n");
  EXPECT_EQ(refused.what, m_file + ":2: this line is the marker of an unfinished merge");
  EXPECT_EQ(refused.remedy, "resolve the merge conflict in this file");
}

}  // namespace
}  // namespace profgate::config
