#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "config/schema.h"
#include "core/json.h"
#include "machine.h"

namespace profgate::cli {
namespace {

void print_json(const std::vector<check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const check& c : checks) {
    list.push_back(
        {{"check", c.id}, {"state", to_text(c.state)}, {"finding", c.finding}, {"remedy", c.remedy}});
  }
  fmt::print("{}", core::json_text(nlohmann::ordered_json{{"schema_version", 1}, {"checks", list}}));
}

void print_table(const std::vector<check>& checks) {
  for (const check& c : checks) {
    fmt::print("{:<9} {:<19} {}\n", to_text(c.state), c.id, c.finding);
    if (!c.remedy.empty()) fmt::print("{:<9} {:<19} to fix it: {}\n", "", "", c.remedy);
  }
}

}  // namespace

core::exit_code doctor(const doctor_options& options) {
  const std::uint64_t needed_bytes = std::stoull(config::find_row("artifacts.max_run_bytes")->default_yaml);
  const machine_facts facts = look_at_machine(options.runs_dir, needed_bytes);
  const std::vector<check> checks = diagnose(facts, diagnose_profilers(facts));
  if (options.as_json) {
    print_json(checks);
  } else {
    print_table(checks);
  }
  return anything_broken(checks) ? core::exit_code::judged_bad : core::exit_code::good;
}

}  // namespace profgate::cli
