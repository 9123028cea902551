#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "layer.h"

namespace profgate::config {

/// A chosen file of a group, and who chose it.
struct group_choice {
  std::string choice;  ///< "" is none: the group's keys keep their defaults
  std::string origin;
};

struct parsed_overrides {
  std::map<std::string, group_choice, std::less<>> choices;  ///< by group
  layer values;
};

/// Parses "group=choice" and "a.b=value" items; a later item wins.
parsed_overrides parse_overrides(const std::vector<std::string>& items, const std::string& source_name,
                                 const std::filesystem::path& project_dir);

}  // namespace profgate::config
