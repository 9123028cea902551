#pragma once

#include <filesystem>

namespace profgate::runs {

/// A run may come from somebody else. bad_input where something in its folders leads out of it (a symbolic
/// link: reports would be written there, or somebody's files read from there) or is no file (a FIFO).
void check_run_folder(const std::filesystem::path& run_dir);

}  // namespace profgate::runs
