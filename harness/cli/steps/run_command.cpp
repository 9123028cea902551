#include "steps/run_command.h"

#include <fmt/format.h>

#include <chrono>

#include "artifacts/disk.h"
#include "core/units.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

std::string replace_all(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// What a program said last: why it failed and, where it keeps our form, what to do.
struct last_words {
  std::string reason;
  std::string remedy;
};

/// Takes the last line that says something off `text`.
std::string pop_line(std::string& text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const std::size_t start = text.find_last_of("\r\n");
  const std::string line = start == std::string::npos ? text : text.substr(start + 1);
  text.erase(start == std::string::npos ? 0 : start);
  return line;
}

last_words read_last_words(std::string tail) {
  static constexpr std::string_view remedy_mark = "  to fix it: ";
  last_words words{pop_line(tail), ""};
  if (words.reason.starts_with(remedy_mark))
    words = {pop_line(tail), words.reason.substr(remedy_mark.size())};
  return words;
}

artifacts::command_status as_command_status(const std::vector<std::string>& argv,
                                            const process::outcome& outcome) {
  artifacts::command_status command{argv};
  if (outcome.wall_ns >= 0) command.seconds = static_cast<double>(outcome.wall_ns) / core::ns_per_s;
  if (outcome.exit_code >= 0) command.exit_code = outcome.exit_code;
  if (outcome.signal != 0) command.signal = outcome.signal;
  return command;
}

}  // namespace

process::outcome run_command(step_context& context, const step_command& wanted) {
  context.display.now_running(wanted.what);

  const auto max_run_bytes = static_cast<std::uint64_t>(context.config.integer("artifacts.max_run_bytes"));
  artifacts::run_size_guard too_large(context.run_dir, max_run_bytes);
  process::run_options options;
  options.log_file = wanted.log_file;
  options.append_to_log = true;
  options.deadline = std::chrono::seconds(context.config.integer("run.step_timeout_s"));
  options.grace = std::chrono::seconds(context.config.integer("run.interrupt_grace_s"));
  options.capture_stdout = wanted.capture_stdout;
  options.on_line = [&](std::string_view line) { context.display.saw_line(line); };
  options.stop_request = [&] {
    context.display.refresh();
    return too_large();
  };

  const process::outcome outcome = process::run(wanted.command, options);
  context.status.commands.push_back(as_command_status(wanted.command.argv, outcome));
  if (outcome.peak_rss_bytes > context.status.peak_rss_bytes.value_or(0)) {
    context.status.peak_rss_bytes = outcome.peak_rss_bytes;
  }
  if (outcome.signal != 0) context.status.signal = outcome.signal;
  for (const std::string& leftover : outcome.killed_leftovers) {
    context.status.notes.push_back(
        fmt::format("ended a process that {} left behind: {}", wanted.command.argv.front(), leftover));
  }
  if (!outcome.log_error.empty()) {
    context.status.notes.push_back(
        fmt::format("{} is incomplete: {}", wanted.log_file.string(), outcome.log_error));
  }
  if (outcome.how == process::ending::interrupted) {
    throw core::interrupted(
        fmt::format("interrupted by {} while running {}", outcome.stop_reason, wanted.what));
  }
  // A quick child may be done before the guard has looked a second time.
  const std::optional<std::string> outgrown =
      outcome.how == process::ending::stopped ? outcome.stop_reason
                                              : artifacts::run_size_guard(context.run_dir, max_run_bytes)();
  if (outgrown) throw core::step_failure(*outgrown, "raise artifacts.max_run_bytes, or profile fewer tokens");
  return outcome;
}

std::vector<std::string> workload_argv(const step_context& context, const std::string& mode,
                                       const fs::path& result, const fs::path& config) {
  const fs::path config_file = config.empty() ? context.run_dir / "config.yaml" : config;
  std::vector<std::string> argv = context.manifest.command;
  if (!context.manifest.command_has_placeholders) return argv;
  for (std::string& word : argv) {
    word = replace_all(word, "{config}", config_file.string());
    word = replace_all(word, "{mode}", mode);
    word = replace_all(word, "{result}", result.string());
  }
  return argv;
}

void require_good_end(const process::outcome& outcome, const fs::path& log_file) {
  if (outcome.how == process::ending::exited && outcome.exit_code == 0) return;
  if (outcome.how == process::ending::not_started) {
    throw core::step_failure(outcome.start_error,
                             "build the workload, or correct its COMMAND in profgate_add_workload()");
  }
  const last_words said = read_last_words(outcome.tail);
  const bool exited = outcome.how == process::ending::exited;
  const std::string all_it_said = fmt::format("all it said is in {}", log_file.string());
  const std::string remedy =
      said.remedy.empty() ? all_it_said : fmt::format("{} ({})", said.remedy, all_it_said);
  if (exited && outcome.exit_code == static_cast<int>(core::exit_code::not_possible)) {
    throw core::not_possible(said.reason.empty() ? "the workload cannot run on this machine" : said.reason,
                             remedy);
  }
  const std::string reason = fmt::format("the workload {}{}{}", process::describe(outcome),
                                         said.reason.empty() ? "" : ": ", said.reason);
  if (exited && outcome.exit_code == static_cast<int>(core::exit_code::bad_input))
    throw core::bad_input(reason, remedy);
  if (outcome.how == process::ending::timed_out) {
    throw core::step_failure(
        reason, fmt::format("raise run.step_timeout_s, or find out where it hangs ({})", all_it_said));
  }
  throw core::step_failure(reason, remedy);
}

std::optional<std::string> output_of(const std::vector<std::string>& argv) {
  process::run_options options;
  options.capture_stdout = true;
  options.deadline = std::chrono::seconds(30);
  const process::outcome outcome = process::run({argv, {}, {}, {}}, options);
  if (outcome.how != process::ending::exited || outcome.exit_code != 0) return std::nullopt;
  return outcome.captured;
}

}  // namespace profgate::cli
