#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts.h"

/// A program's texts, each a prefill and its decode steps, and which of them its figures are of.
namespace profgate::analysis {

/// The samples of a stage, by the processes that they are of, in the order in which the times of tokens are:
/// one process after the other.
std::vector<std::size_t> in_order_of_texts(const std::vector<std::uint32_t>& processes);

/// How many of the times of further tokens each text has; where nobody tells, they are all of one length, if
/// they can be, or all one text.
std::vector<std::int64_t> tokens_of_texts(const bare_facts& facts);

/// Where the facts have unnamed warm-ups: takes the first samples of each stage, and of the first tokens,
/// that took several times as long as the others out of these, with the further tokens of such a text.
void leave_out_warm_up(bare_facts& facts);

/// Where more than half of the texts have one number of decode steps: takes the others out of decode_all's
/// samples and the times of tokens, so that what they spread by is not the work. other_lengths then says so:
/// "1 of its 7 texts has 4 decode steps, the others 16".
void leave_out_other_lengths(bare_facts& facts);

}  // namespace profgate::analysis
