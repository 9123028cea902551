#include "artifacts/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "artifacts/files.h"
#include "artifacts/redact.h"
#include "core/error.h"
#include "core/json.h"
#include "core/utc_time.h"
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
  return run_directory / folder_of_step(step) / "status.json";
}

void put_if_given(ordered_json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

template <class T>
void put_if_given(ordered_json& object, const char* key, const std::optional<T>& value) {
  if (value) object[key] = *value;
}

void take_if_given(const core::json_cursor& object, const char* key, std::string& into) {
  if (const auto found = object.find(key)) into = found->text();
}

void take_if_given(const core::json_cursor& object, const char* key, std::vector<std::string>& into) {
  if (const auto found = object.find(key)) into = found->texts();
}

void take_if_given(const core::json_cursor& object, const char* key, std::optional<double>& into) {
  if (const auto found = object.find(key)) into = found->number();
}

template <std::integral T>
void take_if_given(const core::json_cursor& object, const char* key, std::optional<T>& into) {
  using limits = std::numeric_limits<T>;
  if (const auto found = object.find(key))
    into = static_cast<T>(found->integer(limits::min(), limits::max()));
}

std::optional<core::step_state> state_from_json(const core::json_cursor& state_text) {
  const std::string name = state_text.text();
  if (name == state_name(std::nullopt)) return std::nullopt;
  for (const core::step_state state : finished_states) {
    if (name == state_name(state)) return state;
  }
  state_text.fail(fmt::format("is '{}', which is not a state of a step", name));
}

command_status command_from_json(const core::json_cursor& object) {
  command_status command;
  command.argv = object.require("argv").texts();
  take_if_given(object, "seconds", command.seconds);
  take_if_given(object, "exit_code", command.exit_code);
  take_if_given(object, "signal", command.signal);
  return command;
}

/// Schema 1.0 held only a list of argument lists.
std::vector<command_status> commands_from_json(const core::json_cursor& status) {
  std::vector<command_status> commands;
  if (const auto list = status.find("commands")) {
    for (const core::json_cursor& command : list->items()) commands.push_back(command_from_json(command));
  }
  if (const auto list = status.find("argv")) {
    for (const core::json_cursor& argv : list->items()) commands.push_back({argv.texts()});
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

step_status from_json(const core::json_cursor& object) {
  step_status status;
  status.step = object.require("step").text();
  status.state = state_from_json(object.require("state"));
  take_if_given(object, "reason", status.reason);
  take_if_given(object, "remedy", status.remedy);
  status.commands = commands_from_json(object);
  take_if_given(object, "exit_code", status.exit_code);
  take_if_given(object, "signal", status.signal);
  take_if_given(object, "seconds", status.seconds);
  constexpr double longest_s = 1e8;  // three years
  if (status.seconds && !(*status.seconds >= 0 && *status.seconds <= longest_s))
    object.require("seconds").fail(fmt::format("is {}, which no step takes", *status.seconds));
  take_if_given(object, "tool", status.tool);
  take_if_given(object, "tool_version", status.tool_version);
  take_if_given(object, "started_utc", status.started_utc);
  take_if_given(object, "finished_utc", status.finished_utc);
  take_if_given(object, "notes", status.notes);
  if (const auto left = object.find("left_processes")) status.left_processes = left->boolean();
  take_if_given(object, "peak_rss_bytes", status.peak_rss_bytes);
  if (const auto process = object.find("process")) status.process = owner_from_json(*process);
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

fs::path folder_of_step(std::string_view step) {
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
  status.started_utc = core::utc_timestamp();
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
  if (status.left_processes) object["left_processes"] = true;
  put_if_given(object, "peak_rss_bytes", status.peak_rss_bytes);
  if (status.process) object["process"] = owner_to_json(*status.process);

  make_folder(path.parent_path());
  write_file_atomically(path, core::json_text(object));
}

std::optional<step_status> read_status(const fs::path& run_directory, std::string_view step) {
  const fs::path path = status_path(run_directory, step);
  if (!file_exists(path)) return std::nullopt;
  const core::json_document document(read_file(path, 16 << 20), path.string(),
                                     "run the step again, or remove the run");
  step_status status = from_json(document.root());
  if (!status.state && !(status.process && is_alive(*status.process, path))) {
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
