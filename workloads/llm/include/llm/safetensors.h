#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace profgate::llm {

enum class tensor_dtype { f32, f16, bf16, other };

struct safetensors_entry {
  tensor_dtype dtype = tensor_dtype::other;
  std::string dtype_name;  ///< as the file spells it
  std::vector<std::int64_t> dims;
  std::uint64_t begin = 0;  ///< bytes from the start of the file
  std::uint64_t end = 0;
};

using safetensors_index = std::map<std::string, safetensors_entry>;

/// Parses the header of a safetensors file whose whole content is `file`. Every entry it returns lies inside
/// the file, overlaps no other and has the size its shape and dtype say. Anything else throws bad_input with
/// file_name and the tensor's name.
safetensors_index parse_safetensors(std::span<const std::byte> file, const std::string& file_name);

}  // namespace profgate::llm
