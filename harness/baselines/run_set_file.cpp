#include "baselines/run_set_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "artifacts/files.h"
#include "artifacts/sha256.h"
#include "core/error.h"
#include "core/experts_json.h"
#include "core/json.h"
#include "core/slips.h"
#include "run_set_text.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

using core::json_cursor;

/// 20 processes of 1,000 iterations of 8 stages are 2 MB.
constexpr std::uint64_t max_file_bytes = std::uint64_t{64} << 20;
constexpr std::string_view schema_major = "1.";

/// A file that cannot be read cannot be replaced either: `accept` reads what it replaces.
const std::string remove_and_measure_again =
    "remove it, measure the build again (profgate baseline record <pair>) and accept that: profgate baseline "
    "accept (an anchor: then profgate baseline anchor <pair> --name <its name> --force)";
const std::string restore_or_measure_again = "restore the file from git; or " + remove_and_measure_again;

acceptance read_acceptance(const json_cursor& object) {
  acceptance accepted;
  accepted.accepted_utc = object.require("accepted_utc").text();
  accepted.author = object.require("author").text();
  accepted.reason = object.require("reason").text();
  accepted.commit = object.require("commit").text();
  accepted.previous_sha256 = object.require("previous_sha256").text();
  return accepted;
}

gate::build_identity read_identity(const json_cursor& object) {
  gate::build_identity identity;
  const auto text = [&](const char* key) { return object.require(key).text(); };
  identity.pair = text("pair");
  identity.model = text("model");
  identity.config_sha256 = text("config_sha256");
  identity.device_name = text("device_name");
  identity.multiprocessors = object.require("multiprocessors").integer();
  identity.is_profiled = object.require("is_profiled").boolean();
  identity.commit = text("commit");
  identity.is_dirty = object.require("is_dirty").boolean();
  identity.profgate_version = text("profgate_version");
  identity.host = text("host");
  identity.boot_id = text("boot_id");
  identity.device_uuid = text("device_uuid");
  if (const auto typed = object.find("typed_settings_sha256")) identity.typed_settings_sha256 = typed->text();
  for (const auto& [name, version] : object.require("versions").members()) {
    identity.versions[name] = version.text();
  }
  return identity;
}

gate::run_conditions read_conditions(const json_cursor& object) {
  gate::run_conditions conditions;
  const auto quantity = [&](const char* key) -> std::optional<double> {
    const std::optional<json_cursor> value = object.find(key);
    return value ? std::optional(value->quantity()) : std::nullopt;
  };
  conditions.sm_clock_mhz = quantity("sm_clock_mhz");
  conditions.temperature_c = quantity("temperature_c");
  conditions.power_w = quantity("power_w");
  conditions.throttle_reasons = object.require("throttle_reasons").texts();
  conditions.foreign_processes = object.require("foreign_processes").texts();
  return conditions;
}

gate::process_record read_process(const json_cursor& object) {
  gate::process_record process;
  process.slot = static_cast<std::size_t>(object.require("slot").integer());
  process.started_utc = object.require("started_utc").text();
  process.conditions = read_conditions(object.require("conditions"));
  if (const auto spoiled = object.find("spoiled_by")) process.spoiled_by = spoiled->text();
  for (const auto& [stage, values] : object.require("samples_ns").members()) {
    std::vector<std::int64_t>& samples = process.samples_ns[stage];
    for (const json_cursor& value : values.items()) samples.push_back(value.integer(1));
  }
  return process;
}

/// Neither a time in nanoseconds nor a count of a traced process is larger.
std::int64_t traced_number(const json_cursor& value) {
  return value.integer(0, 10'000'000'000'000);
}

gate::operation_facts read_facts(const json_cursor& object) {
  const auto whole = [](const json_cursor& value) {
    return static_cast<std::uint32_t>(value.integer(0, std::numeric_limits<std::uint32_t>::max()));
  };
  const auto dimensions = [&](const json_cursor& list) {
    const std::vector<json_cursor> values = list.items();
    std::array<std::uint32_t, 3> all{};
    if (values.size() != all.size()) list.fail("must have three numbers");
    std::transform(values.begin(), values.end(), all.begin(), whole);
    return all;
  };
  gate::operation_facts facts;
  facts.name = object.require("name").text();
  facts.path = object.require("operator_path").text();
  if (const auto bytes = object.find("bytes")) facts.bytes = traced_number(*bytes);
  if (const auto code = object.find("code")) facts.code = code->text();
  for (const json_cursor& launch : object.require("launches").items()) {
    gate::launch_configuration configuration{
        dimensions(launch.require("grid")), dimensions(launch.require("block")),
        whole(launch.require("registers_per_thread")), whole(launch.require("shared_bytes"))};
    if (const auto bytes = launch.find("dynamic_shared_bytes"))
      configuration.dynamic_shared_bytes = whole(*bytes);
    if (const auto bytes = launch.find("local_bytes")) configuration.local_bytes = whole(*bytes);
    if (const auto cluster = launch.find("cluster")) configuration.cluster = dimensions(*cluster);
    facts.launches[configuration] += traced_number(launch.require("count"));
  }
  return facts;
}

