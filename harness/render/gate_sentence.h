#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/judge.h"

/// Pieces of the verdict's sentence that the lines below it use, too.
namespace profgate::render {

/// "5.1 % slower (…): 65.0 → 68.3 ms", and what else is to be said of it; the reason where there is no
/// number.
std::string size_of(const gate::stage_judgement& stage);

/// Names of kernels and files are hostile: no control characters, and nothing that CTest takes for markup.
std::string harmless(std::string_view text);

/// With "not allowed: " before what the configuration forbids.
std::string exact_text(const gate::exact_change& change, const gate::exact_comparison& all);

/// "pip torch 2.10.0 → 2.11.0, pip triton none → 3.5.0 and 3 more"; nothing where none differ.
std::string packages_text(const std::vector<gate::package_change>& packages, std::size_t most);

/// Of the difference, below zero where causes are more than it; nothing where nobody looked for causes.
std::optional<double> unexplained_ratio_of(const gate::stage_judgement& stage);

bool is_cause_unknown(const gate::stage_judgement& stage);

/// By the verdict's sentence, or there is no such command.
bool is_look_deeper_said(const gate::judgement& whole);

}  // namespace profgate::render
