#include "profilers/backends.h"

#include "core/error.h"
#include "core/regular_file.h"
#include "parsers/ncu.h"
#include "parsers/timeline.h"
#include "profilers/collector_installation.h"
#include "profilers/ncu_installation.h"
#include "profilers/nsys_installation.h"

namespace profgate::profilers {

const std::vector<timeline_backend>& timeline_backends() {
  static const std::vector<timeline_backend> rows = {
      {.tool = {.name = "nsys",
                .title = "nsys",
                .find = find_nsys,
                .remedy = "install Nsight Systems, set PROFGATE_NSYS",
                .version = nsys_version,
                .diagnose = diagnose_nsys,
                .settings = nsys_settings,
                .artifacts = {{"nsys/run*.nsys-rep", "Timeline for Nsight Systems"},
                              {"nsys/run*.sqlite", "Timeline as SQLite"},
                              {"nsys/run*.csv", "Summary by nsys stats"}}},
       .capture = capture_with_nsys,
       .read = parsers::read_nsys_sqlite,
       .timelines = "nsys/run*.sqlite",
       .has_one_file_a_gate = true},
      {.tool = {.name = "embedded",
                .title = "the embedded collector",
                .diagnose = diagnose_collector,
                .settings = collector_settings,
                .artifacts = {{"nsys/embedded*.timeline", "Timeline of the embedded collector"}}},
       .capture = capture_embedded,
       .is_own_file = parsers::is_embedded_timeline,
       .read = parsers::read_embedded_timeline,
       .timelines = "nsys/embedded*.timeline"},
  };
  return rows;
}

const std::vector<counter_backend>& counter_backends() {
  static const std::vector<counter_backend> rows = {
      {.tool = {.name = "ncu",
                .title = "ncu",
                .find = find_ncu,
                .remedy = "install Nsight Compute (part of the CUDA Toolkit) or set PROFGATE_NCU",
                .version = ncu_version,
                .diagnose = diagnose_ncu,
                .settings = ncu_settings,
                .artifacts = {{"ncu/run*.ncu-rep", "Counters for Nsight Compute", true},
                              {"ncu/raw*.csv", "Counters, all of them", true},
                              {"ncu/counters*.csv", "Counters that the analysis reads", true},
                              {"ncu/sections.txt", "Sections that ncu knows"}}},
       .require_access = require_counter_access,
       .capture = capture_counters,
       .read = parsers::read_ncu_counters,
       .counters = "ncu/counters*.csv",
       .all_counters = "ncu/raw*.csv",
       .conditions = ncu_conditions},
  };
  return rows;
}

std::vector<const profiler*> all_profilers() {
  std::vector<const profiler*> all;
  for (const timeline_backend& backend : timeline_backends()) all.push_back(&backend.tool);
  for (const counter_backend& backend : counter_backends()) all.push_back(&backend.tool);
  return all;
}

namespace {

core::timeline read_by_its_owner(const std::filesystem::path& file) {
  core::require_regular_file(file);
  const timeline_backend* reader = nullptr;
  for (const timeline_backend& backend : timeline_backends()) {
    if (backend.is_own_file == nullptr) {
      reader = reader == nullptr ? &backend : reader;
    } else if (backend.is_own_file(file)) {
      return backend.read(file);
    }
  }
  return reader->read(file);
}

}  // namespace

core::timeline read_timelines(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) {
    throw core::bad_input("no timeline file to read", "run the timeline step again");
  }
  core::timeline all = read_by_its_owner(files.front());
  for (auto file = files.begin() + 1; file != files.end(); ++file)
    parsers::append_timeline(all, read_by_its_owner(*file), *file);
  parsers::tell_gpus_apart(all);
  return all;
}

}  // namespace profgate::profilers