gate::stage_structure read_structure(const json_cursor& object) {
  gate::stage_structure structure;
  structure.tokens = object.require("tokens").integer();
  if (const auto launches = object.find("launches")) structure.launches = launches->integer();
  if (const auto nodes = object.find("graph_nodes")) structure.graph_nodes = nodes->integer();
  if (const auto copies = object.find("graph_copies")) structure.graph_copies = traced_number(*copies);
  if (const auto kernels = object.find("kernels")) {
    const std::vector<std::string> names = kernels->texts();
    structure.kernels.emplace(names.begin(), names.end());
  }
  if (const auto reason = object.find("kernels_absent_reason"))
    structure.kernels_absent_reason = reason->text();
  if (const auto calls = object.find("calls")) {
    for (const json_cursor& called : calls->items())
      structure.calls[{called.require("name").text(), called.require("operator_path").text()}] =
          traced_number(called.require("count"));
  }
  if (const auto waits = object.find("synchronisations")) {
    structure.synchronisations.emplace();
    for (const auto& [call, count] : waits->members())
      (*structure.synchronisations)[call] = traced_number(count);
  }
  if (const auto operations = object.find("operations")) {
    for (const json_cursor& facts : operations->items()) structure.operations.push_back(read_facts(facts));
  }
  return structure;
}

std::vector<analysis::layer_sum> read_layers(const json_cursor& object) {
  const json_cursor numbers = object.require("number");
  const json_cursor launches = object.require("launches");
  const json_cursor costs = object.require("cost_ns");
  const std::size_t count = numbers.item_count();
  if (count > analysis::most_layers)
    numbers.fail(fmt::format("has {} layers, more than {}", count, analysis::most_layers));
  for (const json_cursor& column : {launches, costs}) {
    if (column.item_count() != count)
      column.fail(fmt::format("has {} values for {} layers", column.item_count(), count));
  }
  std::vector<analysis::layer_sum> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const json_cursor number = numbers.item(i);
    const auto layer = static_cast<std::int32_t>(number.integer(0, std::numeric_limits<std::int32_t>::max()));
    if (!layers.empty() && layer <= layers.back().layer) number.fail("is not above the one before it");
    layers.push_back({layer, traced_number(launches.item(i)), traced_number(costs.item(i))});
  }
  return layers;
}

/// What schema 1.0 did not have yet is 0.
analysis::operation_sum read_operation(const json_cursor& object) {
  const auto number = [&](const char* key) {
    const std::optional<json_cursor> value = object.find(key);
    return value ? traced_number(*value) : 0;
  };
  analysis::operation_sum sum;
  sum.name = object.require("name").text();
  sum.operator_path = object.require("operator_path").text();
  if (const auto category = object.find("category")) sum.category = category->text();
  sum.launches = traced_number(object.require("launches"));
  sum.total_ns = traced_number(object.require("total_ns"));
  sum.exclusive_units = number("shared_ns") * analysis::units_per_ns;
  sum.first_at_ns = number("first_at_ns");
  sum.waiting_ns = number("waiting_ns");
  if (const auto latency = object.find("latency_ns")) sum.latency_ns = traced_number(*latency);
  if (const auto early = object.find("early_launches")) sum.early_launches = traced_number(*early);
  if (const auto layers = object.find("layers")) sum.layers = read_layers(*layers);
  return sum;
}

analysis::idle_place read_place(const json_cursor& object) {
  analysis::idle_place place;
  const json_cursor cause = object.require("cause");
  std::size_t which = 0;
  while (which < analysis::idle_cause_count &&
         analysis::to_text(static_cast<analysis::idle_cause>(which)) != cause.text())
    ++which;
  if (which == analysis::idle_cause_count) cause.fail(fmt::format("is no cause: \"{}\"", cause.text()));
  place.cause = static_cast<analysis::idle_cause>(which);
  place.call = object.require("call").text();
  place.host_range = object.require("host_range").text();
  place.idle_ns = traced_number(object.require("idle_ns"));
  return place;
}

analysis::stage_times read_idle(const json_cursor& object) {
  analysis::stage_times times;
  times.occurrences = traced_number(object.require("occurrences"));
  times.time_ns = traced_number(object.require("time_ns"));
  const json_cursor idle = object.require("idle_ns");
  for (std::size_t i = 0; i < analysis::idle_cause_count; ++i) {
    const std::string cause = analysis::to_text(static_cast<analysis::idle_cause>(i));
    times.idle.by_cause_ns[i] = traced_number(idle.require(cause));
  }
  if (const auto places = object.find("places")) {
    for (const json_cursor& place : places->items()) times.places.push_back(read_place(place));
  }
  return times;
}

