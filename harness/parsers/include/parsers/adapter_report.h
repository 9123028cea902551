#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/decode_steps.h"
#include "core/records.h"

namespace profgate::parsers {

/// What the PyTorch adapter saw in one process (workloads/pytorch).
struct adapter_report {
  struct stage_calls {
    std::string stage;
    std::optional<std::int64_t> batch{};   ///< sequences; nothing: the model is no decoder
    std::optional<std::int64_t> tokens{};  ///< new ones, of each sequence
    std::int64_t calls = 0;
  };
  std::uint32_t process_id = 0;  ///< as its file is named; 0: it tells none
  std::string torch_version{};
  std::vector<std::string> roots{};  ///< classes of the modules that the program called
  std::vector<stage_calls> stages{};
  struct fed_prompts {
    std::int64_t batch = 0;
    std::int64_t tokens = 0;  ///< of each sequence, all chunks together
    std::int64_t chunks = 0;
    std::int64_t prompts = 0;
  };
  std::vector<fed_prompts> prompts{};  ///< empty: an earlier adapter did not tell
  struct models_before {
    std::vector<std::string> models{};  ///< their classes, each once
    std::int64_t prompts = 0;
  };
  std::vector<models_before> before_prompts{};  ///< what ran as `forward` right before prompts
  std::vector<std::string> decode_in_turns{};  ///< classes of decoders that do; empty: there is one at a time
  /// Classes of decoders that are fed guesses and keep some of them. Which calls are prompts nobody knows
  /// then.
  std::vector<std::string> checks_guesses{};
  struct refed_calls {
    std::int64_t fed_tokens = 0;  ///< of each sequence, for one new one
    std::int64_t calls = 0;
  };
  std::vector<refed_calls> steps_without_cache{};  ///< decode steps among those
  struct spread_model {
    std::string model{};
    std::int64_t gpus = 0;
  };
  std::vector<spread_model> on_several_gpus{};  ///< the host's times are theirs: no event sees all GPUs
  /// By stage, how long each call took the GPU; of unprofiled processes that used one.
  std::map<std::string, std::vector<std::int64_t>> samples_ns{};
  std::string model_config{};  ///< of a Hugging Face model, the JSON of its config.json; empty: it has none
  std::string dtype{};         ///< of its weights: "bfloat16"
  std::map<std::string, std::int64_t> raised_calls{};  ///< of models, by exception; they are in no stage
  std::vector<std::string> errors{};                   ///< why it stopped, where it did
};

/// Whether the range is a stage that the adapter opens, or that is made of those. Which of them a program has
/// nobody knows beforehand.
bool is_adapter_stage(std::string_view range);
/// The same of a stage's rule: whether the ranges are the adapter's own, and not the program's by that name.
bool is_adapter_stage(std::string_view range, const std::optional<std::string>& domain);

/// The empty range with which the adapter opens a prefill that is a later chunk of a prompt, in bare runs.
inline constexpr const char* later_chunk_range = "prefill_chunk";

/// How a note of step stage1 begins that says so.
inline constexpr const char* silent_adapter_note = "the PyTorch adapter never reported in";

/// What a step's note begins with where the program was seen to import torch and no adapter was asked for.
inline constexpr const char* torch_without_adapter_note = "the program uses PyTorch";

/// The file's name, with %p for the process.
inline constexpr const char* adapter_report_name = "pytorch.%p.json";

std::vector<std::filesystem::path> adapter_report_files(const std::filesystem::path& folder);

/// One a process. bad_input where a file is none.
std::vector<adapter_report> read_adapter_reports(const std::vector<std::filesystem::path>& files);

/// Whether all calls of a stage had the same batch and tokens, and these are known.
bool have_one_shape(const std::vector<adapter_report>& reports);

/// Whether a prompt was prefilled in several calls.
bool have_chunks(const std::vector<adapter_report>& reports);

/// "3 calls of models ended by MemoryError, and are no part of any stage"; empty: none did.
std::string raised_calls_words(const std::vector<adapter_report>& reports);

/// "Model lies on 2 GPUs: its stages are timed by the host, which does not wait for them"; empty: none does.
std::string several_gpus_words(const std::vector<adapter_report>& reports);

/// Why the number of the program's tokens is not known, though they were seen; empty: it is.
std::string unknown_tokens_words(const std::vector<adapter_report>& reports);
/// Whether nobody knows which of the calls are prompts.
bool are_prompts_unknown(const std::vector<adapter_report>& reports);

/// Those of all processes, by stage.
std::map<std::string, std::vector<std::int64_t>> device_samples_ns(
    const std::vector<adapter_report>& reports);
inline constexpr const char* device_samples_source = "events on the GPU";

/// By stage, of each of its samples the number of its process (runs::range_samples).
using process_numbers = std::map<std::string, std::vector<std::uint32_t>>;
std::size_t process_count(const process_numbers& numbers);

/// The processes in which the adapter opened stages, by their ids.
std::vector<std::uint32_t> adapted_processes(const core::timeline& timeline);
/// One more run's, `numbers`, behind those that `ids` has by their numbers: zeros where it cannot be told
/// which is which, since others than those with the adapter have stages.
void add_processes(std::vector<std::uint32_t> adapted, const process_numbers& numbers,
                   std::vector<std::uint32_t>& ids);

/// A stage's times: the GPU's of each process that told them, and the host's of the others.
struct device_times {
  std::vector<std::int64_t> durations_ns{};  ///< empty: no process told any
  std::vector<std::uint32_t> processes{};    ///< of each the number of its process; empty: it cannot be told
  std::size_t silent_processes = 0;  ///< that told none; where nobody knows which, theirs are left out
};
/// `range` is the adapter's; `host_ns` of `processes`, whose ids are `ids`, what the host timed.
device_times with_device_samples(const std::string& range, const std::vector<adapter_report>& reports,
                                 const std::vector<std::int64_t>& host_ns,
                                 const std::vector<std::uint32_t>& processes,
                                 const std::vector<std::uint32_t>& ids);
/// "1 process told no times of the GPU: its times of prefill are the host's"; empty: all told some.
std::string silent_processes_words(const device_times& times, const std::string& stage);

/// What a generation of the program was fed and made: the most frequent prefill, and the decode steps that
/// most texts have (where they differ, the longest's).
struct generated_tokens {
  std::int64_t batch = 0;
  std::int64_t prompt = 0;
  std::int64_t chunks = 1;   ///< prefills that a prompt is made of
  std::int64_t decoded = 0;  ///< of each sequence, after the prefill's own
  bool is_mean = false;      ///< `decoded` is, rounded: nobody tells how many steps each text has
};

/// `decode_steps`: of each text; where nobody tells, the mean of them stands for all. Nothing: no prefill was
/// seen, or unknown_tokens_words() tells why it is not known.
std::optional<generated_tokens> tokens_of(const std::vector<adapter_report>& reports,
                                          const std::vector<std::int64_t>& decode_steps);

/// Nothing: there was none.
std::optional<core::steps_without_cache> steps_without_cache_of(const std::vector<adapter_report>& reports);

}  // namespace profgate::parsers
