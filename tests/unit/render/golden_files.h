#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "render/render.h"

namespace profgate::render {

std::string read(const std::filesystem::path& path);

/// The first line in which the two differ, as "line 7: expected …, got …"; empty where they are equal.
std::string first_difference(const std::string& expected, const std::string& actual);

/// Expects the file to hold `actual`; writes it instead where PROFGATE_UPDATE_GOLDENS is 1.
void compare_or_update(const std::filesystem::path& golden, const std::string& actual);

/// All reports of a profile.json, by their paths.
std::map<std::string, std::string> reports_of(const std::string& profile_text,
                                              const std::optional<gate::judgement>& judged = {});

}  // namespace profgate::render
