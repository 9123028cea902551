#pragma once

#include <string>

#include "gate/run_set.h"

/// Run sets with times that are known beforehand.
namespace profgate::gate {

inline constexpr const char* today = "2026-11-15";

inline process_record made_process(std::size_t slot, double decode_ns, double prefill_ns = 8e6) {
  process_record process;
  process.slot = slot;
  process.started_utc = "2026-11-15T09:00:00Z";
  // ±0.3 % from process to process, a little from iteration to iteration; never the same twice.
  const double level = 1 + 0.001 * static_cast<double>(slot * 7 % 7) - 0.003;
  for (int i = 0; i < 23; ++i) {
    const double wave = level * (1 + 0.0001 * (i * 5 % 11));
    process.samples_ns["decode_all"].push_back(static_cast<std::int64_t>(decode_ns * wave));
    process.samples_ns["prefill"].push_back(static_cast<std::int64_t>(prefill_ns * wave));
  }
  process.conditions.sm_clock_mhz = 1980;
  return process;
}

/// `count` processes; every second slot from `first_slot` on.
inline run_set made_runs(double decode_ns, std::size_t count = 12, std::size_t first_slot = 0) {
  run_set runs;
  runs.identity.pair = "qwen3-0.6b.decode-b1";
  runs.identity.model = "qwen3-0.6b";
  runs.identity.config_sha256 = std::string(64, 'c');
  runs.identity.device_name = "NVIDIA H200";
  runs.identity.multiprocessors = 132;
  runs.identity.commit = std::string(40, 'a');
  runs.identity.versions = {{"driver", "580.159.04"}};
  runs.identity.host = "gpu-node";
  runs.identity.boot_id = "boot-1";
  runs.identity.device_uuid = "GPU-1";
  runs.created_utc = "2026-11-15T09:00:00Z";
  for (std::size_t i = 0; i < count; ++i) {
    runs.processes.push_back(made_process(first_slot + 2 * i, decode_ns));
  }
  return runs;
}

/// The same on another day.
inline run_set made_later(double decode_ns, std::size_t count = 12) {
  run_set runs = made_runs(decode_ns, count);
  runs.identity.boot_id = "boot-2";
  runs.identity.commit = std::string(40, 'b');
  return runs;
}

}  // namespace profgate::gate
