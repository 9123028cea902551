#pragma once

#include <map>
#include <string>
#include <vector>

namespace profgate::render {

using table_row = std::map<std::string, std::string>;  ///< cells by their column's head

/// The first table below a heading.
std::vector<table_row> table_below(const std::string& report, const std::string& heading);

}  // namespace profgate::render
