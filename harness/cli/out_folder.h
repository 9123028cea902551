#pragma once

#include <filesystem>

namespace profgate::cli {

/// Of a folder for results that a person typed (--out) only the last part is made: a slip in the others would
/// become folders that nobody looks into. bad_input where the folder around it does not exist; asked before
/// the work, which may take long.
void require_folder_around(const std::filesystem::path& out);

}  // namespace profgate::cli
