#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "llm/safetensors.h"
#include "llm/weights.h"

namespace profgate::llm {

constexpr float float_of_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// IEEE half precision, subnormals, infinities and NaNs included.
constexpr float float_of_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13U));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

/// A file mapped read-only into memory.
class mapped_file {
 public:
  /// Throws bad_input for a file that cannot be opened or is empty.
  explicit mapped_file(const std::string& path);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file();

  std::span<const std::byte> bytes() const { return m_bytes; }

 private:
  std::span<const std::byte> m_bytes;
};

/// A tensor as it lies in its file: no alignment is given.
struct stored_tensor {
  tensor_dtype dtype = tensor_dtype::other;  ///< f32, f16 or bf16
  std::span<const std::byte> bytes;
  int element_bytes() const { return dtype == tensor_dtype::f32 ? 4 : 2; }
};

/// The files of a Hugging Face directory: model.safetensors, or the shards that model.safetensors.index.json
/// names. Every defect throws bad_input with the file, the tensor and the remedy.
class checkpoint {
 public:
  explicit checkpoint(const std::string& directory);
  stored_tensor find(const tensor_spec& spec) const;

 private:
  struct shard {
    std::string path;
    mapped_file file;
    safetensors_index tensors;
  };

  void open_shard(const std::string& path);
  void open_indexed(const std::string& index_path);

  std::string m_directory;
  std::vector<shard> m_shards;
  std::map<std::string, std::size_t> m_shard_of_tensor;
};

/// A checkpoint's tensors as floats: aligned float32 ones are used where they lie in the mapped file, others
/// are converted.
class checkpoint_source : public tensor_source {
 public:
  checkpoint_source(const std::string& directory, thread_pool& pool) : m_files(directory), m_pool(pool) {}
  std::span<const float> tensor(const tensor_spec& spec) override;

 private:
  checkpoint m_files;
  thread_pool& m_pool;
  float_arena m_converted;
};

}  // namespace profgate::llm
