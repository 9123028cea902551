#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profilers/machine.h"

namespace profgate::profilers {

/// Where the embedded collector will find CUPTI inside of a traced program, or why it will not. A library
/// that the program itself brings along cannot be seen from outside.
struct cupti_location {
  std::optional<std::filesystem::path> library;
  std::string reason;  ///< where there is none
};

cupti_location find_cupti(const tool_environment& environment);

/// What the doctor wants to know.
struct collector_facts {
  bool is_present = false;
  bool has_gpu_part = false;                   ///< it was built with CUPTI's headers
  std::optional<std::string> cupti_library{};  ///< that the collector would load
  std::string cupti_absent_reason{};
  bool has_driver = false;
};

std::vector<check> judge(const collector_facts& facts);
std::vector<check> diagnose_collector(const machine& here);

std::vector<core::setting> collector_settings();

}  // namespace profgate::profilers
