#pragma once

#include <map>
#include <string>

namespace profgate::render {

/// Texts of the profiles whose reports are checked number by number: made-up runs, and recorded ones of a
/// dense model, of one with experts, of a PyTorch program's trace and of a CPU.
std::map<std::string, std::string> report_profiles();

}  // namespace profgate::render
