#include "llm/checkpoint.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "llm/failure.h"
#include "llm/json_file.h"
#include "llm/thread_pool.h"

namespace profgate::llm {
namespace {

failure cannot(const std::string& verb, const std::string& path, int error_number) {
  return bad_input(path + ": cannot " + verb + ": " + std::generic_category().message(error_number),
                   "check the path and that it is readable");
}

}  // namespace

mapped_file::mapped_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // a FIFO must not hang
  if (descriptor < 0) throw cannot("open", path, errno);
  struct stat status {};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || status.st_size == 0) {
    close(descriptor);
    throw bad_input(path + (regular ? ": the file is empty" : ": not a regular file"),
                    "fetch the checkpoint again");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error_number = errno;
  close(descriptor);
  if (memory == MAP_FAILED) throw cannot("map", path, error_number);
  m_bytes = {static_cast<const std::byte*>(memory), size};
}

mapped_file::mapped_file(mapped_file&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}

mapped_file::~mapped_file() {
  if (!m_bytes.empty()) munmap(const_cast<std::byte*>(m_bytes.data()), m_bytes.size());
}

namespace {

using nlohmann::json;

std::string dims_text(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (const auto dim : dims) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dim);
  }
  return text + "]";
}

failure tensor_failure(const std::string& path, const std::string& tensor, const std::string& what_is_wrong,
                       const std::string& remedy) {
  return bad_input(path + ": tensor '" + tensor + "' " + what_is_wrong, remedy);
}

/// Converts elements of two bytes; the file gives no alignment.
template <float (*Convert)(std::uint16_t)>
void convert(const std::byte* from, std::span<float> to, thread_pool& pool) {
  pool.for_chunks(to.size(), std::size_t{1} << 16U, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      to[i] = Convert(bits);
    }
  });
}

}  // namespace

checkpoint::checkpoint(const std::string& directory) : m_directory(directory) {
  const std::string single = directory + "/model.safetensors";
  const std::string index = directory + "/model.safetensors.index.json";
  if (std::filesystem::exists(single))
    open_shard(single);
  else if (std::filesystem::exists(index))
    open_indexed(index);
  else
    throw bad_input(directory + ": neither model.safetensors nor model.safetensors.index.json is there",
                    "set model.checkpoint to a Hugging Face directory with safetensors weights");
}

void checkpoint::open_shard(const std::string& path) {
  mapped_file file(path);
  auto tensors = parse_safetensors(file.bytes(), path);
  for (const auto& [name, entry] : tensors)
    if (!m_shard_of_tensor.emplace(name, m_shards.size()).second)
      throw tensor_failure(path, name, "is also in " + m_shards[m_shard_of_tensor[name]].path,
                           "fetch the checkpoint again; its shards do not belong together");
  m_shards.push_back({path, std::move(file), std::move(tensors)});
}

void checkpoint::open_indexed(const std::string& index_path) {
  const json index = read_json_file(index_path);
  const auto weight_map = index.find("weight_map");
  if (weight_map == index.end() || !weight_map->is_object() || weight_map->empty())
    throw bad_input(index_path + ": no weight_map", "fetch the checkpoint again; its index is damaged");
  std::set<std::string> shard_names;
  for (const auto& [tensor, shard_name] : weight_map->items()) {
    const std::string name = shard_name.is_string() ? shard_name.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos)
      throw tensor_failure(index_path, tensor, "is not in a file of this directory",
                           "fetch the checkpoint again; its index is damaged");
    shard_names.insert(name);
  }
  for (const auto& name : shard_names) {
    std::error_code unknown;
    if (!std::filesystem::exists(m_directory + "/" + name, unknown))
      throw bad_input(index_path + ": names " + name + ", which is not there",
                      "fetch the checkpoint again, with all of its shards");
    open_shard(m_directory + "/" + name);
  }
}

stored_tensor checkpoint::find(const tensor_spec& spec) const {
  const auto found = m_shard_of_tensor.find(spec.name);
  if (found == m_shard_of_tensor.end())
    throw bad_input(m_directory + ": tensor '" + spec.name + "' is missing",
                    "check that config.json and the weights belong to the same model");
  const shard& holder = m_shards[found->second];
  const safetensors_entry& entry = holder.tensors.at(spec.name);
  if (entry.dims != spec.dims)
    throw tensor_failure(
        holder.path, spec.name,
        "has the shape " + dims_text(entry.dims) + ", config.json asks for " + dims_text(spec.dims),
        "check that config.json and the weights belong to the same model");
  if (entry.dtype == tensor_dtype::other)
    throw tensor_failure(holder.path, spec.name, "has the dtype " + entry.dtype_name,
                         "use a checkpoint with F32, F16 or BF16 weights; quantised ones are not supported");
  return {entry.dtype, holder.file.bytes().subspan(entry.begin, entry.end - entry.begin)};
}

std::span<const float> checkpoint_source::tensor(const tensor_spec& spec) {
  const stored_tensor stored = m_files.find(spec);
  const std::byte* data = stored.bytes.data();
  const auto count = static_cast<std::size_t>(spec.elements());
  if (stored.dtype == tensor_dtype::f32 && reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0)
    return {reinterpret_cast<const float*>(data), count};

  const auto values = m_converted.take(count);
  if (stored.dtype == tensor_dtype::f32)
    std::memcpy(values.data(), data, values.size_bytes());
  else if (stored.dtype == tensor_dtype::f16)
    convert<float_of_f16>(data, values, m_pool);
  else
    convert<float_of_bf16>(data, values, m_pool);
  return values;
}

}  // namespace profgate::llm
