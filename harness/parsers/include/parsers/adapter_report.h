#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/decode_steps.h"

namespace profgate::parsers {

/// What the PyTorch adapter saw in one process (workloads/pytorch).
struct adapter_report {
  struct stage_calls {
    std::string stage;
    std::optional<std::int64_t> batch{};   ///< sequences; nothing: the model is no decoder
    std::optional<std::int64_t> tokens{};  ///< new ones, of each sequence
    std::int64_t calls = 0;
  };
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
  struct refed_calls {
    std::int64_t fed_tokens = 0;  ///< of each sequence, for one new one
    std::int64_t calls = 0;
  };
  std::vector<refed_calls> steps_without_cache{};  ///< decode steps among those
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

/// Those of all processes, by stage.
std::map<std::string, std::vector<std::int64_t>> device_samples_ns(
    const std::vector<adapter_report>& reports);
inline constexpr const char* device_samples_source = "events on the GPU";

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
/// seen.
std::optional<generated_tokens> tokens_of(const std::vector<adapter_report>& reports,
                                          const std::vector<std::int64_t>& decode_steps);

/// Nothing: there was none.
std::optional<core::steps_without_cache> steps_without_cache_of(const std::vector<adapter_report>& reports);

}  // namespace profgate::parsers
