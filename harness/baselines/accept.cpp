#include <fmt/format.h>

#include "artifacts/files.h"
#include "baselines/baseline_store.h"
#include "baselines/history.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/utc_time.h"
#include "gate/comparability.h"
#include "gate/process_runs.h"

namespace profgate::baselines {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_reason_bytes = 2000;

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

void check_request(const accept_request& request) {
  if (is_blank(request.reason)) {
    throw core::bad_input("a new baseline needs a reason",
                          "say why these times are right from now on: --reason \"…\"");
  }
  if (request.reason.size() > max_reason_bytes) {
    throw core::bad_input(
        fmt::format("the reason has {} bytes, at most {} are kept", request.reason.size(), max_reason_bytes),
        "shorten it and point to where the rest is written");
  }
  if (is_blank(request.author)) {
    throw core::bad_input("git does not know who accepts the baseline",
                          "git config user.name \"…\" and git config user.email \"…\"");
  }
}

void check_fitness(const gate::run_set& runs, std::size_t min_runs) {
  const std::string remedy = "measure a committed build again, on a device that nobody else uses";
  if (runs.identity.is_dirty && runs.identity.commit.empty()) {
    throw core::bad_input(
        "the run set is of code in git of which no commit is known: nobody could build its baseline again",
        "let `git status` work in the project (of another user's folder: git config --global --add "
        "safe.directory <folder>), commit, measure again and accept that");
  }
  if (runs.identity.is_dirty) {
    throw core::bad_input("the run set is of uncommitted code: nobody could build its baseline again",
                          "commit, measure again and accept that");
  }
  if (runs.identity.is_profiled) {
    throw core::bad_input("the times of the run set were taken under a profiler", remedy);
  }
  const std::vector<std::string> disturbed = gate::disturbances(runs);
  if (!disturbed.empty()) throw core::bad_input("the run set was disturbed: " + disturbed.front(), remedy);
  const std::vector<std::string> stages = gate::stages_of(runs);
  if (stages.empty()) throw core::bad_input("the run set has no samples of any stage", remedy);
  for (const std::string& stage : stages) {
    const std::size_t count = gate::stage_medians_ns(runs, stage, gate::reduction_for(runs)).size();
    if (count >= min_runs) continue;
    throw core::bad_input(
        fmt::format("the run set has {} processes of {} that count, a baseline needs {}", count, stage,
                    min_runs),
        fmt::format("measure at least {} processes: the first does not count", min_runs + 1));
  }
}

[[noreturn]] void tell_who_was_first(const fs::path& file, const std::optional<stored_run_set>& theirs) {
  const std::string remedy = fmt::format(
      "look at it (profgate baseline show {}), then accept again if yours still is right", file.string());
  if (!theirs || theirs->accepted.empty()) {
    throw core::step_failure(fmt::format("{} changed meanwhile; nothing was written", file.string()), remedy);
  }
  const acceptance& last = theirs->accepted.back();
  throw core::step_failure(
      fmt::format("{} is not the baseline that yours was to replace: {} accepted one on {} ({}); nothing was "
                  "written",
                  file.string(), last.author, last.accepted_utc, last.reason),
      remedy);
}

/// Where the history could not be closed after the baseline was written. Byte for byte: nothing that a signal
/// ends.
void put_back(const fs::path& file, const std::optional<std::string>& previous_text) {
  std::error_code failed;
  if (previous_text) {
    artifacts::write_file_atomically(file, *previous_text);
  } else {
    fs::remove(file, failed);
  }
}

}  // namespace

std::string current_checksum(const fs::path& baselines_dir, const gate::build_identity& identity) {
  const std::optional<stored_run_set> stored = find_baseline(baselines_dir, identity);
  return stored ? stored->content_sha256 : std::string();
}

accepted_baseline accept_baseline(stored_run_set candidate, const accept_request& request) {
  check_request(request);
  check_fitness(candidate.runs, request.min_runs);
  const gate::build_identity& identity = candidate.runs.identity;
  const std::string expected =
      request.replaces_sha256 ? *request.replaces_sha256 : current_checksum(request.baselines_dir, identity);

  artifacts::make_folder(request.baselines_dir);
  const core::file_lock lock = artifacts::with_io_errors(
      "lock the folder", [&] { return core::file_lock::of_folder(request.baselines_dir); });
  const fs::path file = request.baselines_dir / baseline_name(identity);
  const std::optional<stored_run_set> previous = find_baseline(request.baselines_dir, identity);
  const std::string found = previous ? previous->content_sha256 : std::string();
  if (found != expected) tell_who_was_first(file, previous);
  if (previous && !previous->accepted.empty() && measurement_id(*previous) == measurement_id(candidate)) {
    if (append_history(request.history_file, *previous, history_kind::accepted)) return {file, *previous};
    const acceptance& last = previous->accepted.back();
    throw core::step_failure(
        fmt::format("{} already is this measurement: {} accepted it on {} ({}); nothing was written",
                    file.string(), last.author, last.accepted_utc, last.reason),
        "leave it as it is, or measure the build again");
  }

  candidate.accepted = previous ? previous->accepted : std::vector<acceptance>();
  candidate.accepted.push_back(
      {core::utc_timestamp(), request.author, request.reason, identity.commit, found});
  const std::optional<std::string> previous_text =
      previous ? std::optional(artifacts::read_file(file)) : std::nullopt;
  bool may_be_written = false;
  try {
    append_history(request.history_file, candidate, history_kind::accepted, nullptr, [&] {
      may_be_written = true;
      candidate.content_sha256 = write_run_set(file, candidate);
    });
  } catch (...) {
    if (may_be_written) put_back(file, previous_text);
    throw;
  }
  return {file, std::move(candidate)};
}

}  // namespace profgate::baselines
