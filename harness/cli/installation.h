#pragma once

#include <filesystem>

namespace profgate::cli {

/// Where the parts of profgate lie, found from the running program: beside it in a build folder, or in the
/// tree that `cmake --install` made (which may have been moved).
struct installation {
  std::filesystem::path conf_dir;
  std::filesystem::path templates_dir;
  std::filesystem::path collector_library;
};

/// Throws bad_input where the program was copied away from its data.
installation find_installation();

std::filesystem::path running_program();

}  // namespace profgate::cli
