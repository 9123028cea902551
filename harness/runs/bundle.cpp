#include "bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "artifacts/files.h"
#include "core/error.h"
#include "profilers/backends.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

/// Data first, then provenance; the reports are render::reports(), which are written or fail. A name may hold
/// one *, which stands for whatever is there.
struct bundle_row {
  std::string_view path;
  std::string_view title;
  std::string_view made_by;    ///< the step that must have left it once it is ok; empty: not required
  std::string_view by_tool{};  ///< with this profiler; empty: with any
};

const std::vector<bundle_row>& bundle() {
  static const std::vector<bundle_row> rows = [] {
    std::vector<bundle_row> all = {
        {"profile.json", "The canonical profile", "report"},
        {"trace.json.gz", "The timeline, for ui.perfetto.dev", ""},
        {"gate.md", "The gate's verdict", ""},
        {"gate.svg", "The gate's verdict, drawn", ""},
        {"verdict.json", "The gate's verdict, for programs", ""},
        {"stage1/metrics.json", "Metrics of the bare run", "stage1"},
        {"stage1/result.json", "What the workload said of itself", ""},
        {"stage1/benchmark.json", "Google Benchmark's own output", ""},
        {"stage1/process_samples.json", "Duration of each bare process", ""},
        {"stage1/pytorch.*.json", "What the PyTorch adapter saw in a process", ""},
        {"stage1/client_log.txt", "What the server's client said", ""},
    };
    const auto add = [&](const profilers::profiler& tool, std::string_view step) {
      for (const profilers::artifact_row& row : tool.artifacts)
        all.push_back({row.path, row.title, row.is_required ? step : "", tool.name});
    };
    for (const profilers::timeline_backend& backend : profilers::timeline_backends())
      add(backend.tool, "timeline");
    for (const profilers::counter_backend& backend : profilers::counter_backends())
      add(backend.tool, "counters");
    all.insert(all.end(), {
                              {"ncu/selection.json", "Kernels that were chosen for the counters", "counters"},
                              {"ncu/config.yaml", "Configuration of the workload under ncu", ""},
                              {"env.json", "Provenance: machine, versions, commands", "prepare"},
                              {"config.yaml", "Resolved configuration", "prepare"},
                              {"inputs.yaml", "What the workload was fed", "prepare"},
                          });
    return all;
  }();
  return rows;
}

bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

/// Files in the folder of `pattern` that match its last part, sorted; one that was compressed later counts by
/// its name without .gz.
std::vector<fs::path> find_all(const fs::path& run_dir, std::string_view pattern) {
  const fs::path wanted = run_dir / pattern;
  std::vector<fs::path> found;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(wanted.parent_path(), absent)) {
    if (!entry.is_regular_file()) continue;
    fs::path path = entry.path();
    const auto is_wanted = [&] { return matches(path.filename().string(), wanted.filename().string()); };
    if (!is_wanted() && path.extension() == ".gz") path.replace_extension();
    if (is_wanted()) found.push_back(path);
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

std::optional<std::string> gate_of_timeline(const fs::path& path, const std::vector<std::string>& gates) {
  if (gates.empty()) return std::nullopt;
  const std::string stage = path.stem().extension().string();
  return stage.size() > 1 ? stage.substr(1) : gates.front();
}

std::vector<timeline_file> timeline_files(const fs::path& run_dir, const std::vector<std::string>& gates) {
  for (const profilers::timeline_backend& backend : profilers::timeline_backends()) {
    const std::vector<fs::path> paths = find_all(run_dir, backend.timelines);
    if (paths.empty()) continue;
    std::vector<timeline_file> files;
    if (!backend.has_one_file_a_gate) {
      std::string name(backend.timelines);
      std::erase(name, '*');
      files.push_back({name, std::nullopt, paths});
      if (!gates.empty()) files.front().gate = fmt::format("{}", fmt::join(gates, ", "));
      return files;
    }
    for (const fs::path& path : paths) {
      files.push_back({fs::relative(path, run_dir).string(), gate_of_timeline(path, gates), {path}});
    }
    return files;
  }
  return {};
}

std::vector<fs::path> profiled_results(const fs::path& run_dir) {
  return find_all(run_dir, "nsys/result*.json");
}

std::vector<fs::path> files_like(const fs::path& run_dir, std::string_view pattern) {
  return find_all(run_dir, pattern);
}

std::vector<analysis::artifact_facts> list_artifacts(const fs::path& run_dir) {
  std::vector<analysis::artifact_facts> list;
  for (const bundle_row& row : bundle()) {
    if (row.made_by == "report") continue;  // their sizes are not known while they are made
    for (const fs::path& path : find_all(run_dir, row.path)) {
      list.push_back({fs::relative(path, run_dir).string(), std::string(row.title), stored_bytes(path)});
    }
  }
  return list;
}

std::vector<std::string> missing_artifacts(const fs::path& run_dir, const status_lookup& status_of) {
  const auto ended_well = [&](std::string_view step) {
    const std::optional<artifacts::step_status>& status = status_of(std::string(step));
    return status && status->state == core::step_state::ok;
  };
  std::vector<std::string> missing;
  for (const bundle_row& row : bundle()) {
    // While the report step asks, its own status is "running": its files are due now.
    const bool due = row.made_by == "report" ||
                     (!row.made_by.empty() && ended_well(row.made_by) &&
                      (row.by_tool.empty() || status_of(std::string(row.made_by))->tool == row.by_tool));
    if (due && !any_exists(run_dir, row.path)) missing.emplace_back(row.path);
  }
  if (ended_well("timeline") && timeline_files(run_dir, {}).empty())
    missing.emplace_back("a timeline in nsys/");
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
