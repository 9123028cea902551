#include "workload/contract.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/last_words.h"

namespace profgate::workload {
namespace fs = std::filesystem;
namespace {

std::string replace_all(std::string text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

std::vector<std::string> fill_placeholders(std::vector<std::string> words, const fs::path& config,
                                           const std::string& mode, const fs::path& result) {
  for (std::string& word : words) {
    word = replace_all(word, "{config}", config.string());
    word = replace_all(word, "{mode}", mode);
    word = replace_all(word, "{result}", result.string());
  }
  return words;
}

std::string describe_with_last_line(const process::outcome& outcome) {
  return core::ended_saying(process::describe(outcome), core::read_last_words(outcome.tail).reason);
}

void require_good_end(const process::outcome& outcome, const fs::path& log_file, exit_codes codes,
                      const std::string& timeout_key) {
  if (outcome.how == process::ending::exited && outcome.exit_code == 0) return;
  if (outcome.how == process::ending::not_started) {
    throw core::step_failure(
        outcome.start_error,
        codes == exit_codes::its_own
            ? "correct the command (of a pair: COMMAND of profgate_add_workload()), or build its program"
            : "build the workload, or correct its COMMAND in profgate_add_workload()");
  }
  const core::last_words said = core::read_last_words(outcome.tail);
  const bool exited = outcome.how == process::ending::exited;
  const std::string all_it_said = fmt::format("all it said is in {}", log_file.string());
  const std::string remedy = core::remedy_or_look(said.remedy, all_it_said);
  const bool is_told = exited && codes == exit_codes::by_contract;
  if (exited && outcome.exit_code == static_cast<int>(core::exit_code::not_possible)) {
    throw core::not_possible(said.reason.empty() ? "the workload cannot run on this machine" : said.reason,
                             remedy);
  }
  const std::string reason = fmt::format("the workload {}", describe_with_last_line(outcome));
  if (is_told && outcome.exit_code == static_cast<int>(core::exit_code::bad_input))
    throw core::bad_input(reason, remedy);
  if (outcome.how == process::ending::timed_out) {
    throw core::step_failure(
        reason,
        fmt::format(
            "raise {}, or find out where it hangs{} ({})", timeout_key,
            codes == exit_codes::its_own
                ? "; one that never ends is treated as a server: --ready-text '<line that it prints>' -- "
                  "<program> -- <client>"
                : "",
            all_it_said));
  }
  throw core::step_failure(reason, remedy);
}

profilers::tool_run as_tool_run(const process::outcome& outcome) {
  profilers::tool_run run;
  run.started = outcome.how != process::ending::not_started;
  run.exit_code = outcome.exit_code;
  run.signal = outcome.signal;
  run.timed_out = outcome.how == process::ending::timed_out;
  run.interrupted = outcome.how == process::ending::interrupted;
  run.stopped = outcome.how == process::ending::stopped;
  run.tail = outcome.tail;
  run.captured_stdout = outcome.captured;
  run.description = run.started ? process::describe(outcome) : outcome.start_error;
  run.wall_ns = outcome.wall_ns;
  return run;
}

}  // namespace profgate::workload
