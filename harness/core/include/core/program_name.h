#pragma once

#include <string>
#include <vector>

/// What people call the program that a command starts.
namespace profgate::core {

struct started_program {
  std::string
      name;  ///< "bench.py" of {"env", "A=1", "python3", "-u", "dir/bench.py"}, else the program's own
  bool is_module = false;  ///< "vllm.bench" of {"python3", "-m", "vllm.bench"}: a dot parts packages
};

/// Empty where there is no word.
started_program program_of(const std::vector<std::string>& command);

/// Whether it only starts what its words name: an interpreter, env, a launcher of ranks. `name` may have
/// folders before it.
bool runs_another_program(const std::string& name);

}  // namespace profgate::core
