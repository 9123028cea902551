#include "llm/json_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "llm/failure.h"

namespace profgate::llm {

nlohmann::json read_json_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw bad_input(path + ": cannot be read", "check the path and that the file is readable");
  try {
    return nlohmann::json::parse(file);
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
