#include "bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "artifacts/files.h"
#include "core/error.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// Reports first, then data, then provenance. A name that ends in * stands for all files that begin so.
struct bundle_row {
  std::string_view path;
  std::string_view title;
  std::string_view made_by;  ///< the step that must have left it once it is ok; empty: not required
};

constexpr bundle_row bundle[] = {
    {"stakeholder_summary.md", "Summary for stakeholders", "report"},
    {"report.md", "Report", "report"},
    {"report.html", "Report with pictures", "report"},
    {"operators.md", "Time by operator", "report"},
    {"kernels.md", "Time by kernel", "report"},
    {"ncu/regions/report.md", "Time by region", "report"},
    {"ncu/regions/report.json", "Time by region, for programs", "report"},
    {"profile.json", "The canonical profile", "report"},
    {"gate.md", "The gate's verdict", ""},
    {"gate.svg", "The gate's verdict, drawn", ""},
    {"verdict.json", "The gate's verdict, for programs", ""},
    {"stage1/metrics.json", "Metrics of the bare run", "stage1"},
    {"stage1/result.json", "What the workload said of itself", ""},
    {"stage1/benchmark.json", "Google Benchmark's own output", ""},
    {"stage1/process_samples.json", "Duration of each bare process", ""},
    {"nsys/run*.nsys-rep", "Timeline for Nsight Systems", ""},
    {"nsys/run*.sqlite", "Timeline as SQLite", ""},
    {"nsys/run*.csv", "Summary by nsys stats", ""},
    {"nsys/embedded*.timeline", "Timeline of the embedded collector", ""},
    {"ncu/run*.ncu-rep", "Counters for Nsight Compute", "counters"},
    {"ncu/raw*.csv", "Counters, all of them", "counters"},
    {"ncu/counters*.csv", "Counters that the analysis reads", "counters"},
    {"ncu/selection.json", "Kernels that were chosen for the counters", "counters"},
    {"ncu/config.yaml", "Configuration of the workload under ncu", ""},
    {"ncu/sections.txt", "Sections that ncu knows", ""},
    {"env.json", "Provenance: machine, versions, commands", "prepare"},
    {"config.yaml", "Resolved configuration", "prepare"},
    {"inputs.yaml", "What the workload was fed", "prepare"},
};

bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

/// Files in the folder of `pattern` that match its last part, sorted; a compressed file counts by its name
/// without .gz.
std::vector<fs::path> find_all(const fs::path& run_dir, std::string_view pattern) {
  const fs::path wanted = run_dir / pattern;
  std::vector<fs::path> found;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(wanted.parent_path(), absent)) {
    fs::path path = entry.path();
    if (path.extension() == ".gz") path.replace_extension();
    if (entry.is_regular_file() && matches(path.filename().string(), wanted.filename().string()))
      found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t stored_bytes(const fs::path& path) {
  std::error_code compressed;
  const std::uint64_t bytes = fs::file_size(path, compressed);
  return compressed ? fs::file_size(path.string() + ".gz") : bytes;
}

bool any_exists(const fs::path& run_dir, std::string_view pattern) {
  return !find_all(run_dir, pattern).empty();
}

constexpr std::uint64_t max_unpacked_bytes = std::uint64_t{4} << 30;

fs::path make_temporary_folder() {
  std::string name = (fs::temp_directory_path() / "profgate-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw core::step_failure("cannot make a temporary folder " + name + ": " + std::strerror(errno),
                             "free some room there, or set TMPDIR");
  }
  return name;
}

}  // namespace

std::vector<timeline_file> timeline_files(const fs::path& run_dir, const std::vector<std::string>& gates) {
  std::vector<timeline_file> files;
  for (const fs::path& path : find_all(run_dir, "nsys/run*.sqlite")) {
    timeline_file file{fs::relative(path, run_dir).string(), std::nullopt, {path}};
    const std::string stage = path.stem().extension().string();  // "run.prefill.sqlite" is gated on prefill
    if (!gates.empty()) file.gate = stage.size() > 1 ? stage.substr(1) : gates.front();
    files.push_back(std::move(file));
  }
  const std::vector<fs::path> embedded = find_all(run_dir, "nsys/embedded*.timeline");
  if (files.empty() && !embedded.empty()) {
    timeline_file file{"nsys/embedded.timeline", std::nullopt, embedded};
    // The collector takes all stages in one run.
    if (!gates.empty()) file.gate = fmt::format("{}", fmt::join(gates, ", "));
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<fs::path> profiled_results(const fs::path& run_dir) {
  return find_all(run_dir, "nsys/result*.json");
}

std::vector<fs::path> counter_files(const fs::path& run_dir) {
  return find_all(run_dir, "ncu/counters*.csv");
}

std::vector<analysis::artifact_facts> list_artifacts(const fs::path& run_dir) {
  std::vector<analysis::artifact_facts> list;
  for (const bundle_row& row : bundle) {
    if (row.made_by == "report") continue;  // their sizes are not known while they are made
    for (const fs::path& path : find_all(run_dir, row.path)) {
      list.push_back({fs::relative(path, run_dir).string(), std::string(row.title), stored_bytes(path)});
    }
  }
  return list;
}

std::vector<std::string> missing_artifacts(const fs::path& run_dir,
                                           const std::function<bool(const std::string&)>& ended_well) {
  std::vector<std::string> missing;
  for (const bundle_row& row : bundle) {
    // While the report step asks, its own status is "running": its files are due now.
    const bool due =
        row.made_by == "report" || (!row.made_by.empty() && ended_well(std::string(row.made_by)));
    if (due && !any_exists(run_dir, row.path)) missing.emplace_back(row.path);
  }
  const bool has_timeline =
      any_exists(run_dir, "nsys/run*.sqlite") || any_exists(run_dir, "nsys/embedded*.timeline");
  if (ended_well("timeline") && !has_timeline) missing.emplace_back("a timeline in nsys/");
  return missing;
}

plain_files::plain_files(const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    if (fs::exists(path)) {
      m_paths.push_back(path);
      continue;
    }
    if (m_folder.empty()) m_folder = make_temporary_folder();
    m_paths.push_back(m_folder / path.filename());
    artifacts::write_file_atomically(m_paths.back(), artifacts::read_file(path, max_unpacked_bytes));
  }
}

plain_files::~plain_files() {
  std::error_code ignored;
  if (!m_folder.empty()) fs::remove_all(m_folder, ignored);
}

}  // namespace profgate::runs
