#pragma once

#include <cstdint>

#include "launch.h"
#include "llm/safetensors.h"

// How weights come to the device.
namespace profgate::llm::cuda {

/// Whether the kernels of this build wait for their predecessors by themselves (compiled for 9.0 or newer).
/// Throws not_possible where the build has none for this GPU.
bool compiled_for_overlap();

/// to[i] = bf16(offset + scale * s(hash, first + i)): the formula of synthetic_weights.h.
template <typename T>
void fill_synthetic(const queue& to, std::uint64_t name_hash, float offset, float scale, std::int64_t count,
                    T* out);

/// Elements of a checkpoint, as they lie in the file, to T. bytes is on the device, aligned to 16.
template <typename T>
void convert(const queue& to, tensor_dtype from, const void* bytes, std::int64_t count, T* out);

}  // namespace profgate::llm::cuda
