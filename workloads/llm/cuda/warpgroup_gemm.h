#pragma once

#include <cuda_bf16.h>

#include "experts.h"

namespace profgate::llm::cuda {

/// multiply_grouped() on a GPU of compute capability 9.0, in tiles of up to warpgroup_tile_tokens.
void multiply_grouped_by_warpgroups(const queue& to, const grouped_product<__nv_bfloat16>& product,
                                    grouped_end end, const expert_order& order);

}  // namespace profgate::llm::cuda
