#include <fmt/format.h>

#include <cmath>

#include "artifacts/sha256.h"
#include "baselines/run_set_file.h"
#include "core/error.h"
#include "json_tree.h"

namespace profgate::baselines {
namespace {

/// "key": value pairs of one object, in the order they are added: that of the alphabet.
class object_text {
 public:
  void add(std::string_view key, const std::string& value) {
    if (!m_text.empty()) m_text += ", ";
    m_text += json_quoted(key) + ": " + value;
  }
  void add_text(std::string_view key, const std::string& text) { add(key, json_quoted(text)); }
  void add_number(std::string_view key, std::int64_t value) { add(key, std::to_string(value)); }
  std::string str() const { return "{" + m_text + "}"; }

 private:
  std::string m_text;
};

std::string number(double value) {
  if (!std::isfinite(value) || value < 0) {
    throw core::bad_input(fmt::format("a run set cannot hold the value {}", value),
                          "leave out what was not measured");
  }
  return fmt::format("{}", value);
}

template <class Values, class Write>
std::string list_text(const Values& values, Write write) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ", ";
    text += write(value);
  }
  return text + "]";
}

/// Several lines between two brackets, each indented.
std::string lines_text(const std::vector<std::string>& lines, int indent, char open, char close) {
  if (lines.empty()) return fmt::format("{}{}", open, close);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text(1, open);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("{}\n{}  {}", i == 0 ? "" : ",", margin, lines[i]);
  }
  return text + fmt::format("\n{}{}", margin, close);
}

std::string acceptance_text(const acceptance& accepted) {
  object_text object;
  object.add_text("accepted_utc", accepted.accepted_utc);
  object.add_text("author", accepted.author);
  object.add_text("commit", accepted.commit);
  object.add_text("previous_sha256", accepted.previous_sha256);
  object.add_text("reason", accepted.reason);
  return object.str();
}

std::string identity_text(const gate::build_identity& identity) {
  object_text versions;
  for (const auto& [name, version] : identity.versions) versions.add_text(name, version);
  const auto line = [](const char* key, const std::string& value) { return json_quoted(key) + ": " + value; };
  return lines_text(
      {line("boot_id", json_quoted(identity.boot_id)), line("commit", json_quoted(identity.commit)),
       line("config_sha256", json_quoted(identity.config_sha256)),
       line("device_name", json_quoted(identity.device_name)),
       line("device_uuid", json_quoted(identity.device_uuid)), line("host", json_quoted(identity.host)),
       line("is_dirty", identity.is_dirty ? "true" : "false"),
       line("is_profiled", identity.is_profiled ? "true" : "false"),
       line("model", json_quoted(identity.model)),
       line("multiprocessors", std::to_string(identity.multiprocessors)),
       line("pair", json_quoted(identity.pair)),
       line("profgate_version", json_quoted(identity.profgate_version)), line("versions", versions.str())},
      2, '{', '}');
}

std::string conditions_text(const gate::run_conditions& conditions) {
  object_text object;
  object.add("foreign_processes", list_text(conditions.foreign_processes, json_quoted));
  if (conditions.power_w) object.add("power_w", number(*conditions.power_w));
  if (conditions.sm_clock_mhz) object.add("sm_clock_mhz", number(*conditions.sm_clock_mhz));
  if (conditions.temperature_c) object.add("temperature_c", number(*conditions.temperature_c));
  object.add("throttle_reasons", list_text(conditions.throttle_reasons, json_quoted));
  return object.str();
}

std::string process_text(const gate::process_record& process) {
  object_text samples;
  for (const auto& [stage, values] : process.samples_ns) {
    samples.add(stage, list_text(values, [](std::int64_t ns) {
                  if (ns > 0) return std::to_string(ns);
                  throw core::bad_input(fmt::format("an iteration took {} ns, which cannot be", ns),
                                        "let the workload time its stages with a clock of nanoseconds");
                }));
  }
  object_text object;
  object.add("conditions", conditions_text(process.conditions));
  object.add("samples_ns", samples.str());
  object.add_number("slot", static_cast<std::int64_t>(process.slot));
  if (process.spoiled_by) object.add_text("spoiled_by", *process.spoiled_by);
  object.add_text("started_utc", process.started_utc);
  return object.str();
}

