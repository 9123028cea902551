#include "profilers/nsys_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace profgate::profilers {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

nsys_installation some_nsys() {
  nsys_installation nsys;
  nsys.executable = "/opt/nsys";
  nsys.importer = "/opt/host/QdstrmImporter";
  nsys.knows_cuda_graph_trace = true;
  return nsys;
}

std::string sample(const std::string& name) {
  std::ifstream in(std::string(PROFGATE_TEST_DATA) + "/nsight/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(nsys_profile_command, gates_and_lets_the_program_run_on) {
  EXPECT_THAT(
      nsys_profile_command(some_nsys(), {}, range_name{"decode_all", "LLM"}, "/run/nsys/run",
                           {"/bin/driver", "--mode", "profile me"}),
      ElementsAre("/opt/nsys", "profile", "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none",
                  "--cuda-graph-trace=node", "--capture-range=nvtx", "--nvtx-capture=decode_all@LLM",
                  "--capture-range-end=stop", "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
                  "--force-overwrite=true", "--output=/run/nsys/run", "/bin/driver", "--mode", "profile me"));
}

TEST(nsys_profile_command, without_a_gate_records_everything) {
  EXPECT_THAT(
      nsys_profile_command(some_nsys(), {}, std::nullopt, "/out", {"/bin/driver"}),
      ElementsAre("/opt/nsys", "profile", "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none",
                  "--cuda-graph-trace=node", "--force-overwrite=true", "--output=/out", "/bin/driver"));
}

TEST(nsys_profile_command, records_between_the_programs_own_calls_or_for_a_while) {
  nsys_options options;
  options.between_profiler_calls = true;
  EXPECT_THAT(nsys_profile_command(some_nsys(), options, std::nullopt, "/out", {"x"}),
              IsSupersetOf({"--capture-range=cudaProfilerApi", "--capture-range-end=stop"}));
  EXPECT_THAT(nsys_profile_command(some_nsys(), options, range_name{"bench", "*"}, "/out", {"x"}),
              Not(Contains("--capture-range=cudaProfilerApi")));
  options = {};
  options.waits_for_primary = true;
  EXPECT_THAT(nsys_profile_command(some_nsys(), options, std::nullopt, "/out", {"x"}),
              Contains("--wait=primary"));
  options = {};
  options.delay_s = 90;
  options.duration_s = 10;
  EXPECT_THAT(nsys_profile_command(some_nsys(), options, std::nullopt, "/out", {"x"}),
              IsSupersetOf({"--delay=90", "--duration=10", "--kill=none"}));
}

TEST(nsys_profile_command, gives_the_program_its_own_library_path_back) {
  nsys_installation nsys = some_nsys();
  nsys.library_path = "/extra:/old";
  nsys.inherited_library_path = "/old";
  EXPECT_THAT(nsys_profile_command(nsys, {}, std::nullopt, "/out", {"x", "y"}),
              IsSupersetOf({"/usr/bin/env", "LD_LIBRARY_PATH=/old", "x", "y"}));
  nsys.inherited_library_path.clear();
  EXPECT_THAT(nsys_profile_command(nsys, {}, std::nullopt, "/out", {"x", "y"}),
              IsSupersetOf({"/usr/bin/env", "-u", "LD_LIBRARY_PATH", "x", "y"}));
}

TEST(nsys_profile_command, asks_for_graph_nodes_only_where_that_means_something) {
  nsys_installation old = some_nsys();
  old.knows_cuda_graph_trace = false;
  EXPECT_THAT(nsys_profile_command(old, {}, std::nullopt, "/out", {"x"}),
              Not(Contains(HasSubstr("cuda-graph-trace"))));
  nsys_options no_cuda;
  no_cuda.trace = "nvtx,osrt";
  EXPECT_THAT(nsys_profile_command(some_nsys(), no_cuda, std::nullopt, "/out", {"x"}),
              Not(Contains(HasSubstr("cuda-graph-trace"))));
}

TEST(nsys_profile_command, names_the_recording_that_somebody_ends_before_the_program) {
  nsys_options server;
  server.session = "profgate-7";
  EXPECT_THAT(nsys_profile_command(some_nsys(), server, std::nullopt, "/out", {"x"}),
              AllOf(Contains("--session-new=profgate-7"), Contains("--kill=none")));
  EXPECT_THAT(nsys_stop_command(some_nsys(), "profgate-7"),
              ElementsAre(::testing::_, "stop", "--session=profgate-7"));
  server.duration_s = 3;
  EXPECT_THAT(nsys_profile_command(some_nsys(), server, std::nullopt, "/out", {"x"}),
              Contains("--kill=none").Times(1));
  EXPECT_THAT(nsys_profile_command(some_nsys(), {}, std::nullopt, "/out", {"x"}),
              Not(Contains(HasSubstr("session"))));
}

TEST(nsys_profile_command, names_pytorchs_functions_where_nsys_can) {
  nsys_options options;
  options.pytorch = "autograd-nvtx";
  nsys_installation nsys = some_nsys();
  EXPECT_THAT(nsys_profile_command(nsys, options, std::nullopt, "/out", {"x"}),
              Not(Contains(HasSubstr("--pytorch"))));
  nsys.knows_pytorch = true;
  EXPECT_THAT(nsys_profile_command(nsys, options, std::nullopt, "/out", {"x"}),
              Contains("--pytorch=autograd-nvtx"));
  EXPECT_THAT(nsys_profile_command(nsys, {}, std::nullopt, "/out", {"x"}),
              Not(Contains(HasSubstr("--pytorch"))));
}

TEST(nsys_commands, trace_no_os_calls_where_nsys_cannot_unwind_their_stacks) {
  nsys_installation nsys = some_nsys();
  EXPECT_THAT(traceable({"cuda", "nvtx", "osrt"}, nsys), ElementsAre("cuda", "nvtx", "osrt"));
  nsys.missing_libraries = {"libdw.so.1"};
  EXPECT_THAT(traceable({"cuda", "nvtx", "osrt"}, nsys), ElementsAre("cuda", "nvtx"));
}

TEST(nsys_commands, import_export_and_stats) {
  EXPECT_THAT(nsys_import_command(some_nsys(), "/a.qdstrm"),
              ElementsAre("/opt/host/QdstrmImporter", "-i", "/a.qdstrm"));
  EXPECT_THAT(nsys_export_command(some_nsys(), "/a.nsys-rep", "/a.sqlite"),
              ElementsAre("/opt/nsys", "export", "--type=sqlite", "--force-overwrite=true",
                          "--output=/a.sqlite", "/a.nsys-rep"));
  EXPECT_THAT(nsys_stats_command(some_nsys(), {"r1", "r2"}, "/a.sqlite", "/a"),
              ElementsAre("/opt/nsys", "stats", "--report", "r1,r2", "--format", "csv", "--force-overwrite",
                          "true", "--output", "/a", "/a.sqlite"));
}

TEST(name_of_report, knows_the_names_of_both_generations) {
  nsys_installation nsys = some_nsys();
  nsys.reports = parse_report_names(sample("cpu-2022.4.2/help_reports.txt"));
  EXPECT_EQ(name_of_report(nsys, nsys_report::kernel_sum), "gpukernsum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::cuda_api_sum), "cudaapisum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_push_pop_sum), "nvtxppsum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_kernel_sum), "nvtxkernsum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_gpu_projection), "nvtxgpuproj");
  nsys.reports = parse_report_names(sample("h200-2025.3.1/help_reports.txt"));
  EXPECT_EQ(name_of_report(nsys, nsys_report::kernel_sum), "cuda_gpu_kern_sum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::cuda_api_sum), "cuda_api_sum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_push_pop_sum), "nvtx_pushpop_sum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_kernel_sum), "nvtx_kern_sum");
  EXPECT_EQ(name_of_report(nsys, nsys_report::nvtx_gpu_projection), "nvtx_gpu_proj_sum");
  nsys.reports = {"something_else"};
  EXPECT_EQ(name_of_report(nsys, nsys_report::kernel_sum), std::nullopt);
}

TEST(range_name, is_written_as_nsys_wants_it) {
  EXPECT_EQ((range_name{"decode_all", "LLM"}.as_capture_range()), "decode_all@LLM");
  EXPECT_EQ((range_name{"decode_all", ""}.as_capture_range()), "decode_all");
}

}  // namespace
}  // namespace profgate::profilers
