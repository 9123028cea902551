#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profilers/nsys_installation.h"

/// Argument lists for nsys: pure functions of their arguments.
namespace profgate::profilers {

inline constexpr const char* any_domain = "*";

/// An NVTX range by name. `domain` empty: the default domain.
struct range_name {
  std::string range;
  std::string domain;

  bool operator==(const range_name&) const = default;

  /// "decode_all@LLM", the way nsys and the embedded collector want it.
  std::string as_capture_range() const { return domain.empty() ? range : range + "@" + domain; }
};

struct nsys_options {
  std::string trace = "cuda,nvtx,osrt";
  std::string sample = "none";
  std::string cpu_context_switches = "none";
  std::string cuda_graph_trace = "node";  ///< "graph" shows a replayed graph as one opaque block
  bool between_profiler_calls = false;  ///< from cudaProfilerStart to cudaProfilerStop, where no range gates
  std::optional<std::int64_t> delay_s{};     ///< record only after so long
  std::optional<std::int64_t> duration_s{};  ///< and for so long; the program runs on
  bool waits_for_primary = false;  ///< the recording ends with the program, whatever that leaves running
  bool traces_forks = false;       ///< children that go on without exec
  std::string session{};           ///< by which nsys_stop_command ends it; empty: nobody does
  std::string pytorch{};           ///< for --pytorch; empty: nothing
};

/// What of nsys.trace this nsys can record: without libdw.so.1, which unwinds the stacks of OS calls, its
/// agent copies every library of the program into the report instead, 2.5 GB of a PyTorch program.
std::vector<std::string> traceable(std::vector<std::string> trace, const nsys_installation& nsys);

/// `nsys profile`. With a capture range it records from its opening to its end and lets the program run
/// on (--capture-range-end=stop; the default would kill it). Libraries that only nsys lacks it needs here,
/// too.
std::vector<std::string> nsys_profile_command(const nsys_installation& nsys, const nsys_options& options,
                                              const std::optional<range_name>& capture_range,
                                              const std::filesystem::path& output_base,
                                              const std::vector<std::string>& workload);

/// `nsys stop` of a recording with nsys_options::session: its report is written, its program goes on.
std::vector<std::string> nsys_stop_command(const nsys_installation& nsys, const std::string& session);

/// .qdstrm → .nsys-rep of the same name, for installations whose nsys does not find its importer.
std::vector<std::string> nsys_import_command(const nsys_installation& nsys,
                                             const std::filesystem::path& qdstrm);

std::vector<std::string> nsys_export_command(const nsys_installation& nsys,
                                             const std::filesystem::path& report,
                                             const std::filesystem::path& sqlite);

/// `nsys stats` from a fresh .sqlite into <output_base>_<report>.csv.
std::vector<std::string> nsys_stats_command(const nsys_installation& nsys,
                                            const std::vector<std::string>& reports,
                                            const std::filesystem::path& sqlite,
                                            const std::filesystem::path& output_base);

/// The summaries that profgate keeps. Their names changed between 2022.4 and 2025.3.
enum class nsys_report { kernel_sum, cuda_api_sum, nvtx_push_pop_sum, nvtx_kernel_sum, nvtx_gpu_projection };

/// All of them, in the order of their enumerators.
std::vector<nsys_report> all_nsys_reports();

/// This installation's name of the report; nothing if it has none.
std::optional<std::string> name_of_report(const nsys_installation& nsys, nsys_report report);

}  // namespace profgate::profilers
