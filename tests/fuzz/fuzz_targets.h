#pragma once

#include <string_view>

/// Each takes any bytes as one of the files that a stranger can hand over. It returns, or throws one of the
/// errors that reading has; whatever else happens is a finding.
namespace profgate::fuzz {

// project_files.cpp
void read_configuration(std::string_view bytes);
void read_category_rule(std::string_view bytes);
void read_manifest(std::string_view bytes);
void read_waivers(std::string_view bytes);

// run_files.cpp
void read_environment(std::string_view bytes);
void read_profile(std::string_view bytes);
void read_result(std::string_view bytes);
void read_run_set(std::string_view bytes);
void read_status(std::string_view bytes);
void read_verdict(std::string_view bytes);

// run_folder.cpp
void read_run_folder(std::string_view bytes);

// traces.cpp
void read_cubin(std::string_view bytes);
void read_embedded_timeline(std::string_view bytes);
void read_ncu_table(std::string_view bytes);
void read_nsys_sqlite(std::string_view bytes);

// checkpoints.cpp
void read_hf_config(std::string_view bytes);
void read_safetensors(std::string_view bytes);

// images.cpp
void read_ppm(std::string_view bytes);

}  // namespace profgate::fuzz