std::string structure_text(const gate::stage_structure& structure) {
  std::vector<std::string> lines;
  if (structure.graph_nodes) lines.push_back(fmt::format("\"graph_nodes\": {}", *structure.graph_nodes));
  if (structure.kernels) {
    std::vector<std::string> names;
    for (const std::string& name : *structure.kernels) names.push_back(json_quoted(name));
    lines.push_back("\"kernels\": " + lines_text(names, 6, '[', ']'));
  }
  if (structure.launches) lines.push_back(fmt::format("\"launches\": {}", *structure.launches));
  lines.push_back(fmt::format("\"tokens\": {}", structure.tokens));
  return lines_text(lines, 4, '{', '}');
}

std::int64_t whole_ns(std::int64_t units) {
  return (units + gate::units_per_ns / 2) / gate::units_per_ns;
}

std::string operation_text(const gate::operation_sum& sum, bool has_shares) {
  object_text object;
  if (!sum.category.empty()) object.add_text("category", sum.category);
  if (has_shares) object.add_number("first_at_ns", sum.first_at_ns);
  object.add_number("launches", sum.launches);
  object.add_text("name", sum.name);
  object.add_text("operator_path", sum.operator_path);
  if (has_shares) object.add_number("shared_ns", whole_ns(sum.exclusive_units));
  object.add_number("total_ns", sum.total_ns);
  return object.str();
}

using traced_process = std::map<std::string, gate::traced_stage>;

std::string operations_text(const traced_process& stages) {
  std::vector<std::string> lines;
  for (const auto& [stage, traced] : stages) {
    std::vector<std::string> rows;
    for (const gate::operation_sum& sum : traced.operations)
      rows.push_back(operation_text(sum, traced.times.has_value()));
    lines.push_back(json_quoted(stage) + ": " + lines_text(rows, 6, '[', ']'));
  }
  return lines_text(lines, 4, '{', '}');
}

std::string times_text(const traced_process& stages) {
  object_text object;
  for (const auto& [stage, traced] : stages) {
    if (!traced.times) continue;
    std::map<std::string, std::int64_t> by_cause;
    for (std::size_t i = 0; i < gate::idle_cause_count; ++i)
      by_cause[gate::to_text(static_cast<gate::idle_cause>(i))] = traced.times->idle.by_cause_ns[i];
    object_text idle;
    for (const auto& [cause, idle_ns] : by_cause) idle.add_number(cause, idle_ns);
    object_text times;
    times.add("idle_ns", idle.str());
    times.add_number("occurrences", traced.times->occurrences);
    times.add_number("time_ns", traced.times->time_ns);
    object.add(stage, times.str());
  }
  return object.str();
}

template <class Values, class Write>
std::vector<std::string> each(const Values& values, Write write) {
  std::vector<std::string> lines;
  for (const auto& value : values) lines.push_back(write(value));
  return lines;
}

std::string text_with(const stored_run_set& stored, const std::string& checksum) {
  const gate::run_set& runs = stored.runs;
  std::vector<std::string> structure;
  for (const auto& [stage, of] : runs.structure)
    structure.push_back(json_quoted(stage) + ": " + structure_text(of));
  const std::vector<std::string> members = {
      "\"accepted\": " + lines_text(each(stored.accepted, acceptance_text), 2, '[', ']'),
      "\"content_sha256\": " + json_quoted(checksum),
      "\"created_utc\": " + json_quoted(runs.created_utc),
      "\"identity\": " + identity_text(runs.identity),
      "\"kernels\": " + lines_text(each(runs.traces, operations_text), 2, '[', ']'),
      "\"processes\": " + lines_text(each(runs.processes, process_text), 2, '[', ']'),
      "\"run_id\": " + json_quoted(stored.run_id),
      "\"schema_version\": \"1.1\"",
      "\"structure\": " + lines_text(structure, 2, '{', '}'),
      "\"traced_stages\": " + lines_text(each(runs.traces, times_text), 2, '[', ']'),
  };
  return lines_text(members, 0, '{', '}') + "\n";
}

}  // namespace

std::string run_set_text(const stored_run_set& stored) {
  const json_node content = parse_json(text_with(stored, ""), "the run set", "");
  return text_with(stored, artifacts::sha256_hex(canonical_text(content, "content_sha256")));
}

std::string measurement_id(const stored_run_set& stored) {
  if (!stored.run_id.empty()) return stored.run_id;
  stored_run_set runs_alone = stored;
  runs_alone.accepted.clear();
  return artifacts::sha256_hex(text_with(runs_alone, ""));
}

}  // namespace profgate::baselines