/// "kernels" and, since schema 1.1, "traced_stages": both by process and stage.
std::vector<std::map<std::string, analysis::stage_operations>> read_traces(const json_cursor& root) {
  std::vector<std::map<std::string, analysis::stage_operations>> traces;
  for (const json_cursor& traced : root.require("kernels").items()) {
    auto& stages = traces.emplace_back();
    for (const auto& [stage, kernels] : traced.members()) {
      for (const json_cursor& kernel : kernels.items())
        stages[stage].operations.push_back(read_operation(kernel));
    }
  }
  const std::optional<json_cursor> all_times = root.find("traced_stages");
  if (!all_times) return traces;
  const std::vector<json_cursor> processes = all_times->items();
  if (processes.size() != traces.size())
    all_times->fail(fmt::format("has {} processes, \"kernels\" has {}", processes.size(), traces.size()));
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const auto& [stage, times] : processes[i].members()) traces[i][stage].times = read_idle(times);
  }
  return traces;
}

gate::kernel_counts read_counts(const json_cursor& object) {
  gate::kernel_counts counts;
  counts.stage = object.require("stage").text();
  counts.name = object.require("name").text();
  counts.path = object.require("operator_path").text();
  counts.launches = traced_number(object.require("launches"));
  for (const gate::count_row& row : gate::count_rows()) {
    if (const auto value = object.find(row.key)) counts.*row.value = value->quantity();
  }
  return counts;
}

gate::run_set read_runs(const json_cursor& root) {
  gate::run_set runs;
  runs.identity = read_identity(root.require("identity"));
  runs.created_utc = root.require("created_utc").text();
  for (const json_cursor& process : root.require("processes").items()) {
    runs.processes.push_back(read_process(process));
  }
  for (const auto& [stage, structure] : root.require("structure").members()) {
    runs.structure[stage] = read_structure(structure);
  }
  runs.traces = read_traces(root);
  if (const auto stages = root.find("gated_stages")) runs.gated_stages = stages->texts();
  if (const auto units = root.find("figure_units")) {
    for (const auto& [name, unit] : units->members()) runs.units_of_figures[name] = unit.text();
  }
  if (const auto tokens = root.find("decode_tokens")) runs.decode_tokens = tokens->integer();
  if (const auto experts = root.find("experts")) runs.experts = core::read_experts(*experts);
  if (const auto reason = root.find("untraced_because")) runs.untraced_because = reason->text();
  if (const auto counters = root.find("counters")) {
    for (const json_cursor& counts : counters->items()) runs.counters.push_back(read_counts(counts));
  }
  if (const auto reason = root.find("uncounted_because")) runs.uncounted_because = reason->text();
  return runs;
}

void check_schema(const json_cursor& version, const std::string& file) {
  const std::string written = version.text();
  const std::size_t dot = written.find('.');
  const bool is_version = dot != std::string::npos && dot > 0 && dot + 1 < written.size() &&
                          written.find_first_not_of("0123456789.") == std::string::npos;
  if (!is_version) version.fail(fmt::format("is \"{}\", but must be like \"1.0\"", written));
  if (written.starts_with(schema_major)) return;
  throw core::not_possible(
      fmt::format("{}: a run set of schema {}, this profgate reads {}x", file, written, schema_major),
      "read it with the profgate that wrote it; or " + remove_and_measure_again);
}

void refuse_merge_markers(std::string_view text, const std::string& file) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (core::is_merge_marker(text.substr(0, end))) {
      throw core::bad_input(
          file, number, "this line is the marker of an unfinished merge",
          "take one side as a whole (git checkout --ours or --theirs with the file's path): lines of two run "
          "sets do not mix; then accept the other one anew, if it is the later one");
    }
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

stored_run_set parse_run_set(std::string_view text, const std::string& file) {
  refuse_merge_markers(text, file);
  const core::json_document document(text, file, restore_or_measure_again, core::json_rules::strict);
  const json_cursor root = document.root();
  check_schema(root.require("schema_version"), file);
  stored_run_set stored;
  stored.runs = read_runs(root);
  stored.run_id = root.require("run_id").text();
  for (const json_cursor& accepted : root.require("accepted").items()) {
    stored.accepted.push_back(read_acceptance(accepted));
  }
  const json_cursor written = root.require("content_sha256");
  stored.content_sha256 = content_sha256_of(document.value());
  if (written.text() != stored.content_sha256) {
    throw core::bad_input(file, 0, "edited by hand: its content is not what its content_sha256 was made of",
                          restore_or_measure_again);
  }
  return stored;
}

stored_run_set read_run_set(const fs::path& file) {
  return parse_run_set(artifacts::read_file(file, max_file_bytes), file.string());
}

std::string write_run_set(const fs::path& file, const stored_run_set& stored) {
  const std::string text = run_set_text(stored);
  artifacts::make_folder(artifacts::folder_of(file));
  artifacts::write_file_atomically(file, text);
  return parse_run_set(text, file.string()).content_sha256;
}

}  // namespace profgate::baselines
