#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "config/config.h"

/// What opens ranges in a program that has none of its own, without an edit of it (workload.adapter,
/// workloads/pytorch): files that the program finds through its environment.
namespace profgate::workload {

struct adapter_files {
  std::filesystem::path python_dir;  ///< sitecustomize.py and what it imports
  std::filesystem::path library;     ///< libprofgate_pytorch_ranges.so
};

enum class adapter_mode {
  bare,    ///< stages only
  traced,  ///< modules, too
};

/// What a program needs to get its adapter, beside our own environment; nothing where it has none. Each
/// process of the program that uses it leaves a report in `folder` (parsers/adapter_report.h); those of
/// earlier ones are removed.
std::map<std::string, std::string> adapter_environment(const config::resolved& config,
                                                       const adapter_files& files, adapter_mode mode,
                                                       const std::filesystem::path& folder);

/// Of a program of which no process reported in: what happened, and what may be the cause.
std::string silent_adapter_words();

/// Of a program that uses PyTorch, of which nobody said so.
std::string unasked_adapter_words();

}  // namespace profgate::workload
