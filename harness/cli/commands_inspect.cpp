#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "artifacts/gpu_facts.h"
#include "artifacts/retention.h"
#include "baselines/baseline_store.h"
#include "commands.h"
#include "config/schema.h"
#include "core/json.h"
#include "core/units.h"
#include "installation.h"
#include "machine.h"
#include "make_reports.h"
#include "pair_manifest.h"
#include "requirements.h"
#include "terminal.h"

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
    print("{:<32} {:<5} {}\n", pair.pair, pair.device, obstacle ? "not here: " + *obstacle : "can run here");
  }
  return core::exit_code::good;
}

core::exit_code analyze(const fs::path& run) {
  runs::run_reader reader(run);
  make_profile(reader);
  make_reports(run, find_installation().templates_dir);
  print_outcome(run);
  return core::exit_code::good;
}

core::exit_code render(const fs::path& run, const std::optional<fs::path>& templates_dir) {
  const runs::run_reader is_a_run(run);
  make_reports(run, templates_dir ? *templates_dir : find_installation().templates_dir);
  print_outcome(run);
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
    print("keep    {}  ({})\n", item.run_directory.string(), item.reason);
  for (const artifacts::clean_item& item : plan.remove)
    print("remove  {}  {}\n", item.run_directory.string(), in_words(item.bytes));
  if (!options.yes) {
    print("{} runs, {} would be removed; add --yes to remove them\n", plan.remove.size(),
          in_words(plan.bytes));
  } else {
    print("removed {} runs, {} freed\n", plan.remove.size(),
          in_words(artifacts::apply_clean(options.runs_dir, plan)));
  }
  return core::exit_code::good;
}

namespace {

void print_json(const std::vector<check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const check& c : checks) {
    list.push_back(
        {{"check", c.id}, {"state", to_text(c.state)}, {"finding", c.finding}, {"remedy", c.remedy}});
  }
  print("{}", core::json_text(nlohmann::ordered_json{{"schema_version", 1}, {"checks", list}}));
}

void print_table(const std::vector<check>& checks) {
  for (const check& c : checks) {
    print("{:<9} {:<19} {}\n", to_text(c.state), c.id, c.finding);
    if (!c.remedy.empty()) print("{:<9} {:<19} to fix it: {}\n", "", "", c.remedy);
  }
}

}  // namespace

core::exit_code doctor(const doctor_options& options) {
  const std::set<std::string> required = parse_requirements(
      options.require, "--require", {require_gpu_word, require_nsys_word, require_ncu_word});
  const std::uint64_t needed_bytes = std::stoull(config::find_row("artifacts.max_run_bytes")->default_yaml);
  const machine_facts facts = look_at_machine(options.runs_dir, needed_bytes);
  const std::vector<check> checks = diagnose(facts, diagnose_profilers(facts));
  if (options.as_json) {
    print_json(checks);
  } else {
    print_table(checks);
  }
  const std::vector<std::string> missing = unmet(required, checks);
  for (const std::string& sentence : missing) print_error("profgate: required, but {}\n", sentence);
  return anything_broken(checks) || !missing.empty() ? core::exit_code::failed : core::exit_code::good;
}

}  // namespace profgate::cli
