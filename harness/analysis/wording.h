#pragma once

#include <string>

#include "analysis/measured.h"

/// Numbers as the findings' sentences show them.
namespace profgate::analysis {

/// "72 %", "4.2 %", "0.31 %".
std::string percent(double ratio);

/// "58.2", "1230": three significant digits at least.
std::string plain_number(double value);

}  // namespace profgate::analysis
