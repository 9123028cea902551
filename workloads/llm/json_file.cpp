#include "llm/json_file.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "llm/failure.h"

namespace profgate::llm {

nlohmann::json read_json_file(const std::string& path) {
  constexpr std::uintmax_t max_bytes = std::uintmax_t{256} << 20;
  constexpr int max_depth = 64;  // what is deeper would end the program where it is written or compared
  std::error_code unknown;
  // A FIFO would hang, a device may never end.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown))
    throw bad_input(path + ": is not a file", "put the file itself in its place");
  if (std::filesystem::file_size(path, unknown) > max_bytes && !unknown)
    throw bad_input(path + ": is larger than 256 MB", "check that it is the file it should be");
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > max_depth)
      throw bad_input(path + ": nested more than 64 levels deep", "correct the file or fetch it again");
    return true;
  };
  std::ifstream file(path);
  if (!file) throw bad_input(path + ": cannot be read", "check the path and that the file is readable");
  try {
    return nlohmann::json::parse(file, check_depth);
  } catch (const nlohmann::json::exception& error) {
    throw bad_input(path + ": not JSON: " + error.what(), "correct the file or fetch it again");
  }
}

void write_json_file(const std::string& path, const nlohmann::ordered_json& document) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  std::ofstream file(temporary);
  file << document.dump(2) << '\n';
  file.close();
  std::error_code rename_error;
  if (file) std::filesystem::rename(temporary, path, rename_error);
  if (!file || rename_error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw judged_bad(path + ": cannot be written",
                     "check that the directory exists, is writable and has space");
  }
}

}  // namespace profgate::llm
