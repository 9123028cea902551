#include "run_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/experts_json.h"
#include "core/json.h"

namespace profgate::ab {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;
constexpr const char* remedy = "remove its folder: the comparison then starts afresh";

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

std::optional<double> optional_number(const core::json_cursor& object, const char* key) {
  const auto value = object.find(key);
  return value ? std::optional(value->number()) : std::nullopt;
}

std::optional<std::string> optional_text(const core::json_cursor& object, const char* key) {
  const auto value = object.find(key);
  return value ? std::optional(value->text()) : std::nullopt;
}

std::string kind_name(run_kind kind) {
  switch (kind) {
    case run_kind::warm_up:
      return "warm-up";
    case run_kind::counted:
      return "counted";
    case run_kind::traced:
      return "traced";
  }
  return "counted";
}

run_kind kind_of(const core::json_cursor& name) {
  for (const run_kind kind : {run_kind::warm_up, run_kind::counted, run_kind::traced}) {
    if (kind_name(kind) == name.text()) return kind;
  }
  name.fail(fmt::format("is '{}', which is no kind of run", name.text()));
}

gate::arm arm_of(const core::json_cursor& name) {
  for (const gate::arm which : {gate::arm::baseline, gate::arm::candidate}) {
    if (arm_name(which) == name.text()) return which;
  }
  name.fail(fmt::format("is '{}', which is no arm", name.text()));
}

json conditions_json(const gate::run_conditions& conditions) {
  return {{"sm_clock_mhz", or_null(conditions.sm_clock_mhz)},
          {"temperature_c", or_null(conditions.temperature_c)},
          {"power_w", or_null(conditions.power_w)},
          {"throttle_reasons", conditions.throttle_reasons},
          {"foreign_processes", conditions.foreign_processes}};
}

gate::run_conditions conditions_of(const core::json_cursor& object) {
  gate::run_conditions conditions;
  conditions.sm_clock_mhz = optional_number(object, "sm_clock_mhz");
  conditions.temperature_c = optional_number(object, "temperature_c");
  conditions.power_w = optional_number(object, "power_w");
  conditions.throttle_reasons = object.require("throttle_reasons").texts();
  conditions.foreign_processes = object.require("foreign_processes").texts();
  return conditions;
}

void require_version(const core::json_cursor& root) {
  const core::json_cursor version = root.require("schema_version");
  if (version.integer() != schema_version) version.fail("is of another version of profgate");
}

}  // namespace

std::string arm_name(gate::arm which) {
  return which == gate::arm::baseline ? "baseline" : "candidate";
}

std::string run_json(const finished_run& run) {
  json samples = json::object();
  for (const auto& [stage, values] : run.record.samples_ns) samples[stage] = values;
  json object = {{"schema_version", schema_version},
                 {"slot", run.record.slot},
                 {"arm", arm_name(run.arm)},
                 {"kind", kind_name(run.kind)},
                 {"session", run.session},
                 {"started_utc", run.record.started_utc},
                 {"seconds", run.seconds},
                 {"crash", or_null(run.crash)},
                 {"spoiled_by", or_null(run.record.spoiled_by)},
                 {"conditions", conditions_json(run.record.conditions)},
                 {"samples_ns", samples}};
  if (!run.experts.empty()) object["experts"] = core::experts_json(run.experts);
  if (!run.device_name.empty()) object["device_name"] = run.device_name;
  if (!run.library_versions.empty()) object["library_versions"] = run.library_versions;
  return object.dump(1) + "\n";
}

finished_run parse_run(const std::string& text, const std::string& file) {
  const core::json_document document(text, file, remedy);
  const core::json_cursor root = document.root();
  require_version(root);
  finished_run run;
  run.arm = arm_of(root.require("arm"));
  run.kind = kind_of(root.require("kind"));
  run.session = static_cast<std::size_t>(root.require("session").integer());
  run.seconds = root.require("seconds").number();
  run.crash = optional_text(root, "crash");
  run.record.slot = static_cast<std::size_t>(root.require("slot").integer());
  run.record.started_utc = root.require("started_utc").text();
  run.record.spoiled_by = optional_text(root, "spoiled_by");
  run.record.conditions = conditions_of(root.require("conditions"));
  if (const auto experts = root.find("experts")) run.experts = core::read_experts(*experts);
  if (const auto name = root.find("device_name")) run.device_name = name->text();
  if (const auto versions = root.find("library_versions")) {
    for (const auto& [library, version] : versions->members()) run.library_versions[library] = version.text();
  }
  for (const auto& [stage, values] : root.require("samples_ns").members()) {
    std::vector<std::int64_t>& samples_ns = run.record.samples_ns[stage];
    for (const core::json_cursor& value : values.items()) samples_ns.push_back(value.integer());
  }
  return run;
}

std::string plan_json(const plan_record& plan) {
  const auto arm = [](const std::string& name, const std::string& identity) {
    return json{{"name", name}, {"identity", identity}};
  };
  const json object = {{"schema_version", schema_version},
                       {"id", plan.id},
                       {"pair", plan.pair},
                       {"baseline", arm(plan.baseline_name, plan.baseline_identity)},
                       {"candidate", arm(plan.candidate_name, plan.candidate_identity)},
                       {"config_sha256", plan.config_sha256},
                       {"seed", plan.seed},
                       {"boot_id", plan.boot_id},
                       {"gpu_uuid", plan.gpu_uuid},
                       {"created_utc", plan.created_utc}};
  return object.dump(1) + "\n";
}

plan_record parse_plan(const std::string& text, const std::string& file) {
  const core::json_document document(text, file, remedy);
  const core::json_cursor root = document.root();
  require_version(root);
  const auto text_of = [&](const char* key) { return root.require(key).text(); };
  const core::json_cursor baseline = root.require("baseline");
  const core::json_cursor candidate = root.require("candidate");
  plan_record plan;
  plan.id = text_of("id");
  plan.pair = text_of("pair");
  plan.baseline_name = baseline.require("name").text();
  plan.baseline_identity = baseline.require("identity").text();
  plan.candidate_name = candidate.require("name").text();
  plan.candidate_identity = candidate.require("identity").text();
  plan.config_sha256 = text_of("config_sha256");
  plan.seed = static_cast<std::uint64_t>(root.require("seed").integer(0, INT64_MAX));
  plan.boot_id = text_of("boot_id");
  plan.gpu_uuid = text_of("gpu_uuid");
  plan.created_utc = text_of("created_utc");
  return plan;
}

}  // namespace profgate::ab
