#include "parsers/adapter_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/json.h"
#include "core/length_counts.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "whole_file.h"

namespace profgate::parsers {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t max_adapter_report_bytes = std::uintmax_t{16} << 20;

/// Of "pytorch.4711.json".
std::uint32_t process_named_by(const fs::path& file) {
  const std::string id = file.stem().extension().string();
  std::uint32_t process = 0;
  if (!id.empty()) std::from_chars(id.data() + 1, id.data() + id.size(), process);
  return process;
}

bool has_steps_of_several_tokens(const adapter_report& report) {
  return std::any_of(report.stages.begin(), report.stages.end(), [](const auto& each) {
    return each.stage == core::decode_step_range && each.tokens && *each.tokens > 1;
  });
}

/// A call that checks guesses looks like a prompt.
void forget_tokens(adapter_report& report) {
  report.prompts.clear();
  for (adapter_report::stage_calls& each : report.stages) each.tokens.reset();
}

adapter_report read_adapter_report(const fs::path& file) {
  const core::json_document document(read_whole_file(file, max_adapter_report_bytes, "the PyTorch adapter"),
                                     file.string(), "run the pair again");
  const core::json_cursor root = document.root();
  adapter_report report;
  report.process_id = process_named_by(file);
  report.torch_version = root.require("torch_version").text();
  report.roots = root.require("roots").texts();
  report.errors = root.require("errors").texts();
  if (const auto model = root.find("model_config")) report.model_config = model->text();
  if (const auto dtype = root.find("dtype")) report.dtype = dtype->text();
  for (const core::json_cursor& item : root.require("stages").items()) {
    adapter_report::stage_calls& calls = report.stages.emplace_back();
    calls.stage = item.require("name").text();
    calls.calls = item.require("calls").count();
    if (const auto batch = item.find("batch")) calls.batch = batch->count();
    if (const auto tokens = item.find("tokens")) calls.tokens = tokens->count();
  }
  if (const auto prompts = root.find("prompts")) {  // the same
    for (const core::json_cursor& item : prompts->items())
      report.prompts.push_back({item.require("batch").count(), item.require("tokens").count(),
                                item.require("chunks").count(), item.require("prompts").count()});
  }
  if (const auto before = root.find("before_prompts")) {
    for (const core::json_cursor& item : before->items())
      report.before_prompts.push_back({item.require("models").texts(), item.require("prompts").count()});
  }
  if (const auto turns = root.find("decode_in_turns")) report.decode_in_turns = turns->texts();
  if (const auto guesses = root.find("checks_guesses")) report.checks_guesses = guesses->texts();
  if (const auto spread = root.find("on_several_gpus")) {
    for (const core::json_cursor& item : spread->items())
      report.on_several_gpus.push_back({item.require("model").text(), item.require("gpus").count()});
  }
  if (const auto refed = root.find("steps_without_cache")) {  // older runs do not tell
    for (const core::json_cursor& item : refed->items())
      report.steps_without_cache.push_back(
          {item.require("fed_tokens").count(), item.require("calls").count()});
  }
  if (const auto raised = root.find("raised"))  // older runs do not tell
    for (const auto& [exception, calls] : raised->members()) report.raised_calls[exception] = calls.count();
  for (const auto& [stage, samples] : root.require("samples_ns").members()) {
    for (const core::json_cursor& sample : samples.items())
      report.samples_ns[stage].push_back(sample.integer(0, core::longest_plausible_ns));
  }
  if (!report.checks_guesses.empty()) forget_tokens(report);
  return report;
}

}  // namespace

bool is_adapter_stage(std::string_view range) {
  return range == core::prefill_stage || range == core::decode_all_stage ||
         range == core::decode_step_range || range == core::forward_stage;
}

bool is_adapter_stage(std::string_view range, const std::optional<std::string>& domain) {
  return is_adapter_stage(range) && domain == core::llm_domain;
}

std::vector<fs::path> adapter_report_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("pytorch.") && name.ends_with(".json")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<adapter_report> read_adapter_reports(const std::vector<fs::path>& files) {
  std::vector<adapter_report> reports;
  reports.reserve(files.size());
  for (const fs::path& file : files) reports.push_back(read_adapter_report(file));
  return reports;
}

std::map<std::string, std::vector<std::int64_t>> device_samples_ns(
    const std::vector<adapter_report>& reports) {
  std::map<std::string, std::vector<std::int64_t>> all;
  for (const adapter_report& report : reports) {
    for (const auto& [stage, samples_ns] : report.samples_ns)
      all[stage].insert(all[stage].end(), samples_ns.begin(), samples_ns.end());
  }
  return all;
}

