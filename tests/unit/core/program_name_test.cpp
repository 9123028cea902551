#include "core/program_name.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

std::string name_of(const std::vector<std::string>& command) {
  return program_of(command).name;
}

TEST(program_name, is_that_of_the_file_that_an_interpreter_runs) {
  EXPECT_EQ(name_of({"/opt/bench", "--config", "a.yaml"}), "bench");
  EXPECT_EQ(name_of({"/usr/bin/python3.11", "-u", "dir/generate.py", "--out", "a.txt"}), "generate.py");
  EXPECT_EQ(name_of({"torchrun", "--nproc-per-node", "2", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"python3", "-c", "import a.b"}), "python3");
  EXPECT_EQ(name_of({"pythonic-bench", "generate.py"}), "pythonic-bench") << "no interpreter";
  const started_program module = program_of({"python3", "-m", "vllm.bench"});
  EXPECT_EQ(module.name, "vllm.bench");
  EXPECT_TRUE(module.is_module);
  EXPECT_EQ(name_of({}), "");
}

TEST(program_name, is_not_that_of_env) {
  EXPECT_EQ(name_of({"/usr/bin/env", "LD_LIBRARY_PATH=/usr/lib64:/opt/a.b", "/opt/bench", "x.yaml"}),
            "bench");
  EXPECT_EQ(name_of({"env", "-u", "HOME", "-i", "A=1", "python3", "generate.py"}), "generate.py");
  EXPECT_EQ(name_of({"env", "A=1"}), "env") << "it starts nothing";
}

TEST(program_name, knows_what_only_starts_another) {
  for (const char* const starter : {"/usr/bin/env", "python3", "/opt/venv/bin/python3.12", "bash", "mpirun"})
    EXPECT_TRUE(runs_another_program(starter)) << starter;
  for (const char* const program : {"profgate-llm", "shell-bench", "python3-bench", ""})
    EXPECT_FALSE(runs_another_program(program)) << program;
}

}  // namespace
}  // namespace profgate::core
