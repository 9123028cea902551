#include "artifacts/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "artifacts/redact.h"
#include "core/error.h"
#include "core/json.h"

namespace profgate::artifacts {

git_facts gather_git_facts(const std::filesystem::path& project_dir,
                           const std::filesystem::path& baselines_dir, const git_runner& git) {
  const std::string failed =
      "git gave no answer for " + project_dir.string() +
      ": it is not installed, the folder is no repository, or it belongs to another user";
  const auto first_line = [&](const std::optional<std::string>& output) {
    if (!output || output->empty()) return core::measured<std::string>::absent(failed);
    return core::measured<std::string>(output->substr(0, output->find('\n')));
  };

  git_facts facts;
  facts.commit = first_line(git(project_dir, {"rev-parse", "--verify", "HEAD"}));
  facts.branch = first_line(git(project_dir, {"rev-parse", "--abbrev-ref", "HEAD"}));
  if (facts.branch.value_or("") == "HEAD") {
    facts.branch = core::measured<std::string>::absent("a commit is checked out, not a branch");
  }
  std::vector<std::string> status = {"status", "--porcelain", "--untracked-files=no"};
  const std::filesystem::path baselines =
      (project_dir / baselines_dir).lexically_normal().lexically_relative(project_dir.lexically_normal());
  const bool are_inside = !baselines.empty() && *baselines.begin() != ".." && baselines != ".";
  if (are_inside) status.insert(status.end(), {"--", ":/", ":(exclude,literal)" + baselines.string()});
  const std::optional<std::string> changes = git(project_dir, status);
  if (changes) {
    const std::int64_t count = std::count(changes->begin(), changes->end(), '\n');
    facts.changed_files_count = count;
    facts.dirty = count > 0;
  } else {
    facts.changed_files_count = core::measured<std::int64_t>::absent(failed);
    facts.dirty = core::measured<bool>::absent(failed);
  }
  return facts;
}

namespace {

using ordered_json = nlohmann::ordered_json;

constexpr const char* reasons_key = "not_measured";

void put_reason(ordered_json& object, const std::string& key, const std::string& reason) {
  object[key] = nullptr;
  object[reasons_key][key] = reason;
}

template <class T>
void put(ordered_json& object, const std::string& key, const core::measured<T>& fact) {
  if (fact) {
    object[key] = *fact;
  } else {
    put_reason(object, key, fact.reason());
  }
}

/// For what the caller hands in as text: empty means that it was not given.
void put_text(ordered_json& object, const std::string& key, const std::string& text) {
  if (text.empty()) {
    put_reason(object, key, "it was not given to the step that wrote this file");
  } else {
    object[key] = text;
  }
}

ordered_json host_json(const host_facts& host) {
  ordered_json object = ordered_json::object();
  put(object, "host_name", host.host_name);
  put(object, "kernel", host.kernel);
  put(object, "operating_system", host.operating_system);
  put(object, "architecture", host.architecture);
  put(object, "cpu_model", host.cpu_model);
  put(object, "cpus_online_count", host.cpus_online_count);
  put(object, "cpus_usable_count", host.cpus_usable_count);
  put(object, "cpu_governor", host.cpu_governor);
  put(object, "last_level_cache_bytes", host.last_level_cache_bytes);
  put(object, "memory_bytes", host.memory_bytes);
  put(object, "memory_available_bytes", host.memory_available_bytes);
  put(object, "load_average_1min_count", host.load_average_1min_count);
  return object;
}

ordered_json device_json(const gpu_device& device) {
  ordered_json object = ordered_json::object();
  object["index"] = device.index;
  put(object, "name", device.name);
  put(object, "uuid", device.uuid);
  put(object, "pci_bus_id", device.pci_bus_id);
  put(object, "compute_capability", device.compute_capability);
  put(object, "multiprocessor_count", device.multiprocessor_count);
  put(object, "memory_total_bytes", device.memory_total_bytes);
  put(object, "memory_used_bytes", device.memory_used_bytes);
  put(object, "sm_clock_mhz", device.sm_clock_mhz);
  put(object, "sm_clock_max_mhz", device.sm_clock_max_mhz);
  put(object, "memory_clock_mhz", device.memory_clock_mhz);
  put(object, "memory_clock_max_mhz", device.memory_clock_max_mhz);
  put(object, "temperature_c", device.temperature_c);
  put(object, "power_w", device.power_w);
  put(object, "power_limit_w", device.power_limit_w);
  put(object, "throttle_reasons", device.throttle_reasons);
  if (!device.processes) {
    put_reason(object, "processes", device.processes.reason());
    return object;
  }
  object["processes"] = ordered_json::array();
  for (const gpu_process& process : *device.processes) {
    ordered_json entry = ordered_json::object();
    entry["pid"] = process.pid;
    put(entry, "name", process.name);
    put(entry, "memory_bytes", process.memory_bytes);
    object["processes"].push_back(std::move(entry));
  }
  return object;
}

ordered_json gpu_json(const gpu_facts& gpu) {
  ordered_json object = ordered_json::object();
  put_text(object, "taken_utc", gpu.taken_utc);
  put(object, "driver_version", gpu.driver_version);
  put(object, "cuda_driver_version", gpu.cuda_driver_version);
  if (!gpu.devices) {
    put_reason(object, "devices", gpu.devices.reason());
    return object;
  }
  if (gpu.chosen_index) object["chosen_index"] = *gpu.chosen_index;
  object["devices"] = ordered_json::array();
  for (const gpu_device& device : *gpu.devices) object["devices"].push_back(device_json(device));
  return object;
}

ordered_json git_json(const git_facts& git) {
  ordered_json object = ordered_json::object();
  put(object, "commit", git.commit);
  put(object, "branch", git.branch);
  put(object, "dirty", git.dirty);
  put(object, "changed_files_count", git.changed_files_count);
  return object;
}

ordered_json build_json(const build_facts& build) {
  ordered_json object = ordered_json::object();
  put_text(object, "profgate_version", build.profgate_version);
  put(object, "compiler", build.compiler);
  put(object, "build_type", build.build_type);
  put(object, "flags", build.flags);
  return object;
}

ordered_json versions_json(const std::map<std::string, core::measured<std::string>>& versions) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, version] : versions) put(object, name, version);
  return object;
}

