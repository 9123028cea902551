#pragma once

#include <filesystem>
#include <string>

/// Whoever edits, forgets to build and measures has measured the old code, under the new code's commit.
namespace profgate::ab {

/// What is to be said of a program that its build would make anew: "build/dev/bin/x is older than its
/// sources: cmake --build build/dev makes it anew". Empty where it is not, or where nobody can tell: a
/// program that no build of CMake made, a build folder that was copied, another generator than Ninja, a build
/// that has to be configured first.
std::string stale_program_text(const std::filesystem::path& program);

}  // namespace profgate::ab
