#pragma once

#include <cstddef>
#include <initializer_list>

#include "llm/kernels.h"
#include "llm/thread_pool.h"

// The kernels that are worth all threads.
namespace profgate::llm {

/// kernels::multiply_rows for each block, over the same x, [tokens, depth].
void multiply(thread_pool& pool, const float* x, std::size_t tokens, std::size_t depth,
              std::initializer_list<kernels::row_block> blocks);

/// gate[i] = silu(gate[i]) * up[i]
void swiglu(thread_pool& pool, float* gate, const float* up, std::size_t count);

}  // namespace profgate::llm
