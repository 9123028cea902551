#include "llm/cpu_products.h"

#include <algorithm>

namespace profgate::llm {
namespace {

/// Rows a thread takes at once: a few hundred kilobytes of weights, so that taking costs nothing against
/// reading, yet the last chunks end together. A multiple of the kernels' tile keeps results independent of
/// it.
std::size_t rows_per_chunk(std::size_t depth) {
  constexpr std::size_t floats_a_chunk = std::size_t{1} << 16U;
  return std::max<std::size_t>(floats_a_chunk / depth / 8 * 8, 8);
}

}  // namespace

void multiply(thread_pool& pool, const float* x, std::size_t tokens, std::size_t depth,
              std::initializer_list<kernels::row_block> blocks) {
  std::size_t all_rows = 0;
  for (const auto& block : blocks) all_rows += block.rows;
  pool.for_chunks(all_rows, rows_per_chunk(depth), [&](std::size_t begin, std::size_t end) {
    std::size_t first_row = 0;  // of the block, among the rows of all blocks
    for (const auto& block : blocks) {
      const std::size_t from = std::max(begin, first_row);
      const std::size_t to = std::min(end, first_row + block.rows);
      if (from < to) {
        const std::size_t row = from - first_row;
        kernels::row_block part = block;
        part.weight += row * depth;
        part.rows = to - from;
        part.out += row;
        if (part.bias != nullptr) part.bias += row;
        kernels::multiply_rows(x, tokens, depth, part);
      }
      first_row += block.rows;
    }
  });
}

void swiglu(thread_pool& pool, float* gate, const float* up, std::size_t count) {
  pool.for_chunks(count, 1024, [&](std::size_t begin, std::size_t end) {
    kernels::swiglu(gate + begin, up + begin, end - begin);
  });
}

}  // namespace profgate::llm
