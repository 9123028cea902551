#pragma once

#include <cstdint>

#include "launch.h"

// What happens to each token or element on its own.
namespace profgate::llm::cuda {

/// The rotary angles of a step's positions, copied to where every layer finds them without knowing those.
struct step_angles {
  const int* positions = nullptr;                            ///< [tokens]; null: nothing is copied
  const float *all_cosines = nullptr, *all_sines = nullptr;  ///< [capacity, half_head]
  float *cosines = nullptr, *sines = nullptr;                ///< [tokens, half_head]
  int half_head = 0;
};

/// out[t, :] = embedding[tokens[t], :]; width is a multiple of the elements in 16 bytes.
template <typename T>
void embed_tokens(const queue& to, const T* embedding, const int* tokens, int token_count, int width, T* out,
                  const step_angles& angles = {});

/// out[t, :] = x[t, :] / rms(x[t, :]) * weight
template <typename T>
void rms_norm(const queue& to, const T* x, const T* weight, float epsilon, int token_count, int width,
              T* out);

/// out[t, i] = silu(gate_up[t, i]) * gate_up[t, width + i]
template <typename T>
void swiglu(const queue& to, const T* gate_up, int token_count, int width, T* out);

/// What the sequences have done so far; every array is [batch].
struct sequence_state {
  int* next_token = nullptr;
  int* position = nullptr;      ///< cached positions: where the next token goes
  int* choice_count = nullptr;  ///< choices since the last reset
  int* choices = nullptr;       ///< [choice_count, batch]
  /// Scratch of choose_tokens(), zero between kernels.
  unsigned long long* best = nullptr;
  unsigned* blocks_done = nullptr;
};

/// Takes each sequence's largest of logits [batch, vocab], the first of equals, notes it as a choice and the
/// next token, and moves the position on by `advance`.
void choose_tokens(const queue& to, const float* logits, int vocab, int batch, int advance,
                   const sequence_state& state);

}  // namespace profgate::llm::cuda
