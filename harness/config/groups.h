#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::config {

/// A folder of alternatives, and the section of the schema that the chosen file fills.
struct group {
  std::string_view name;   ///< the folder below conf/, and the left side of "group=choice"
  std::string_view mount;  ///< "" is the root
};

/// In the order in which they are resolved: a file's defaults list may choose for groups after its own.
constexpr std::array<group, 8> groups = {{{"runner", ""},
                                          {"model", "model"},
                                          {"workload", "workload"},
                                          {"inputs", "inputs"},
                                          {"profiling/nsys", "nsys"},
                                          {"profiling/ncu", "ncu"},
                                          {"hardware", "hardware"},
                                          {"categories", "categories"}}};

/// The group of that name, or nullptr.
const group* find_group(std::string_view name);

/// The file of a choice in the first of `conf_dirs` that has it. `chosen_at` says in messages who chose.
std::filesystem::path find_choice(const std::vector<std::filesystem::path>& conf_dirs, const group& wanted,
                                  const std::string& choice, const std::string& chosen_at);

/// Reads a configuration file whole; of one beyond the limit a byte more than it allows, for check_text to
/// refuse.
std::string read_conf_file(const std::filesystem::path& file, const text_limit& limit = configuration_limit);

/// How a file is called in messages: relative to the current directory where it lies below it.
std::string shown_path(const std::filesystem::path& file);

}  // namespace profgate::config
