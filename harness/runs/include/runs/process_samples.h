#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stage_rules.h"
#include "config/config.h"
#include "runs/unfitted_stages.h"

/// stage1/process_samples.json, and how ranges and steps become samples.
namespace profgate::runs {

/// What was timed around a program that writes no result JSON.
struct process_samples {
  std::vector<std::int64_t> wall_ns;                                    ///< of each process
  std::map<std::string, std::vector<std::int64_t>> stages_ns{};         ///< of each occurrence of a stage
  std::map<std::string, std::vector<std::uint32_t>> stage_processes{};  ///< as bare_facts has them
  std::map<std::string, std::string> stage_sources{};                   ///< the same
  std::vector<analysis::program_figure> figures{};
  std::vector<std::int64_t> first_token_ns{};     ///< as bare_facts has them
  std::vector<std::int64_t> before_prefill_ns{};  ///< of each of those, forwards of other models before it
  std::string first_token_absent_reason{};        ///< the same
  std::vector<std::int64_t> further_token_ns{};   ///< the same
  std::vector<std::int64_t> further_tokens{};     ///< the same
  std::vector<std::int64_t> decode_steps{};       ///< the same
  double range_cost_ns = 0;                       ///< the same
};

void write_process_samples(const std::filesystem::path& file, const process_samples& samples);
/// Empty where the file does not exist.
process_samples read_process_samples(const std::filesystem::path& file);

/// Beside a program's samples: the work of its model, where that is known.
inline constexpr const char* counted_work_file = "work.json";
/// How a note of step stage1 begins that says why there is none.
inline constexpr const char* not_counted_note = "the model's work was not counted: ";

/// Of the ranges that a program was seen to open.
struct range_samples {
  /// How long each occurrence of a stage took; stages that never closed a range are not in it.
  std::map<std::string, std::vector<std::int64_t>> stages_ns{};
  /// Of each of them the number of its process, those of one run counted from 0 by their ids.
  std::map<std::string, std::vector<std::uint32_t>> stage_processes{};
  analysis::stage_counts counts{};
  std::vector<std::int64_t> decode_steps{};  ///< in each occurrence of decode_all, in their order
  /// add_ranges(), where a stage has no range: what it could have been.
  seen_stages seen_if_unfitted{};
};
range_samples sample_ranges(core::timeline timeline, const config::resolved& config);

/// Those of one more run, whose processes are others than those of the runs before, but for stages of which
/// the program tells the times itself.
void add_stages(const range_samples& ranges, process_samples& samples);

/// What the named groups of stages' expressions counted in one process, as figures: "decode: decode_tokens".
/// Of tokens also how many a second of the stage, and, where it has one kind of them, how long each took.
void add_counts(const range_samples& ranges, process_samples& samples);

/// When tokens came, by the stages that an adapter opened on one thread: from a prefill's start to that of
/// the step after it, and from each step's to the next one's. What the program does between two calls of its
/// model (choosing the token, waiting for it) is a part of that. Added to `samples`.
void add_token_times(const core::timeline& timeline, process_samples& samples);

}  // namespace profgate::runs
