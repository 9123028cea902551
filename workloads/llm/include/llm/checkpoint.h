#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "llm/mapped_file.h"
#include "llm/safetensors.h"
#include "llm/weights.h"

namespace profgate::llm {

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
