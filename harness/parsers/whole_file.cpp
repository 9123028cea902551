#include "whole_file.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

#include "core/error.h"
#include "core/regular_file.h"
#include "core/units.h"

namespace profgate::parsers {

std::string read_whole_file(const std::filesystem::path& file, std::uintmax_t max_bytes,
                            const std::string& made_by) {
  const std::string remedy = fmt::format("it is made by {}: run that step again", made_by);
  core::require_regular_file(file);
  std::error_code problem;
  const std::uintmax_t bytes = std::filesystem::file_size(file, problem);
  if (problem) {
    throw core::bad_input(file.string(), 0, fmt::format("cannot be read: {}", problem.message()), remedy);
  }
  if (bytes > max_bytes) {
    throw core::bad_input(file.string(), 0,
                          fmt::format("has {}, more than the {} that such a file may have",
                                      core::format_bytes(static_cast<double>(bytes)),
                                      core::format_bytes(static_cast<double>(max_bytes))),
                          remedy);
  }
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw core::bad_input(file.string(), 0, "cannot be read to its end", remedy);
  }
  return text;
}

}  // namespace profgate::parsers
