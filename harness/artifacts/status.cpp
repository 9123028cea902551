#include "artifacts/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "artifacts/files.h"
#include "artifacts/redact.h"
#include "artifacts/utc_time.h"
#include "core/error.h"
#include "owner_json.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

using ordered_json = nlohmann::ordered_json;

struct step_folder {
  std::string_view step;
  const char* folder;
};
constexpr std::array<step_folder, 7> step_folders{{{"prepare", "prepare"},
                                                   {"stage1", "stage1"},
                                                   {"timeline", "nsys"},
                                                   {"counters", "ncu"},
                                                   {"report", "report"},
                                                   {"gate", "gate"},
                                                   {"prune", "prune"}}};

constexpr std::array<core::step_state, 3> finished_states{core::step_state::ok, core::step_state::skipped,
                                                          core::step_state::failed};

fs::path status_path(const fs::path& run_directory, std::string_view step) {
  return run_directory / stage_folder(step) / "status.json";
}

void put_if_given(ordered_json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

template <class T>
void put_if_given(ordered_json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

template <class T>
void take_if_given(const nlohmann::json& object, const char* key, T& into) {
  if (const auto found = object.find(key); found != object.end()) found->get_to(into);
}

template <class T>
void take_if_given(const nlohmann::json& object, const char* key, std::optional<T>& into) {
  if (const auto found = object.find(key); found != object.end()) into = found->get<T>();
}

std::optional<core::step_state> state_from_name(const std::string& name, const fs::path& path) {
  if (name == state_name(std::nullopt)) return std::nullopt;
  for (const core::step_state state : finished_states) {
    if (name == state_name(state)) return state;
  }
  throw core::bad_input(path.string(), 0, fmt::format("'{}' is not a state of a step", name),
                        "run the step again");
}

command_status command_from_json(const nlohmann::json& object) {
  command_status command;
  object.at("argv").get_to(command.argv);
  take_if_given(object, "seconds", command.seconds);
  take_if_given(object, "exit_code", command.exit_code);
  take_if_given(object, "signal", command.signal);
  return command;
}

/// Schema 1.0 held only a list of argument lists.
std::vector<command_status> commands_from_json(const nlohmann::json& status) {
  std::vector<command_status> commands;
  for (const nlohmann::json& command : status.value("commands", nlohmann::json::array())) {
    commands.push_back(command_from_json(command));
  }
  for (const nlohmann::json& argv : status.value("argv", nlohmann::json::array())) {
    commands.push_back({argv.get<std::vector<std::string>>()});
  }
  return commands;
}

ordered_json to_json(const command_status& command) {
  ordered_json object;
  object["argv"] = redact_argv(command.argv);
  put_if_given(object, "seconds", command.seconds);
  put_if_given(object, "exit_code", command.exit_code);
  put_if_given(object, "signal", command.signal);
  return object;
}

step_status from_json(const nlohmann::json& object, const fs::path& path) {
  step_status status;
  object.at("step").get_to(status.step);
  status.state = state_from_name(object.at("state").get<std::string>(), path);
  take_if_given(object, "reason", status.reason);
  take_if_given(object, "remedy", status.remedy);
  status.commands = commands_from_json(object);
  take_if_given(object, "exit_code", status.exit_code);
  take_if_given(object, "signal", status.signal);
  take_if_given(object, "seconds", status.seconds);
  take_if_given(object, "tool", status.tool);
  take_if_given(object, "tool_version", status.tool_version);
  take_if_given(object, "started_utc", status.started_utc);
  take_if_given(object, "finished_utc", status.finished_utc);
  take_if_given(object, "notes", status.notes);
  take_if_given(object, "peak_rss_bytes", status.peak_rss_bytes);
  if (object.contains("process")) status.process = owner_from_json(object.at("process"));
  return status;
}

}  // namespace

std::string_view state_name(const std::optional<core::step_state>& state) {
  if (!state) return "running";
  switch (*state) {
    case core::step_state::ok:
      return "ok";
    case core::step_state::skipped:
      return "skipped";
    case core::step_state::failed:
      break;
  }
  return "failed";
}

fs::path stage_folder(std::string_view step) {
  const auto* const found = std::find_if(step_folders.begin(), step_folders.end(),
                                         [&](const step_folder& entry) { return entry.step == step; });
  if (found == step_folders.end()) {
    throw core::bad_input(fmt::format("'{}' is not a step of a run", step),
                          "use prepare, stage1, timeline, counters, report, gate or prune");
  }
  return found->folder;
}

step_status start_step(const fs::path& run_directory, const std::string& step) {
  step_status status;
  status.step = step;
  status.started_utc = utc_timestamp();
  status.process = owner_of(::getpid());
  write_status(run_directory, status);
  return status;
}

void write_status(const fs::path& run_directory, const step_status& status) {
  const fs::path path = status_path(run_directory, status.step);
  ordered_json object;
  object["schema_version"] = "1.1";
  object["step"] = status.step;
  object["state"] = state_name(status.state);
  put_if_given(object, "reason", status.reason);
  put_if_given(object, "remedy", status.remedy);
  object["commands"] = ordered_json::array();
  for (const command_status& command : status.commands) object["commands"].push_back(to_json(command));
  put_if_given(object, "exit_code", status.exit_code);
  put_if_given(object, "signal", status.signal);
  put_if_given(object, "seconds", status.seconds);
  put_if_given(object, "tool", status.tool);
  put_if_given(object, "tool_version", status.tool_version);
  put_if_given(object, "started_utc", status.started_utc);
  put_if_given(object, "finished_utc", status.finished_utc);
  object["notes"] = status.notes;
  put_if_given(object, "peak_rss_bytes", status.peak_rss_bytes);
  if (status.process) object["process"] = owner_to_json(*status.process);

  std::error_code failure;
  fs::create_directories(path.parent_path(), failure);
  if (failure) throw_io_error("create the folder", path.parent_path(), failure.value());
  write_file_atomically(path, object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

std::optional<step_status> read_status(const fs::path& run_directory, std::string_view step) {
  const fs::path path = status_path(run_directory, step);
  if (!file_exists(path)) return std::nullopt;
  step_status status;
  try {
    status = from_json(nlohmann::json::parse(read_file(path, 16 << 20)), path);
  } catch (const nlohmann::json::exception& damage) {
    throw core::bad_input(path.string(), 0, fmt::format("is damaged: {}", damage.what()),
                          "run the step again, or remove the run");
  }
  if (!status.state && !(status.process && is_alive(*status.process))) {
    status.state = core::step_state::failed;
    const std::string who = status.process ? fmt::format("process {}", status.process->pid) : "its process";
    status.reason = fmt::format("{} was interrupted: {} ended without finishing it", status.step, who);
    status.remedy = "run the pair again";
  }
  return status;
}

bool has_running_step(const fs::path& run_directory) {
  return std::any_of(step_folders.begin(), step_folders.end(), [&](const step_folder& entry) {
    try {
      const std::optional<step_status> status = read_status(run_directory, entry.step);
      return status && !status->state;
    } catch (const core::bad_input&) {
      return false;  // whoever is at work keeps its status sound
    }
  });
}

}  // namespace profgate::artifacts