ordered_json inputs_json(const std::vector<input_file>& inputs) {
  ordered_json list = ordered_json::array();
  for (const input_file& input : inputs) {
    list.push_back({{"path", input.path.string()},
                    {"size_bytes", input.size_bytes},
                    {"sha256", input.sha256},
                    {"sha256_over", scope_name(input.scope)}});
  }
  return list;
}

void append_argv(ordered_json& list, const std::vector<std::vector<std::string>>& commands) {
  for (const std::vector<std::string>& command : commands) list.push_back(redact_argv(command));
}

}  // namespace

std::string env_json(const provenance& facts) {
  ordered_json document = ordered_json::object();
  document["schema_version"] = "1.0";
  put_text(document, "run_id", facts.run_id);
  put_text(document, "created_utc", facts.created_utc);
  document["host"] = host_json(facts.host);
  document["gpu_at_start"] = gpu_json(facts.gpu_at_start);
  put_reason(document, "gpu_at_end", "the run has not come to its end");
  document["git"] = git_json(facts.git);
  document["build"] = build_json(facts.build);
  document["tool_versions"] = versions_json(facts.tool_versions);
  document["library_versions"] = versions_json(facts.library_versions);
  document["packages"] = versions_json(facts.packages);
  put_text(document, "config_sha256", facts.config_sha256);
  document["inputs"] = inputs_json(facts.inputs);
  document["argv"] = ordered_json::array();
  append_argv(document["argv"], facts.argv);
  document["environment"] = facts.environment;
  return core::json_text(document);
}

std::string with_late_facts(const std::string& env_json_text, const late_facts& late) {
  ordered_json document = core::parse_ordered_json(env_json_text);
  if (!document.is_object() || !document.contains("gpu_at_start") || !document["argv"].is_array()) {
    throw core::bad_input("env.json", 0, "is not the document that the prepare step writes",
                          "run the pair again from its start");
  }
  document["gpu_at_end"] = gpu_json(late.gpu_at_end);
  if (document.contains(reasons_key)) {
    document[reasons_key].erase("gpu_at_end");
    if (document[reasons_key].empty()) document.erase(reasons_key);
  }
  append_argv(document["argv"], late.argv);
  for (const auto& [library, version] : late.library_versions)
    document["library_versions"][library] = version;
  return core::json_text(document);
}

}  // namespace profgate::artifacts
