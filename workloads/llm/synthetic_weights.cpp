#include "llm/synthetic_weights.h"

#include <bit>
#include <cmath>

#include "llm/fnv1a.h"
#include "llm/synthetic_formula.h"
#include "llm/thread_pool.h"

namespace profgate::llm {
namespace {

/// In [-1, 1), and exact: a 24-bit integer over 2^23, less 1.
float random_unit(std::uint64_t z) {
  return static_cast<float>(random_24_bits(z)) * 0x1p-23F - 1.0F;
}

/// Rounds to the nearest bfloat16, ties to even. The formula makes no NaN and nothing near overflow.
float round_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  return std::bit_cast<float>(rounded & 0xFFFF0000U);
}

}  // namespace

affine distribution_of(const tensor_spec& spec) {
  const std::string_view name = spec.name;
  if (spec.dims.size() == 1) return name.ends_with("weight") ? affine{1.0F, 0.1F} : affine{0.0F, 0.02F};
  const bool embedding = name.find("embed") != std::string_view::npos || name.ends_with("rel_pos_h") ||
                         name.ends_with("rel_pos_w");
  if (embedding) return {0.0F, 0.05F};
  const std::int64_t fan_in = spec.elements() / spec.dims.front();
  return {0.0F, static_cast<float>(std::sqrt(3.0 / static_cast<double>(fan_in)))};
}

void fill_synthetic_slice(const tensor_spec& spec, std::int64_t first, std::span<float> values) {
  const affine distribution = distribution_of(spec);
  std::uint64_t z = fnv1a_64(spec.name) + (static_cast<std::uint64_t>(first) + 1) * golden_gamma;
  for (float& value : values) {
    // Two roundings on purpose (this file is compiled without contraction to a fused multiply-add).
    const float scaled = distribution.scale * random_unit(z);
    value = round_to_bf16(distribution.offset + scaled);
    z += golden_gamma;
  }
}

void fill_synthetic(const tensor_spec& spec, std::span<float> values, thread_pool& pool) {
  constexpr std::size_t chunk = std::size_t{1} << 18U;
  pool.for_chunks(values.size(), chunk, [&](std::size_t begin, std::size_t end) {
    fill_synthetic_slice(spec, static_cast<std::int64_t>(begin), values.subspan(begin, end - begin));
  });
}

std::vector<std::int32_t> synthetic_tokens(std::string_view tag, std::int64_t count,
                                           std::int64_t vocab_size) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(static_cast<std::size_t>(count));
  std::uint64_t z = fnv1a_64(tag);
  for (std::int64_t i = 0; i < count; ++i) {
    z += golden_gamma;
    // (s + 1) / 2 is these 24 bits over 2^24, so integers give the floor exactly.
    const std::uint64_t scaled = std::uint64_t{random_24_bits(z)} * static_cast<std::uint64_t>(vocab_size);
    tokens.push_back(static_cast<std::int32_t>(scaled >> 24U));
  }
  return tokens;
}

}  // namespace profgate::llm
