#include "parsers/benchmark_json.h"

#include <fmt/format.h>

#include "core/json.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace {

using core::json_cursor;

constexpr std::uintmax_t max_report_bytes = std::uintmax_t{256} << 20;

double ns_per_unit(const json_cursor& run) {
  const auto unit = run.find("time_unit");
  const std::string name = unit ? unit->text() : "ns";
  if (name == "ns") return 1;
  if (name == "us") return 1e3;
  if (name == "ms") return 1e6;
  if (name == "s") return 1e9;
  unit->fail(fmt::format("is '{}', but must be ns, us, ms or s", name));
}

bool is_aggregate(const json_cursor& run) {
  const auto type = run.find("run_type");
  return type && type->text() != "iteration";
}

benchmark_run read_run(const json_cursor& row) {
  benchmark_run run;
  run.name = row.require("name").text();
  if (const auto failed = row.find("error_occurred"); failed && failed->boolean()) {
    const auto message = row.find("error_message");
    run.error_message = message ? message->text() : "the benchmark failed without a message";
    return run;
  }
  run.iterations = row.require("iterations").count();
  run.real_time_ns = row.require("real_time").quantity() * ns_per_unit(row);
  return run;
}

}  // namespace

benchmark_report read_benchmark_json(const std::filesystem::path& file) {
  const std::string text = read_whole_file(file, max_report_bytes, "--benchmark_out");
  const std::string remedy = "run the benchmark again with --benchmark_out_format=json";
  const core::json_document document(text, file.string(), remedy);
  const json_cursor root = document.root();
  benchmark_report report;
  if (const auto context = root.find("context")) {
    for (const auto& [name, value] : context->members()) report.context[name] = value.shown();
  }
  for (const json_cursor& row : root.require("benchmarks").items()) {
    if (!is_aggregate(row)) report.runs.push_back(read_run(row));
  }
  return report;
}

}  // namespace profgate::parsers
