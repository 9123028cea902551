#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace profgate::llm {

constexpr std::uint64_t fnv1a_64_start = 0xCBF29CE484222325U;

constexpr std::uint64_t fnv1a_64_step(std::uint64_t hash, std::uint8_t byte) {
  return (hash ^ byte) * 0x100000001B3U;
}

/// The 64-bit FNV-1a hash of a text.
constexpr std::uint64_t fnv1a_64(std::string_view text) {
  std::uint64_t hash = fnv1a_64_start;
  for (const char c : text) hash = fnv1a_64_step(hash, static_cast<std::uint8_t>(c));
  return hash;
}

/// The same over raw memory.
inline std::uint64_t fnv1a_64(std::span<const std::byte> bytes) {
  std::uint64_t hash = fnv1a_64_start;
  for (const std::byte b : bytes) hash = fnv1a_64_step(hash, static_cast<std::uint8_t>(b));
  return hash;
}

}  // namespace profgate::llm
