#include "profilers/nsys_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace profgate::profilers {

std::vector<std::string> traceable(std::vector<std::string> trace, const nsys_installation& nsys) {
  const bool lacks_unwinder = std::find(nsys.missing_libraries.begin(), nsys.missing_libraries.end(),
                                        "libdw.so.1") != nsys.missing_libraries.end();
  if (lacks_unwinder) std::erase(trace, "osrt");
  return trace;
}

std::vector<std::string> nsys_profile_command(const nsys_installation& nsys, const nsys_options& options,
                                              const std::optional<range_name>& capture_range,
                                              const std::filesystem::path& output_base,
                                              const std::vector<std::string>& workload) {
  std::vector<std::string> argv = {nsys.executable.string(), "profile", "--trace=" + options.trace,
                                   "--sample=" + options.sample,
                                   "--cpuctxsw=" + options.cpu_context_switches};
  const bool traces_cuda = ("," + options.trace + ",").find(",cuda,") != std::string::npos;
  if (traces_cuda && nsys.knows_cuda_graph_trace) {
    argv.push_back("--cuda-graph-trace=" + options.cuda_graph_trace);
  }
  // Who ends the recording before the program's own end leaves the program alone.
  if (!options.session.empty()) argv.insert(argv.end(), {"--session-new=" + options.session, "--kill=none"});
  if (!options.pytorch.empty() && nsys.knows_pytorch) argv.push_back("--pytorch=" + options.pytorch);
  if (options.waits_for_primary) argv.emplace_back("--wait=primary");
  if (options.traces_forks) argv.emplace_back("--trace-fork-before-exec=true");
  if (capture_range) {
    argv.insert(argv.end(), {"--capture-range=nvtx", "--nvtx-capture=" + capture_range->as_capture_range(),
                             "--capture-range-end=stop",
                             // Without it a range whose string the program did not register never opens.
                             "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"});
  }
  if (!capture_range && options.between_profiler_calls)
    argv.insert(argv.end(), {"--capture-range=cudaProfilerApi", "--capture-range-end=stop"});
  if (options.delay_s) argv.push_back(fmt::format("--delay={}", *options.delay_s));
  if (options.duration_s) {
    argv.push_back(fmt::format("--duration={}", *options.duration_s));
    if (options.session.empty()) argv.emplace_back("--kill=none");  // else nsys ends the program, too
  }
  argv.insert(argv.end(), {"--force-overwrite=true", "--output=" + output_base.string()});
  if (nsys.library_path) {
    // Not by nsys's own --env-var, which reaches its launcher, too: 2022.4 hangs.
    argv.emplace_back("/usr/bin/env");
    if (nsys.inherited_library_path.empty()) {
      argv.insert(argv.end(), {"-u", "LD_LIBRARY_PATH"});
    } else {
      argv.push_back("LD_LIBRARY_PATH=" + nsys.inherited_library_path);
    }
  }
  argv.insert(argv.end(), workload.begin(), workload.end());
  return argv;
}

std::vector<std::string> nsys_stop_command(const nsys_installation& nsys, const std::string& session) {
  return {nsys.executable.string(), "stop", "--session=" + session};
}

std::vector<std::string> nsys_import_command(const nsys_installation& nsys,
                                             const std::filesystem::path& qdstrm) {
  return {nsys.importer.value().string(), "-i", qdstrm.string()};
}

std::vector<std::string> nsys_export_command(const nsys_installation& nsys,
                                             const std::filesystem::path& report,
                                             const std::filesystem::path& sqlite) {
  return {nsys.executable.string(),      "export",       "--type=sqlite", "--force-overwrite=true",
          "--output=" + sqlite.string(), report.string()};
}

std::vector<std::string> nsys_stats_command(const nsys_installation& nsys,
                                            const std::vector<std::string>& reports,
                                            const std::filesystem::path& sqlite,
                                            const std::filesystem::path& output_base) {
  return {nsys.executable.string(),
          "stats",
          "--report",
          fmt::format("{}", fmt::join(reports, ",")),
          "--format",
          "csv",
          "--force-overwrite",
          "true",
          "--output",
          output_base.string(),
          sqlite.string()};
}

std::vector<nsys_report> all_nsys_reports() {
  return {nsys_report::kernel_sum, nsys_report::cuda_api_sum, nsys_report::nvtx_push_pop_sum,
          nsys_report::nvtx_kernel_sum, nsys_report::nvtx_gpu_projection};
}

std::optional<std::string> name_of_report(const nsys_installation& nsys, nsys_report report) {
  struct names {
    nsys_report report;
    const char* since_2023;
    const char* in_2022;
  };
  static constexpr std::array<names, 5> table = {{
      {nsys_report::kernel_sum, "cuda_gpu_kern_sum", "gpukernsum"},
      {nsys_report::cuda_api_sum, "cuda_api_sum", "cudaapisum"},
      {nsys_report::nvtx_push_pop_sum, "nvtx_pushpop_sum", "nvtxppsum"},
      {nsys_report::nvtx_kernel_sum, "nvtx_kern_sum", "nvtxkernsum"},
      {nsys_report::nvtx_gpu_projection, "nvtx_gpu_proj_sum", "nvtxgpuproj"},
  }};
  for (const names& row : table) {
    if (row.report != report) continue;
    for (const char* name : {row.since_2023, row.in_2022}) {
      if (std::find(nsys.reports.begin(), nsys.reports.end(), name) != nsys.reports.end()) return name;
    }
  }
  return std::nullopt;
}

}  // namespace profgate::profilers
