#pragma once

#include <map>
#include <string>
#include <vector>

#include "llm/mapped_file.h"
#include "llm/safetensors.h"
#include "llm/weights.h"

namespace profgate::llm {

/// The tensors of a Hugging Face directory: model.safetensors, or the shards that
/// model.safetensors.index.json names. Aligned float32 tensors are used where they lie in the mapped file,
/// others are converted. Every defect throws bad_input with the file, the tensor and the remedy.
class checkpoint_source : public tensor_source {
 public:
  checkpoint_source(const std::string& directory, thread_pool& pool);
  std::span<const float> tensor(const tensor_spec& spec) override;

 private:
  struct shard {
    std::string path;
    mapped_file file;
    safetensors_index tensors;
  };

  void open_shard(const std::string& path);
  void open_indexed(const std::string& index_path);

  std::string m_directory;
  thread_pool& m_pool;
  std::vector<shard> m_shards;
  std::map<std::string, std::size_t> m_shard_of_tensor;
  float_arena m_converted;
};

}  // namespace profgate::llm
