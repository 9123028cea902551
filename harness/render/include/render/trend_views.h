#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "baselines/history.h"

namespace profgate::render {

/// One panel a trend, one below the other; the picture needs nothing from elsewhere.
std::string trends_svg(const std::vector<baselines::trend>& trends,
                       const std::filesystem::path& templates_dir);

}  // namespace profgate::render
