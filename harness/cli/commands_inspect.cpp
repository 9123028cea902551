#include <fmt/format.h>

#include "artifacts/gpu_facts.h"
#include "artifacts/retention.h"
#include "baselines/baseline_store.h"
#include "commands.h"
#include "core/units.h"
#include "installation.h"
#include "machine.h"
#include "make_reports.h"
#include "pair_manifest.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

std::string in_words(std::uint64_t bytes) {
  return core::format_bytes(static_cast<double>(bytes));
}

}  // namespace

core::exit_code list(const list_options& options) {
  const artifacts::gpu_facts gpu = artifacts::gather_gpu_facts();
  for (const pair_manifest& pair : registered_pairs(find_build_dir(options.build_dir))) {
    const std::optional<std::string> obstacle = pair.device == "cuda" ? why_no_gpu(gpu) : std::nullopt;
    fmt::print("{:<32} {:<5} {}\n", pair.pair, pair.device,
               obstacle ? "not here: " + *obstacle : "can run here");
  }
  return core::exit_code::good;
}

core::exit_code analyze(const fs::path& run) {
  runs::run_reader reader(run);
  make_profile(reader);
  make_reports(run, find_installation().templates_dir);
  fmt::print("{}\n", (run / "report.md").string());
  return core::exit_code::good;
}

core::exit_code render(const fs::path& run, const std::optional<fs::path>& templates_dir) {
  const runs::run_reader is_a_run(run);
  make_reports(run, templates_dir ? *templates_dir : find_installation().templates_dir);
  fmt::print("{}\n", (run / "report.md").string());
  return core::exit_code::good;
}

core::exit_code clean(const clean_options& options) {
  artifacts::clean_request request;
  request.pair = options.pair;
  request.all = options.everything;
  request.protected_run_ids = baselines::run_ids_of_baselines(options.baselines_dir);
  if (options.keep) request.keep = static_cast<std::size_t>(*options.keep);
  if (options.older_than_days) request.older_than = std::chrono::hours(24) * *options.older_than_days;
  const artifacts::clean_plan plan = artifacts::plan_clean(options.runs_dir, request);
  for (const artifacts::kept_item& item : plan.keep)
    fmt::print("keep    {}  ({})\n", item.run_directory.string(), item.reason);
  for (const artifacts::clean_item& item : plan.remove)
    fmt::print("remove  {}  {}\n", item.run_directory.string(), in_words(item.bytes));
  if (!options.yes) {
    fmt::print("{} runs, {} would be removed; add --yes to remove them\n", plan.remove.size(),
               in_words(plan.bytes));
  } else {
    fmt::print("removed {} runs, {} freed\n", plan.remove.size(),
               in_words(artifacts::apply_clean(options.runs_dir, plan)));
  }
  return core::exit_code::good;
}

}  // namespace profgate::cli
