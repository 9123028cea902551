#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Many pairs in one table, one run each: how fast, how near to the machine's limits, and at what cost.
/// Nothing is judged.
namespace profgate::render {

struct profiled_run {
  std::string folder{};        ///< relative to where the table will lie; its report is linked
  std::string profile_json{};  ///< the text of the profile, which was validated
};

/// models.json: {schema_version, rows: [{pair, model, …, not_measured}]}, the fastest decoder first.
std::string models_json(const std::vector<profiled_run>& runs);

std::string models_markdown(std::string_view models_json_text, const std::filesystem::path& templates_dir);

/// One self-contained file with a picture.
std::string models_html(std::string_view models_json_text, const std::filesystem::path& templates_dir);

}  // namespace profgate::render
