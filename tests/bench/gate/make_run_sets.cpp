#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "baselines/run_set_file.h"
#include "gate/plan.h"
#include "noise_model.h"

/// Writes run sets with made-up times, of which tests/data/gate is made: `bench_make_run_sets <folder>`.
/// Fixed seeds; the files are the same every time.
namespace profgate::simulation {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t iterations = 23;
constexpr double prefill_ns = 7.92e6;
constexpr double decode_ns = 16 * 577e3;  // 16 tokens of a 0.6B model

gate::build_identity identity_of(const std::string& commit, const std::string& boot_id) {
  gate::build_identity identity;
  identity.pair = "qwen3-0.6b.decode-b1";
  identity.model = "qwen3-0.6b";
  identity.config_sha256 = "9d1c6f0f4b0a3e7c5a2d88b14e6f7390c1d2e3f405162738495a6b7c8d9e0f1a";
  identity.device_name = "NVIDIA H200";
  identity.multiprocessors = 132;
  identity.commit = commit;
  identity.profgate_version = "0.1.0";
  identity.versions = {{"compiler", "GNU 13.3.0"}, {"cuda_runtime", "13.0"}, {"driver", "580.159.04"}};
  identity.host = "gpu-node";
  identity.boot_id = boot_id;
  identity.device_uuid = "GPU-00000000-0000-0000-0000-000000000000";
  return identity;
}

gate::stage_structure structure_of(std::int64_t launches) {
  gate::stage_structure structure;
  structure.kernels = {"gemv_bf16<4>(float const*, int)", "rms_norm_kernel", "split_attention<128>"};
  structure.launches = launches;
  structure.tokens = 16;
  structure.graph_nodes = 227;
  return structure;
}

gate::run_set empty_set(const std::string& commit, const std::string& boot_id) {
  gate::run_set runs;
  runs.identity = identity_of(commit, boot_id);
  runs.created_utc = "2026-11-15T09:00:00Z";
  runs.structure = {{"decode_all", structure_of(16)}, {"prefill", structure_of(310)}};
  return runs;
}

struct effects {
  double prefill = 0;  ///< in log time
  double decode = 0;
};

void run_process(session& on, const effects& slower, std::size_t slot, gate::run_set& runs) {
  gate::process_record process;
  process.slot = slot;
  process.started_utc = fmt::format("2026-11-15T09:{:02}:{:02}Z", slot / 20, slot % 20 * 3);
  // One process has one level: both stages come from the same draw.
  const std::vector<std::int64_t> level = on.run_process(0, iterations);
  for (const std::int64_t ns : level) {
    const double relative = static_cast<double>(ns) / session::level_ns;
    process.samples_ns["prefill"].push_back(std::llround(prefill_ns * relative * std::exp(slower.prefill)));
    process.samples_ns["decode_all"].push_back(std::llround(decode_ns * relative * std::exp(slower.decode)));
  }
  process.conditions.sm_clock_mhz = 1980;
  process.conditions.temperature_c = 41.5;
  process.conditions.power_w = 312.25;
  runs.processes.push_back(std::move(process));
}

struct arms {
  gate::run_set baseline;
  gate::run_set candidate;
};

/// Both arms of a comparison: one process each that only warms up, then the plan.
arms interleaved(const noise_sizes& noise, std::uint64_t seed, std::size_t runs_per_arm,
                 const effects& slower) {
  random_source random(seed);
  session machine(noise, random);
  arms result{empty_set("1111111111111111111111111111111111111111", "boot-1"),
              empty_set("2222222222222222222222222222222222222222", "boot-1")};
  std::size_t slot = 0;
  run_process(machine, {}, slot++, result.baseline);
  run_process(machine, slower, slot++, result.candidate);
  for (const gate::arm which : gate::interleaved_plan(seed, runs_per_arm)) {
    const bool is_baseline = which == gate::arm::baseline;
    run_process(machine, is_baseline ? effects{} : slower, slot++,
                is_baseline ? result.baseline : result.candidate);
  }
  return result;
}

/// Two sessions, days apart.
arms stored(const noise_sizes& noise, std::uint64_t seed, const effects& slower, std::size_t runs = 10) {
  random_source random(seed);
  arms result{empty_set("1111111111111111111111111111111111111111", "boot-1"),
              empty_set("2222222222222222222222222222222222222222", "boot-2")};
  session before(noise, random);
  for (std::size_t i = 0; i <= runs; ++i) run_process(before, {}, i, result.baseline);
  session now(noise, random);
  for (std::size_t i = 0; i <= runs; ++i) run_process(now, slower, i, result.candidate);
  return result;
}

void remove_stage(const std::string& stage, gate::run_set& runs) {
  for (gate::process_record& process : runs.processes) process.samples_ns.erase(stage);
}

void write_case(const fs::path& folder, const arms& recorded) {
  baselines::write_run_set(folder / baselines::baseline_runs_name, {"", recorded.baseline, {}, ""});
  baselines::write_run_set(folder / baselines::candidate_runs_name, {"", recorded.candidate, {}, ""});
}

void write_all(const fs::path& out) {
  const noise_sizes& typical = scenarios().at(1);
  const noise_sizes& rough = scenarios().at(2);
  const noise_sizes noisy{"noisy", 0.03, 0.05, 0.02, 0.02, 0.002, 0.0, 0.0, 0.02, 0.3};
  const effects five_percent{0, std::log(1.05)};

  write_case(out / "same-build", interleaved(typical, 7, 6, {}));
  write_case(out / "slower-5-percent", interleaved(typical, 8, 16, five_percent));
  write_case(out / "slower-5-percent-in-rough-noise", interleaved(rough, 9, 20, five_percent));
  write_case(out / "noisy", interleaved(noisy, 21, 10, {}));
  write_case(out / "stored-same-build", stored(typical, 11, {}));
  write_case(out / "stored-slower-15-percent", stored(typical, 12, {0, std::log(1.15)}));

  arms other_gpu = stored(typical, 13, {});
  other_gpu.candidate.identity.device_name = "NVIDIA H100 80GB HBM3";
  write_case(out / "other-gpu", other_gpu);

  arms missing_stage = interleaved(typical, 14, 6, {});
  remove_stage("prefill", missing_stage.candidate);
  write_case(out / "missing-stage", missing_stage);
}

}  // namespace
}  // namespace profgate::simulation

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} <folder>\n", argv[0]);
    return 2;
  }
  profgate::simulation::write_all(argv[1]);
  return 0;
}
