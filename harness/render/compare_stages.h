#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "compare/profile_comparison.h"

/// A stage of two sides: its figures, kernels and operators, and what the kernels' difference is made of.
namespace profgate::render {

/// Two tools spell one kernel in two ways, "f<(int)2>" and "f<2>": that is nothing to tell apart.
bool is_one_name(const compare::compared_kernel& kernel);

/// Whether the kernel of B does what another did in A.
bool is_in_place_of_another(const compare::compared_kernel& kernel);

/// " per token"; empty where the stage is as long in both.
std::string per_text(const compare::compared_stage& stage);

nlohmann::json stage_view(const compare::compared_stage& whole, bool other_work,
                          const std::filesystem::path& templates_dir);

}  // namespace profgate::render