std::size_t process_count(const process_numbers& numbers) {
  std::size_t count = 0;
  for (const auto& [stage, processes] : numbers)
    for (const std::uint32_t process : processes) count = std::max<std::size_t>(count, process + 1);
  return count;
}

std::vector<std::uint32_t> adapted_processes(const core::timeline& timeline) {
  std::set<std::uint32_t> processes;
  for (const core::range_record& range : timeline.ranges)
    if (range.end_ns && range.domain == core::llm_domain && is_adapter_stage(range.name))
      processes.insert(range.process_id);
  return {processes.begin(), processes.end()};
}

void add_processes(std::vector<std::uint32_t> adapted, const process_numbers& numbers,
                   std::vector<std::uint32_t>& ids) {
  const std::size_t count = process_count(numbers);
  if (adapted.size() != count) adapted.assign(count, 0);
  ids.insert(ids.end(), adapted.begin(), adapted.end());
}

device_times with_device_samples(const std::string& range, const std::vector<adapter_report>& reports,
                                 const std::vector<std::int64_t>& host_ns,
                                 const std::vector<std::uint32_t>& processes,
                                 const std::vector<std::uint32_t>& ids) {
  // Steps that follow each other are one decode_all.
  const std::string called = range == core::decode_all_stage ? core::decode_step_range : range;
  std::map<std::uint32_t, std::vector<std::int64_t>> told_ns;  // by process
  device_times all_told;
  for (const adapter_report& report : reports) {
    const auto own = report.samples_ns.find(range);
    if (own != report.samples_ns.end() && !own->second.empty()) {
      told_ns[report.process_id] = own->second;
      all_told.durations_ns.insert(all_told.durations_ns.end(), own->second.begin(), own->second.end());
    } else if (std::any_of(report.stages.begin(), report.stages.end(),
                           [&](const auto& each) { return each.stage == called && each.calls > 0; })) {
      all_told.silent_processes += 1;
    }
  }
  if (told_ns.empty()) return {};
  std::map<std::uint32_t, std::vector<std::int64_t>> of_host_ns;  // by number
  for (std::size_t i = 0; i < host_ns.size() && i < processes.size(); ++i)
    of_host_ns[processes[i]].push_back(host_ns[i]);
  device_times times;
  std::size_t found = 0;
  for (const auto& [number, of_process_ns] : of_host_ns) {
    const auto told = number < ids.size() ? told_ns.find(ids[number]) : told_ns.end();
    const bool is_told = told != told_ns.end();
    const std::vector<std::int64_t>& best_ns = is_told ? told->second : of_process_ns;
    if (best_ns.size() > of_process_ns.size()) return all_told;  // they are another's
    found += is_told ? 1 : 0;
    times.silent_processes += is_told ? 0 : 1;
    times.durations_ns.insert(times.durations_ns.end(), best_ns.begin(), best_ns.end());
    times.processes.insert(times.processes.end(), best_ns.size(), number);
  }
  return found == told_ns.size() ? times : all_told;
}

std::string silent_processes_words(const device_times& times, const std::string& stage) {
  if (times.durations_ns.empty() || times.silent_processes == 0) return "";
  const bool is_one = times.silent_processes == 1;
  return fmt::format("{} process{} told no times of the GPU: {} times of {} are {}", times.silent_processes,
                     is_one ? "" : "es", is_one ? "its" : "their", stage,
                     times.processes.empty() ? "left out" : "the host's");
}

std::string several_gpus_words(const std::vector<adapter_report>& reports) {
  std::set<std::string> models;
  for (const adapter_report& report : reports)
    for (const adapter_report::spread_model& each : report.on_several_gpus)
      models.insert(fmt::format("{} lies on {} GPUs", each.model, each.gpus));
  if (models.empty()) return "";
  return fmt::format("{}: its stages are timed by the host, which does not wait for them",
                     fmt::join(models, " and "));
}

std::string unknown_tokens_words(const std::vector<adapter_report>& reports) {
  std::set<std::string> models;
  for (const adapter_report& report : reports)
    models.insert(report.checks_guesses.begin(), report.checks_guesses.end());
  if (!models.empty())
    return fmt::format(
        "{} checks guesses of its next tokens (speculative decoding by prompt lookup); which "
        "of its calls are prompts, and how many tokens come of them, is not known",
        fmt::join(models, " and "));
  if (std::any_of(reports.begin(), reports.end(), has_steps_of_several_tokens))
    return "a CUDA graph makes several decode steps at once; when each of their tokens comes is not known";
  return "";
}

