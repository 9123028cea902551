#include <cstdio>
#include <exception>
#include <span>

#include "llm/failure.h"
#include "llm/workload.h"

int main(int argc, char** argv) {
  using namespace profgate::llm;
  // A line at a time, so that a log of a run that dies still holds what came before.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    run_workload(parse_command_line(std::span<const char* const>(argv + 1, argv + argc)));
    return static_cast<int>(exit_code::good);
  } catch (const failure& problem) {
    std::fprintf(stderr, "profgate-llm: %s\n", problem.what());
    if (!problem.remedy().empty()) std::fprintf(stderr, "  to fix it: %s\n", problem.remedy().c_str());
    return static_cast<int>(problem.code());
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "profgate-llm: %s\n  to fix it: report it; this is not expected\n", problem.what());
    return static_cast<int>(exit_code::judged_bad);
  }
}
