// What the engine reads of a model from elsewhere.
#include <cstdlib>
#include <span>

#include "fuzz_targets.h"
#include "llm/hf_config.h"
#include "llm/safetensors.h"
#include "memory_file.h"

namespace profgate::fuzz {

void read_hf_config(std::string_view bytes) {
  static const memory_file file;
  file.set(bytes);
  llm::read_hf_config(file.path().string());
}

/// Entries lie inside the bytes.
void read_safetensors(std::string_view bytes) {
  for (const auto& [name, entry] : llm::parse_safetensors(std::as_bytes(std::span(bytes)), "fuzz"))
    if (entry.begin > entry.end || entry.end > bytes.size()) std::abort();
}

}  // namespace profgate::fuzz
