// What conf/categories/llm.yaml makes of the kernels' names of the libraries and servers that people run.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "parsers/timeline.h"
#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

analysis::category_rules shipped_rules() {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  return category_rules_of(config::compose(wanted));
}

TEST(categories, of_kernels_that_are_known) {
  const analysis::category_rules rules = shipped_rules();
  std::ifstream lines(PROFGATE_TEST_DATA "/kernel_names.txt");
  std::map<std::string, int> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find(' ');
    EXPECT_EQ(rules.category_of(line.substr(space + 1), ""), line.substr(0, space)) << line;
    ++names[line.substr(0, space)];
  }
  for (const analysis::category_rule& rule : rules.kernels) {
    if (rule.category == "recurrence") continue;
    EXPECT_GE(names[rule.category], 2) << "of " << rule.category;
  }
}

/// By kernel time, whole processes: "other" is what no rule knows.
double other_share(const std::string& recording) {
  const analysis::category_rules rules = shipped_rules();
  const core::timeline timeline = parsers::read_nsys_sqlite(
      PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/" + recording + ".sqlite");
  double all_ns = 0;
  double other_ns = 0;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    const auto duration_ns = static_cast<double>(kernel.end_ns - kernel.start_ns);
    all_ns += duration_ns;
    if (rules.category_of(kernel.shape->name, "") == "other") other_ns += duration_ns;
  }
  EXPECT_GT(all_ns, 0) << recording;
  return other_ns / all_ns;
}

TEST(categories, leave_little_of_pytorch_programs_to_other) {
  for (const char* recording : {"llama_steps", "two_processes", "generate_steps"})
    EXPECT_LT(other_share(recording), 0.05) << recording;
}

}  // namespace
}  // namespace profgate::runs
