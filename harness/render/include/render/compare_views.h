#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compare/profile_comparison.h"

/// Two profiles side by side, for people and for programs. COMPARE.md lists the fields of compare.json.
namespace profgate::render {

inline constexpr std::string_view compare_schema_version = "2.1";

std::string compare_json(const compare::profile_comparison& comparison);

std::string compare_markdown(const compare::profile_comparison& comparison,
                             const std::filesystem::path& templates_dir);

/// One self-contained file: no scripts, nothing from elsewhere.
std::string compare_html(const compare::profile_comparison& comparison,
                         const std::filesystem::path& templates_dir);

using compare_files = std::vector<std::pair<std::string, std::string>>;  ///< by name

/// All of them for a folder, and the pictures that compare.md shows.
compare_files compare_documents(const compare::profile_comparison& comparison,
                                const std::filesystem::path& templates_dir);

}  // namespace profgate::render
