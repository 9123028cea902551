#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../profilers/fork_runner.h"
#include "core/records.h"
#include "parsers/timeline.h"
#include "temp_folder.h"

namespace profgate::test {

/// Runs scripts of nvtx_program.cpp under the collector.
class traced_program : public ::testing::Test {
 protected:
  profilers::tool_run trace(std::vector<std::string> script) {
    profilers::tool_command command;
    command.argv = std::move(script);
    command.argv.insert(command.argv.begin(), NVTX_PROGRAM);
    command.set_environment = m_environment;
    command.set_environment["NVTX_INJECTION64_PATH"] = COLLECTOR_LIBRARY;
    command.set_environment.try_emplace("PROFGATE_COLLECTOR_OUTPUT", (m_folder / "out.timeline").string());
    return run_by_fork(command);
  }

  core::timeline timeline() { return parsers::read_embedded_timeline(m_folder / "out.timeline"); }

  template <typename record>
  static std::vector<std::string> names_of(const std::vector<record>& records) {
    std::vector<std::string> result;
    for (const record& one : records) {
      if constexpr (std::is_same_v<record, core::kernel_execution>) {
        result.emplace_back(one.shape->name);
      } else {
        result.emplace_back(one.name);
      }
    }
    return result;
  }
  static std::vector<std::string> names(const core::timeline& timeline) { return names_of(timeline.ranges); }

  temp_folder m_folder;
  std::map<std::string, std::string> m_environment;
};

}  // namespace profgate::test
