#include <gmock/gmock.h>

#include "conf_folder.h"

namespace profgate::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class refused_choice : public conf_folder {};

TEST_F(refused_choice, unknown_choice_lists_all_the_nearest_first) {
  write("workload/cpu-short.yaml", "");
  write("workload/smoke.yaml", "");
  m_request.command_line_overrides = {"workload=smok"};
  const failure refused = compose_failure();
  EXPECT_EQ(refused.what, "command line: group 'workload' has no choice 'smok'");
  EXPECT_THAT(refused.remedy, StartsWith("choose one of: smoke, cpu-short; or add smok.yaml to "));
}

TEST_F(refused_choice, names_the_line_of_a_defaults_list) {
  write("hardware/cpu.yaml", "");
  const std::string runner = write("runner/stage2.yaml", "defaults:\n  - hardware: gpu\n");
  EXPECT_EQ(compose_failure().what, runner + ":2: group 'hardware' has no choice 'gpu'");
}

TEST_F(refused_choice, never_leaves_the_folder) {
  write("secret.yaml", "name: x\n");
  write("workload/smoke.yaml", "");
  m_request.workload_choice = "../secret";
  EXPECT_EQ(compose_failure().what, "the requested workload: group 'workload' has no choice '../secret'");
}

TEST_F(refused_choice, no_conf_folder_at_all) {
  m_request.conf_dirs = {m_root / "nowhere"};
  const failure refused = compose_failure();
  EXPECT_EQ(refused.what, "the requested runner: there is no file to choose runner=stage2 from");
  EXPECT_EQ(refused.remedy, "put stage2.yaml into one of: " + (m_root / "nowhere/runner").string());
}

TEST_F(refused_choice, circle) {
  const std::string a = write("workload/a.yaml", "defaults:\n  - b\n");
  const std::string b = write("workload/b.yaml", "defaults: [a]\n");
  m_request.workload_choice = "a";
  const failure refused = compose_failure();
  EXPECT_EQ(refused.what, b + ":1: the defaults lists go in a circle back to " + a);
  EXPECT_EQ(refused.remedy, "remove this entry");
}

TEST_F(refused_choice, endless_chain) {
  for (int i = 0; i < 40; ++i) {
    write("workload/w" + std::to_string(i) + ".yaml", "defaults: [w" + std::to_string(i + 1) + "]\n");
  }
  m_request.workload_choice = "w0";
  EXPECT_THAT(compose_failure().what, HasSubstr("more than 16 files build on each other"));
}

TEST_F(refused_choice, malformed_defaults_list) {
  m_request.workload_choice = "w";
  std::string file = write("workload/w.yaml", "defaults: 3\n");
  EXPECT_EQ(compose_failure().what, file + ":1: 'defaults' is not a list");
  write("workload/w.yaml", "defaults:\n  - [a]\n");
  EXPECT_THAT(compose_failure().what, HasSubstr(":2: this entry of 'defaults' is neither a name nor one"));
  write("workload/w.yaml", "defaults:\n  - harware: cpu\n");
  EXPECT_EQ(compose_failure().what, file + ":2: there is no group 'harware'");
  write("workload/w.yaml", "defaults:\n  - hardware: [cpu]\n");
  EXPECT_EQ(compose_failure().what, file + ":2: the choice for 'hardware' is not one name");
  write("workload/w.yaml", "defaults:\n  - hardware: a\n  - hardware: b\n");
  EXPECT_EQ(compose_failure().what,
            file + ":3: 'hardware' is chosen a second time (first at " + file + ":2)");
}

TEST_F(refused_choice, of_an_earlier_group) {
  const std::string file = write("workload/w.yaml", "defaults:\n  - model: llm/x\n");
  m_request.workload_choice = "w";
  const failure refused = compose_failure();
  EXPECT_EQ(refused.what, file + ":2: a file of group 'workload' cannot choose 'model'");
  EXPECT_EQ(refused.remedy, "choose it in the runner's defaults list or by an override");
}

TEST_F(refused_choice, two_files_that_disagree) {
  write("hardware/a.yaml", "name: a\n");
  write("hardware/b.yaml", "name: b\n");
  const std::string model = write("model/llm/m.yaml", "defaults:\n  - hardware: a\n");
  const std::string workload = write("workload/w.yaml", "defaults:\n  - hardware: b\n");
  m_request.model_choice = "llm/m";
  m_request.workload_choice = "w";
  const failure refused = compose_failure();
  EXPECT_EQ(refused.what, workload + ":2: chooses hardware=b, but " + model + ":2 chooses a");
  EXPECT_EQ(refused.remedy, "decide by an override: hardware=<choice>");
  m_request.command_line_overrides = {"hardware=b"};
  EXPECT_EQ(compose(m_request).text("hardware.name"), "b");
}

TEST_F(refused_choice, that_follows_a_key_not_known_yet) {
  const std::string file = write("runner/stage2.yaml", "defaults:\n  - hardware: ${workload.device}\n");
  EXPECT_EQ(compose_failure().what, file + ":2: '${workload.device}' is no text key of the runner");
}

}  // namespace
}  // namespace profgate::config
