#include "make_reports.h"

#include "analysis/bare_run.h"
#include "analysis/profile.h"
#include "artifacts/files.h"
#include "core/json.h"
#include "render/render.h"

namespace profgate::cli {
namespace fs = std::filesystem;

void make_profile(runs::run_reader& run) {
  const analysis::run_facts facts = run.facts();
  const fs::path& run_dir = run.path();
  if (facts.bare.bench || !facts.bare.process_wall_ns.empty()) {
    artifacts::write_file_atomically(run_dir / "stage1" / "metrics.json",
                                     analysis::stage1_metrics_json(facts.bare));
  }
  artifacts::write_file_atomically(run_dir / "profile.json", analysis::profile_json(facts));
}

void make_reports(const fs::path& run_dir, const fs::path& templates_dir) {
  const fs::path profile = run_dir / "profile.json";
  const std::string text = artifacts::read_file(profile);
  // Those who walk through it do so by calls within calls: too deep a document would end in a crash.
  const core::json_document whole(text, profile.string(), "'profgate analyze' makes it again");
  analysis::validate_profile(text, profile.string());
  fs::create_directories(run_dir / "ncu" / "regions");
  render::render_reports(text, templates_dir, run_dir, artifacts::write_file_atomically);
}

}  // namespace profgate::cli
