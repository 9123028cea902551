#include "make_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/bare_run.h"
#include "analysis/profile.h"
#include "artifacts/files.h"
#include "artifacts/status.h"
#include "core/error.h"
#include "core/json.h"
#include "render/render.h"
#include "render/trace_events.h"
#include "render/verdict_json.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;
using namespace nlohmann::literals;

namespace {

bool lists_any(const nlohmann::json& from, const nlohmann::json::json_pointer& place) {
  return from.contains(place) && !from.at(place).empty();
}

/// The files of a trace are large: a run may have been copied without them, its profile.json with.
void require_no_loss(const analysis::run_facts& facts, const fs::path& profile) {
  const bool has_kernels_of_tool = std::any_of(facts.kernel_summaries.begin(), facts.kernel_summaries.end(),
                                               [](const auto& summary) { return !summary.kernels.empty(); });
  if (!facts.captures.empty() || has_kernels_of_tool || !artifacts::file_exists(profile)) return;
  const nlohmann::json before = core::parse_json(artifacts::read_file(profile));
  if (!before.is_object()) return;  // nothing to lose
  // What was made of the counters alone can be made of them again.
  const bool was_counted =
      !facts.counters.launches.empty() && !lists_any(before, "/timeline/captures"_json_pointer);
  bool has_tables = !was_counted && lists_any(before, "/kernels/overall"_json_pointer);
  for (const nlohmann::json& stage : before.value("stages", nlohmann::json::array()))
    has_tables = has_tables || lists_any(stage, "/operators"_json_pointer);
  if (!has_tables) return;
  throw core::bad_input(profile.string(), 0,
                        "has tables of kernels or operators, and the files that they come from are gone: " +
                            facts.captures_absent_reason,
                        "bring nsys/run*.sqlite (or nsys/embedded*.timeline) back; 'profgate render' makes "
                        "the reports from profile.json as it is");
}

/// Empty: nobody wanted a verdict.
std::string why_not_judged(const fs::path& run_dir) {
  for (const char* step : {"timeline", "counters", "report"}) {
    const auto status = artifacts::read_status(run_dir, step);
    if (status && status->state == core::step_state::failed) return fmt::format("step {} failed", step);
  }
  const auto gate = artifacts::read_status(run_dir, "gate");
  return gate ? gate->reason : "";
}

}  // namespace

std::optional<gate::judgement> verdict_of(const fs::path& run_dir) {
  const fs::path file = run_dir / "verdict.json";
  if (!artifacts::file_exists(file)) return std::nullopt;
  return render::read_verdict(artifacts::read_file(file), file.string());
}

std::optional<gate::judgement> readable_verdict_of(const fs::path& run_dir) {
  try {
    return verdict_of(run_dir);
  } catch (const core::bad_input& fault) {
    print_error("profgate: report.html has no verdict: {}\n", fault.what());
    return std::nullopt;
  }
}

void write_trace(const analysis::run_facts& facts, const fs::path& folder) {
  if (facts.captures.empty()) return;
  artifacts::write_gzip_atomically(folder / "trace.json.gz",
                                   [&](const auto& write) { render::write_trace_events(facts, write); });
}

void make_profile(runs::run_reader& run) {
  analysis::run_facts facts = run.facts();
  const fs::path& run_dir = run.path();
  require_no_loss(facts, run_dir / "profile.json");
  if (facts.bare.bench || !facts.bare.process_wall_ns.empty()) {
    artifacts::write_file_atomically(run_dir / "stage1" / "metrics.json",
                                     analysis::stage1_metrics_json(facts.bare));
  }
  write_trace(facts, run_dir);
  facts.artifacts = run.artifacts();
  artifacts::write_file_atomically(run_dir / "profile.json", analysis::profile_json(facts));
}

void make_reports(const fs::path& run_dir, const fs::path& templates_dir) {
  const fs::path profile = run_dir / "profile.json";
  const std::string text = artifacts::read_file(profile);
  const std::optional<gate::judgement> judged = readable_verdict_of(run_dir);
  // It refuses a profile that is not valid before it writes anything.
  const auto write = [](const fs::path& file, std::string_view report) {
    artifacts::make_folder(file.parent_path());
    artifacts::write_file_atomically(file, report);
  };
  render::render_reports(text, templates_dir, run_dir, write, judged);
}

void list_new_files(const fs::path& run_dir, const fs::path& templates_dir) {
  const fs::path profile = run_dir / "profile.json";
  artifacts::write_file_atomically(profile,
                                   analysis::with_artifacts(artifacts::read_file(profile), profile.string(),
                                                            runs::run_reader(run_dir).artifacts()));
  make_reports(run_dir, templates_dir);
}

void print_outcome(const fs::path& run_dir) {
  const fs::path profile = run_dir / "profile.json";
  // Of a program that never ran to its end there is nothing to tell but why, which was told.
  const auto stage1 = artifacts::read_status(run_dir, "stage1");
  const bool is_timed = !stage1 || stage1->state == core::step_state::ok;
  if (is_timed && artifacts::file_exists(profile)) {
    for (const std::string& line : render::closing_lines(
             artifacts::read_file(profile), readable_verdict_of(run_dir), why_not_judged(run_dir)))
      print("{}\n", line);
  }
  const fs::path report = run_dir / "report.html";
  if (artifacts::file_exists(report)) {
    print("report: {} (open it in a browser; without one read report.md beside it)\n", report.string());
  } else {
    print("run directory: {}\n", run_dir.string());
  }
}

}  // namespace profgate::cli
