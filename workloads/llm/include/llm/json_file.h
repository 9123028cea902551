#pragma once

#include <nlohmann/json.hpp>
#include <string>

// Heavy: include it in .cpp files only.
namespace profgate::llm {

/// Throws bad_input for a file that is not there or not JSON.
nlohmann::json read_json_file(const std::string& path);

/// Writes to a temporary name and renames, so that a reader never sees half a file.
void write_json_file(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace profgate::llm
