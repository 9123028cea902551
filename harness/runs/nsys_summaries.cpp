#include "nsys_summaries.h"

#include <algorithm>
#include <map>

#include "artifacts/files.h"
#include "bundle.h"
#include "core/error.h"
#include "parsers/nsys_csv.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

struct report_names {
  std::string kernels;        ///< of the kernels by name
  std::string range_kernels;  ///< of the kernels by range and name
};

const std::vector<report_names>& known_reports() {
  static const std::vector<report_names> names = {{"_cuda_gpu_kern_sum.csv", "_nvtx_kern_sum.csv"},
                                                  {"_gpukernsum.csv", "_nvtxkernsum.csv"}};  // 2022
  return names;
}

/// By stage; threads and processes together.
std::map<std::string, std::vector<core::kernel_record>> kernels_by_stage(
    const fs::path& file, const std::vector<std::string>& stages, const std::string& nvtx_domain) {
  std::map<std::string, std::map<std::string, core::kernel_record>> sums;
  const plain_files plain({file});
  for (const auto& row : parsers::read_nvtx_kernels_csv(plain.paths().front())) {
    if (row.domain != nvtx_domain || std::find(stages.begin(), stages.end(), row.name) == stages.end())
      continue;
    core::kernel_record& sum = sums[row.name][row.kernel_name];
    sum.kernel_name = row.kernel_name;
    sum.total_ns += row.total_ns;
    sum.calls += row.kernel_instances;
  }
  std::map<std::string, std::vector<core::kernel_record>> by_stage;
  for (const auto& [stage, kernels] : sums)
    for (const auto& [name, kernel] : kernels) by_stage[stage].push_back(kernel);
  return by_stage;
}

}  // namespace

std::vector<analysis::kernel_summary> read_nsys_summaries(const fs::path& run_dir,
                                                          const std::vector<std::string>& gates,
                                                          const std::vector<std::string>& stages,
                                                          const std::string& nvtx_domain) {
  std::vector<analysis::kernel_summary> summaries;
  for (const report_names& names : known_reports()) {
    for (const fs::path& file : files_like(run_dir, "nsys/run*" + names.kernels)) {
      const std::string whole = file.filename().string();
      const std::string stem = whole.substr(0, whole.size() - names.kernels.size());
      analysis::kernel_summary summary{"nsys/" + whole, "nsys/" + stem + ".sqlite",
                                       gate_of_timeline(stem + ".sqlite", gates)};
      try {
        summary.kernels = parsers::read_kernel_sum_csv(plain_files({file}).paths().front());
        const fs::path by_range = file.parent_path() / (stem + names.range_kernels);
        if (artifacts::file_exists(by_range))
          summary.by_stage = kernels_by_stage(by_range, stages, nvtx_domain);
      } catch (const core::bad_input& problem) {
        summary.unreadable = problem.what();
      }
      summaries.push_back(std::move(summary));
    }
  }
  return summaries;
}

}  // namespace profgate::runs
