#include "workload/server_settings.h"

#include <fmt/format.h>

namespace profgate::workload {

bool is_server(const config::resolved& config) {
  return !config.list("workload.client").empty();
}

server_rules server_rules_of(const config::resolved& config, const server_start& start) {
  const std::string text_key = "workload.server.ready_text";
  server_rules rules;
  if (!config.is_null("workload.server.ready_port"))
    rules.ready_port = static_cast<std::uint16_t>(config.integer("workload.server.ready_port"));
  if (!config.is_null(text_key)) rules.ready_text = config.text(text_key);
  rules.origin = fmt::format("{} ({})", text_key, config.origin(text_key));
  rules.ready_within = std::chrono::seconds(config.integer("workload.server.ready_within_s"));
  const bool is_fetched_meanwhile = start.is_profiled && start.argv_that_ends_recording.empty();
  rules.rest = std::chrono::milliseconds(is_fetched_meanwhile ? 1000 : 0);
  rules.before_stop = {
      start.argv_that_ends_recording, start.command.set_environment, start.command.unset_environment, {}};
  rules.server_log = start.log_file;
  rules.stop_within = std::chrono::seconds(config.integer("workload.server.stop_within_s"));
  rules.client.argv = config.list("workload.client");
  rules.client.working_directory = start.command.working_directory;
  rules.client_within = std::chrono::seconds(config.integer(start.timeout_key));
  rules.client_timeout_key = start.timeout_key;
  rules.client_log = start.client_log;
  rules.captures_client = start.captures_client;
  rules.captured_max_bytes = start.captured_max_bytes;
  return rules;
}

}  // namespace profgate::workload
