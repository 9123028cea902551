#pragma once

#include "vision_attention.h"

namespace profgate::llm::cuda {

/// One window of the grid: which token stands at which of its positions.
struct vision_window {
  int positions;  ///< of the window
  int side;       ///< 0: the positions are the tokens
  int grid;
  int first_row, first_column;  ///< of the window in the grid

  template <typename T>
  __device__ vision_window(const vision_attention_inputs<T>& in, int window)
      : vision_window(in, window, in.side) {}
  /// Where the side is known to the compiler, token_at() needs no division.
  template <typename T>
  __device__ vision_window(const vision_attention_inputs<T>& in, int window, int known_side)
      : positions(known_side == 0 ? in.tokens : known_side * known_side), side(known_side), grid(in.grid) {
    const int across = side == 0 ? 1 : (grid + side - 1) / side;
    first_row = window / across * side;
    first_column = window % across * side;
  }

  /// -1 where the position is padding; position < positions.
  __device__ int token_at(int position) const {
    if (side == 0 || side == grid) return position;
    const int row = first_row + position / side;
    const int column = first_column + position % side;
    return row < grid && column < grid ? row * grid + column : -1;
  }
};

/// Windows of all of the grid.
template <typename T>
unsigned window_count(const vision_attention_inputs<T>& in) {
  if (in.side == 0) return 1;
  const unsigned across = ceil_div(in.grid, in.side);
  return across * across;
}

}  // namespace profgate::llm::cuda
