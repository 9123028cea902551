#pragma once

#include <filesystem>
#include <optional>

#include "gate/judgement.h"
#include "runs/run_reader.h"

namespace profgate::cli {

/// Analyses a run directory into its stage1/metrics.json (where stage 1 ran) and profile.json.
/// bad_input, with all files left as they are, where that would take the tables of a trace that is gone.
void make_profile(runs::run_reader& run);

/// The verdict that the gate left in the run, where it came that far; bad_input where it cannot be read.
std::optional<gate::judgement> verdict_of(const std::filesystem::path& run_dir);

/// The same for a report, which one that another version judged has without it; that is said.
std::optional<gate::judgement> readable_verdict_of(const std::filesystem::path& run_dir);

/// trace.json.gz of the run's captures; nothing where there are none.
void write_trace(const analysis::run_facts& facts, const std::filesystem::path& folder);

/// Renders every report from the run's profile.json.
void make_reports(const std::filesystem::path& run_dir, const std::filesystem::path& templates_dir);

/// What a person wants to know then: how fast, bound by what, judged how, and where to read on.
void print_outcome(const std::filesystem::path& run_dir);

/// Lists in the reports what a step after them has left. The traces are not read again.
void list_new_files(const std::filesystem::path& run_dir, const std::filesystem::path& templates_dir);

}  // namespace profgate::cli
