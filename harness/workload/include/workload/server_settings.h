#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "process/command.h"
#include "workload/server.h"

/// workload.server.* and workload.client as what server_run takes, for whoever starts a workload.
namespace profgate::workload {

/// Whether the workload is a server, with a client beside it: workload.client.
bool is_server(const config::resolved& config);

/// One start of it.
struct server_start {
  const process::command& command;  ///< its words hold those of with_pid_file()
  std::filesystem::path log_file;
  std::filesystem::path client_log;
  std::string timeout_key;   ///< the setting that says how many seconds the client has
  bool is_profiled = false;  ///< a tool fetches what the workload did until its end, or until this:
  std::vector<std::string> argv_that_ends_recording{};
  bool captures_client = false;  ///< its standard output
  std::size_t captured_max_bytes = 0;
};

server_rules server_rules_of(const config::resolved& config, const server_start& start);

}  // namespace profgate::workload
