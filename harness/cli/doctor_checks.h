#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profilers/machine.h"

/// What `profgate doctor` finds out and what it makes of it. The judgement is a pure function of the facts,
/// so that every machine's trouble can be tested on any machine.
namespace profgate::cli {

using profilers::check;

struct machine_facts {
  std::optional<std::string> driver_version;       ///< of the NVIDIA kernel driver
  std::optional<std::string> driver_cuda_version;  ///< the newest CUDA that it supports: "12.8"
  std::optional<std::string> engine_cuda_version;  ///< CUDA that the llm engine was built with; nothing: none
  std::optional<std::string> nvml_error;           ///< why NVML could not be used, although there is a driver
  std::vector<std::string> gpu_names;
  /// Why PROFGATE_GPU or CUDA_VISIBLE_DEVICES names none of them.
  std::optional<profilers::tool_fault> gpu_choice_error;
  std::string runs_dir;
  std::optional<std::uint64_t> free_bytes;
  std::uint64_t needed_bytes = 0;
};

/// `of_profilers`: what each says of itself, in the order of their tables.
std::vector<check> diagnose(const machine_facts& facts, const std::vector<check>& of_profilers);

/// True where something is broken, as opposed to merely absent.
bool anything_broken(const std::vector<check>& checks);

}  // namespace profgate::cli
