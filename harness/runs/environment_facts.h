#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What the analysis takes from env.json. Documents of earlier versions lack some of it: nothing, then.
namespace profgate::runs {

/// Of the GPU that was chosen; of the first where none was.
std::optional<std::int64_t> multiprocessors_in(const std::string& env_json);

/// The largest cache of the CPU.
std::optional<std::int64_t> last_level_cache_bytes_in(const std::string& env_json);

}  // namespace profgate::runs