bool are_prompts_unknown(const std::vector<adapter_report>& reports) {
  return std::any_of(reports.begin(), reports.end(),
                     [](const adapter_report& report) { return !report.checks_guesses.empty(); });
}

bool have_one_shape(const std::vector<adapter_report>& reports) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> shapes;
  for (const adapter_report& report : reports) {
    for (const adapter_report::stage_calls& each : report.stages) {
      if (!each.batch || !each.tokens) return false;
      const std::pair shape(*each.batch, *each.tokens);
      if (shapes.try_emplace(each.stage, shape).first->second != shape) return false;
    }
  }
  return true;
}

bool have_chunks(const std::vector<adapter_report>& reports) {
  return std::any_of(reports.begin(), reports.end(), [](const adapter_report& report) {
    return std::any_of(report.prompts.begin(), report.prompts.end(),
                       [](const auto& prompt) { return prompt.chunks > 1; });
  });
}

std::string raised_calls_words(const std::vector<adapter_report>& reports) {
  std::int64_t calls = 0;
  std::set<std::string> exceptions;
  for (const adapter_report& report : reports) {
    for (const auto& [exception, count] : report.raised_calls) {
      calls += count;
      exceptions.insert(exception);
    }
  }
  if (calls == 0) return "";
  return fmt::format("{} ended by {}, and {} no part of any stage",
                     calls == 1 ? "a call of a model" : fmt::format("{} calls of models", calls),
                     fmt::join(exceptions, " or "), calls == 1 ? "is" : "are");
}

std::optional<generated_tokens> tokens_of(const std::vector<adapter_report>& reports,
                                          const std::vector<std::int64_t>& decode_steps) {
  if (!unknown_tokens_words(reports).empty()) return std::nullopt;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> prefills;  // calls by batch and tokens
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> prompts;  // and chunks
  std::int64_t prefill_calls = 0;
  std::int64_t decode_calls = 0;
  for (const adapter_report& report : reports) {
    for (const adapter_report::stage_calls& each : report.stages) {
      if (each.stage == core::decode_step_range) decode_calls += each.calls;
      if (each.stage != core::prefill_stage || !each.batch || !each.tokens) continue;
      prefills[{*each.batch, *each.tokens}] += each.calls;
      prefill_calls += each.calls;
    }
  }
  for (const adapter_report& report : reports)
    for (const adapter_report::fed_prompts& each : report.prompts)
      prompts[{each.batch, each.tokens, each.chunks}] += each.prompts;
  if (prefill_calls == 0) return std::nullopt;
  const auto usual = std::max_element(prefills.begin(), prefills.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  generated_tokens tokens{usual->first.first, usual->first.second};
  if (decode_calls > 0 && !prompts.empty()) {
    const auto most = std::max_element(prompts.begin(), prompts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    std::tie(tokens.batch, tokens.prompt, tokens.chunks) = most->first;
    prefill_calls = std::accumulate(prompts.begin(), prompts.end(), std::int64_t{0},
                                    [](std::int64_t sum, const auto& each) { return sum + each.second; });
  }
  core::length_counts texts;
  for (const std::int64_t steps : decode_steps) texts.add(steps);
  if (texts.texts() > 0) {
    tokens.decoded = texts.of_most().value_or(texts.longest());
  } else {
    tokens.decoded = (decode_calls + prefill_calls / 2) / prefill_calls;
    tokens.is_mean = decode_calls % prefill_calls != 0;
  }
  return tokens;
}

std::optional<core::steps_without_cache> steps_without_cache_of(const std::vector<adapter_report>& reports) {
  core::steps_without_cache sum;
  for (const adapter_report& report : reports) {
    for (const adapter_report::stage_calls& each : report.stages) {
      if (each.stage == core::decode_step_range) sum.decode_calls += each.calls;
      if (each.stage == core::prefill_stage) sum.prefill_calls += each.calls;
    }
    for (const adapter_report::refed_calls& each : report.steps_without_cache) {
      sum.shortest_tokens = sum.calls == 0 ? each.fed_tokens : std::min(sum.shortest_tokens, each.fed_tokens);
      sum.longest_tokens = std::max(sum.longest_tokens, each.fed_tokens);
      sum.calls += each.calls;
      sum.fed_tokens += each.calls * each.fed_tokens;
    }
  }
  return sum.calls == 0 ? std::nullopt : std::optional(sum);
}

}  // namespace profgate::parsers
