#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What the operating system knows; nothing where it does not say.
namespace profgate::llm {

/// "AMD EPYC 7763 64-Core Processor", "ARM Neoverse-N1", or the architecture where the model is not known.
std::string cpu_name();

/// Memory that can be had without swapping.
std::optional<std::int64_t> available_memory_bytes();

/// The most this program has had resident so far, since it was started.
std::optional<std::int64_t> peak_memory_bytes();

}  // namespace profgate::llm
