#pragma once

#include <map>
#include <string>
#include <vector>

namespace profgate::llm::testing_support {

struct finished_program {
  int exit_code = -1;  ///< -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

/// Runs a program to its end, with additions to the environment. Its output goes through files in directory.
finished_program run_program(const std::string& directory, const std::vector<std::string>& arguments,
                             const std::map<std::string, std::string>& environment = {});

}  // namespace profgate::llm::testing_support
