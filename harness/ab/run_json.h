#pragma once

#include <string>

#include "ab/next_step.h"

namespace profgate::ab {

/// What runs/NNN-<arm>.json holds.
std::string run_json(const finished_run& run);

/// bad_input, naming `file`, where the text is not such a run.
finished_run parse_run(const std::string& text, const std::string& file);

std::string arm_name(gate::arm which);  ///< "baseline", "candidate"

/// plan.json: between whom, and on which machine as it is now.
struct plan_record {
  std::string id{};
  std::string pair{};
  std::string baseline_name{};
  std::string candidate_name{};
  std::string baseline_identity{};  ///< commit and hash of the program
  std::string candidate_identity{};
  std::string config_sha256{};
  std::uint64_t seed = 0;
  std::string boot_id{};
  std::string gpu_uuid{};  ///< empty: no GPU
  std::string created_utc{};
};

std::string plan_json(const plan_record& plan);
plan_record parse_plan(const std::string& text, const std::string& file);

}  // namespace profgate::ab
