#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace profgate::artifacts {

/// Replaces `path` as a whole: a temporary name in the same folder, fsync, rename. A reader sees the old
/// file or the new one. A write that fails leaves the old file and no temporary one.
void write_file_atomically(const std::filesystem::path& path, std::string_view contents);

/// Gives a file's contents piece by piece to the function that it is called with.
using piece_producer = std::function<void(const std::function<void(std::string_view)>&)>;

/// The same of a gzip file, whose contents never are in memory as a whole.
void write_gzip_atomically(const std::filesystem::path& path, const piece_producer& produce);

constexpr std::uint64_t default_read_limit_bytes = std::uint64_t{256} << 20;

/// The contents of `path`, or of `path`.gz (decompressed) where retention has compressed it. More than
/// `max_bytes` is bad_input: whoever reads a whole file says how large it can sensibly be.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = default_read_limit_bytes);

/// Whether read_file would find something: `path` itself or `path`.gz.
bool file_exists(const std::filesystem::path& path);

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

/// Makes the folder and those on the way to it; one that cannot be made is an error of throw_io_error.
void make_folder(const std::filesystem::path& path);

/// Makes a rename or unlink inside `folder` durable.
void sync_folder(const std::filesystem::path& folder);

/// The folder that holds `path`; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// "run" of "run/" and of "run": a name must not depend on the slash that a shell completes.
std::string name_of_folder(const std::filesystem::path& folder);

}  // namespace profgate::artifacts
