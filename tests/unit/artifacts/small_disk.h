#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace profgate::artifacts {

/// Runs `body` in a child process that sees a tmpfs with `options` ("size=64k", "ro") mounted on `folder`;
/// no other process sees it. Returns what `body` returned, or nothing where this machine forbids mounting.
std::optional<std::string> on_mounted_disk(const std::filesystem::path& folder, const std::string& options,
                                           bool read_only, const std::function<std::string()>& body);

}  // namespace profgate::artifacts
