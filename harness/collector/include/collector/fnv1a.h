#pragma once

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

constexpr std::uint64_t fnv1a64_start = 0xcbf29ce484222325;

/// The 64-bit FNV-1a hash of some bytes; of several pieces, each with what the one before it gave.
inline std::uint64_t fnv1a64(const void* bytes, std::size_t count, std::uint64_t state = fnv1a64_start) {
  const auto* const first = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i) state = (state ^ first[i]) * 0x100000001b3;
  return state;
}

}  // namespace profgate::collector
