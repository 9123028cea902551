#pragma once

#include <filesystem>
#include <string>

namespace profgate::artifacts {

/// Throws what errno value `error_number` means to a person who wanted to `action` ("write", "create the
/// folder") `path`: a full disk is step_failure, a place that cannot be written is bad_input.
[[noreturn]] void throw_io_error(const std::string& action, const std::filesystem::path& path,
                                 int error_number);

/// Runs `call`; what std::filesystem throws in it becomes an error of our tree.
template <class Call>
auto with_io_errors(const std::string& action, Call call) {
  try {
    return call();
  } catch (const std::filesystem::filesystem_error& failure) {
    throw_io_error(action, failure.path1(), failure.code().value());
  }
}

/// Makes a rename or unlink inside `folder` durable.
void sync_folder(const std::filesystem::path& folder);

/// The folder that holds `path`; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace profgate::artifacts
