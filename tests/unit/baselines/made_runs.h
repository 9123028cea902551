#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "../gate/made_runs.h"
#include "baselines/run_set_file.h"

namespace profgate::baselines {

using gate::made_later;
using gate::made_process;
using gate::made_runs;
using gate::today;

/// A folder of its own for a test, removed at the end.
class made_folder {
 public:
  explicit made_folder(const std::string& name)
      : m_path(std::filesystem::temp_directory_path() /
               ("profgate-baselines-" + std::to_string(::getpid()) + "-" + name)) {
    std::filesystem::remove_all(m_path);
    std::filesystem::create_directories(m_path);
  }
  ~made_folder() { std::filesystem::remove_all(m_path); }
  made_folder(const made_folder&) = delete;
  made_folder& operator=(const made_folder&) = delete;
  const std::filesystem::path& path() const { return m_path; }

 private:
  std::filesystem::path m_path;
};

}  // namespace profgate::baselines
