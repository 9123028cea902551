#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compare/profile_comparison.h"

/// Two profiles side by side, for people and for programs. COMPARE.md lists the fields of compare.json.
namespace profgate::render {

inline constexpr std::string_view compare_schema_version = "1.0";

std::string compare_json(const compare::profile_comparison& comparison);

std::string compare_markdown(const compare::profile_comparison& comparison,
                             const std::filesystem::path& templates_dir);

/// One self-contained file: no scripts, nothing from elsewhere.
std::string compare_html(const compare::profile_comparison& comparison,
                         const std::filesystem::path& templates_dir);

}  // namespace profgate::render
