#pragma once

#include "analysis/bare_run.h"

/// What the hardware can do at most, by the vendor's word and as the workload measured it, and how near a
/// piece of work comes to it.
namespace profgate::analysis {

/// Who tells of the model and its work; null: nobody.
const core::workload_result* model_of(const bare_facts& facts);

/// Whether so few bytes are read that they stay in a cache of the CPU: no bandwidth bounds them.
bool fits_cache(const bare_facts& facts, const measured<double>& moved_bytes);

void set_ceilings(const bare_facts& facts, bare_figures& result);

/// `use` with its flops and bytes set, done in `duration_ns`. What stays in a cache of the CPU meets no
/// ceiling of its memory.
void set_rates(const bare_facts& facts, const bare_figures& figures, const measured<double>& duration_ns,
               utilisation& use);

}  // namespace profgate::analysis
