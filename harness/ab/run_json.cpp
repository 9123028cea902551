#include "run_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace profgate::ab {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;
constexpr const char* remedy = "remove its folder: the comparison then starts afresh";

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

template <class T>
std::optional<T> value_or_nothing(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<T>();
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

run_kind kind_named(const std::string& name, const std::string& file) {
  for (const run_kind kind : {run_kind::warm_up, run_kind::counted, run_kind::traced}) {
    if (kind_name(kind) == name) return kind;
  }
  throw core::bad_input(file, 0, fmt::format("'{}' is no kind of run", name), remedy);
}

gate::arm arm_named(const std::string& name, const std::string& file) {
  for (const gate::arm which : {gate::arm::baseline, gate::arm::candidate}) {
    if (arm_name(which) == name) return which;
  }
  throw core::bad_input(file, 0, fmt::format("'{}' is no arm", name), remedy);
}

json conditions_json(const gate::run_conditions& conditions) {
  return {{"sm_clock_mhz", or_null(conditions.sm_clock_mhz)},
          {"temperature_c", or_null(conditions.temperature_c)},
          {"power_w", or_null(conditions.power_w)},
          {"throttle_reasons", conditions.throttle_reasons},
          {"foreign_processes", conditions.foreign_processes}};
}

gate::run_conditions conditions_of(const json& object) {
  gate::run_conditions conditions;
  conditions.sm_clock_mhz = value_or_nothing<double>(object.at("sm_clock_mhz"));
  conditions.temperature_c = value_or_nothing<double>(object.at("temperature_c"));
  conditions.power_w = value_or_nothing<double>(object.at("power_w"));
  conditions.throttle_reasons = object.at("throttle_reasons").get<std::vector<std::string>>();
  conditions.foreign_processes = object.at("foreign_processes").get<std::vector<std::string>>();
  return conditions;
}

void require_version(const json& object, const std::string& file) {
  if (object.at("schema_version") == schema_version) return;
  throw core::bad_input(file, 0, "it is of another version of profgate", remedy);
}

}  // namespace

std::string arm_name(gate::arm which) {
  return which == gate::arm::baseline ? "baseline" : "candidate";
}

std::string run_json(const finished_run& run) {
  json samples = json::object();
  for (const auto& [stage, values] : run.record.samples_ns) samples[stage] = values;
  const json object = {{"schema_version", schema_version},
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
  return object.dump(1) + "\n";
}

finished_run parse_run(const std::string& text, const std::string& file) try {
  const json object = json::parse(text);
  require_version(object, file);
  finished_run run;
  run.arm = arm_named(object.at("arm"), file);
  run.kind = kind_named(object.at("kind"), file);
  run.session = object.at("session");
  run.seconds = object.at("seconds");
  run.crash = value_or_nothing<std::string>(object.at("crash"));
  run.record.slot = object.at("slot");
  run.record.started_utc = object.at("started_utc");
  run.record.spoiled_by = value_or_nothing<std::string>(object.at("spoiled_by"));
  run.record.conditions = conditions_of(object.at("conditions"));
  for (const auto& [stage, values] : object.at("samples_ns").items())
    run.record.samples_ns[stage] = values.get<std::vector<std::int64_t>>();
  return run;
} catch (const nlohmann::json::exception& damaged) {
  throw core::bad_input(file, 0, fmt::format("not a run of a comparison: {}", damaged.what()), remedy);
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

plan_record parse_plan(const std::string& text, const std::string& file) try {
  const json object = json::parse(text);
  require_version(object, file);
  plan_record plan;
  plan.id = object.at("id");
  plan.pair = object.at("pair");
  plan.baseline_name = object.at("baseline").at("name");
  plan.baseline_identity = object.at("baseline").at("identity");
  plan.candidate_name = object.at("candidate").at("name");
  plan.candidate_identity = object.at("candidate").at("identity");
  plan.config_sha256 = object.at("config_sha256");
  plan.seed = object.at("seed");
  plan.boot_id = object.at("boot_id");
  plan.gpu_uuid = object.at("gpu_uuid");
  plan.created_utc = object.at("created_utc");
  return plan;
} catch (const nlohmann::json::exception& damaged) {
  throw core::bad_input(file, 0, fmt::format("not a comparison's plan: {}", damaged.what()), remedy);
}

}  // namespace profgate::ab
