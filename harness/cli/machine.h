#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "artifacts/gpu_facts.h"
#include "doctor_checks.h"

/// Looks at the machine that profgate runs on.
namespace profgate::cli {

/// One line, or nothing where there is a GPU to run on.
std::optional<std::string> why_no_gpu(const artifacts::gpu_facts& gpu);

/// not_possible (a failure where PROFGATE_REQUIRE has gpu), with the doctor's remedy, where there is none.
void require_gpu(const artifacts::gpu_facts& gpu);

/// The same, and what this process starts from now on runs on the GPU that was chosen.
void take_gpu(const artifacts::gpu_facts& gpu);

/// For the profilers; whether there is a driver is left open.
profilers::machine this_machine(const std::filesystem::path& collector_library);

/// "nsys", "ncu" and their versions for the provenance.
std::map<std::string, core::measured<std::string>> tool_versions();

machine_facts look_at_machine(const std::filesystem::path& runs_dir, std::uint64_t needed_bytes);

/// What each profiler says of itself on this machine.
std::vector<check> diagnose_profilers(const machine_facts& facts);

}  // namespace profgate::cli
