#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace profgate::artifacts {

enum class hash_scope {
  whole_file,
  header_and_size,  ///< a checkpoint's: its gigabytes are not read for every run
};

/// One file that a run was fed.
struct input_file {
  std::filesystem::path path;
  std::uint64_t size_bytes = 0;
  std::string sha256;
  hash_scope scope = hash_scope::whole_file;
};

std::string scope_name(hash_scope scope);

/// Hashes a file as a whole where it is small or `full` asks for it. Otherwise over the header and the size:
/// of safetensors the whole header (names, types, shapes, offsets), of others the first MiB.
input_file describe_input(const std::filesystem::path& path, bool full);

/// describe_input of every file in a checkpoint folder, by name; of one file, just that.
std::vector<input_file> describe_inputs(const std::filesystem::path& path, bool full);

/// What the workload got: the contents of inputs.yaml.
struct run_inputs {
  std::string model;
  std::string model_variant{};  ///< such as "8B"; empty: it has none
  std::string weights;          ///< "synthetic" or "checkpoint"
  std::vector<input_file> files;
  std::string image_mode{};       ///< "base"; empty: there is no image, or a manifest has the mode of each
  std::string synthetic_image{};  ///< "1240 x 1754, seed 1"; empty: there is none
  std::string tokens_absent_reason = "the workload's configuration does not give it";
  std::string prompt_tag;
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> decode_tokens;
  std::optional<std::int64_t> batch;
};

/// YAML text; what was not given is null, with the reason under not_measured.
std::string inputs_yaml(const run_inputs& inputs);

}  // namespace profgate::artifacts
