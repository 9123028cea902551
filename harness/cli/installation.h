#pragma once

#include <filesystem>

#include "workload/adapter.h"

namespace profgate::cli {

/// Where the parts of profgate lie, found from the running program. A build folder has the shape of the
/// installed tree, and the tree may be moved.
struct installation {
  std::filesystem::path templates_dir;
  std::filesystem::path conf_dir;  ///< profgate's own settings
  std::filesystem::path collector_library;
  workload::adapter_files pytorch_adapter;
  std::filesystem::path process_noter;  ///< stands before a server
  std::filesystem::path llm_program;    ///< counts the work of models, those of others, too
};

/// Throws bad_input where the program was copied away from its data.
installation find_installation();

std::filesystem::path running_program();

}  // namespace profgate::cli
