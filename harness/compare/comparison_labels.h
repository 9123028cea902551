#pragma once

#include <string>
#include <vector>

#include "compare/profile_comparison.h"

/// What is different about the two sides themselves, and what to know of that before reading.
namespace profgate::compare {

/// Both sides' facts, split by whether they say the same.
void compare_facts(const compared_side& a, const compared_side& b, profile_comparison& result);

/// "prompt_tokens 2048 and 128, batch 1 and 16": inputs, numbers and shape of the model that both sides tell.
std::string other_work_text(const profile_comparison& result);

/// Gives the labels of shares of a peak the word of whose it is, "MFU, configured peak"; where the sides
/// differ, of each.
void name_peaks(profile_comparison& result);

/// Of a comparison whose facts are compared.
std::vector<std::string> labels_of(const profile_comparison& result);

}  // namespace profgate::compare
