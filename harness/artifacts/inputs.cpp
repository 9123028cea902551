#include "artifacts/inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "artifacts/files.h"
#include "artifacts/sha256.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/owned_fd.h"
#include "core/regular_file.h"

namespace profgate::artifacts {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t small_file_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t sampled_head_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t safetensors_length_bytes = 8;

/// Reads `wanted` bytes from where `fd` is and feeds them to `hash`; a file that ends earlier is bad_input.
void hash_bytes(int fd, const fs::path& path, std::uint64_t wanted, sha256& hash) {
  std::string buffer(1 << 20, '\0');
  while (wanted > 0) {
    const ssize_t count = ::read(fd, buffer.data(), std::min<std::uint64_t>(wanted, buffer.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error("read", path, errno);
    if (count == 0) {
      throw core::bad_input(path.string(), 0, "became shorter while it was read",
                            "wait until it is complete");
    }
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
    wanted -= static_cast<std::uint64_t>(count);
  }
}

/// The size of a safetensors file's length field and JSON header together.
std::uint64_t safetensors_header_bytes(int fd, const fs::path& path, std::uint64_t size_bytes) {
  unsigned char field[safetensors_length_bytes] = {};
  std::uint64_t header_bytes = 0;  // little endian
  if (::pread(fd, field, sizeof field, 0) == static_cast<ssize_t>(sizeof field)) {
    for (std::size_t i = sizeof field; i-- > 0;) header_bytes = header_bytes << 8 | field[i];
  }
  if (header_bytes == 0 || size_bytes < sizeof field || header_bytes > size_bytes - sizeof field) {
    throw core::bad_input(
        path.string(), 0,
        fmt::format("is no whole safetensors file: it has {} bytes and announces a header of {}", size_bytes,
                    header_bytes),
        "fetch it again; a Git LFS pointer or a broken download looks like this");
  }
  return sizeof field + header_bytes;
}

/// A YAML double-quoted scalar: safe for any text.
std::string yaml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : core::to_valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number_or_null(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

}  // namespace

std::string scope_name(hash_scope scope) {
  return scope == hash_scope::whole_file ? "whole file" : "header and size";
}

input_file describe_input(const fs::path& path, bool full) {
  core::require_regular_file(path);
  const core::owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) throw_io_error("read", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw_io_error("read", path, errno);
  if (!S_ISREG(info.st_mode)) throw_io_error("read", path, S_ISDIR(info.st_mode) ? EISDIR : EINVAL);

  input_file input{path, static_cast<std::uint64_t>(info.st_size), {}, hash_scope::whole_file};
  const bool is_safetensors = path.extension() == ".safetensors";
  // A small checkpoint gets the same kind of hash as a large one, so that their scopes compare.
  if (!full && (is_safetensors || input.size_bytes > small_file_bytes))
    input.scope = hash_scope::header_and_size;
  sha256 hash;
  if (input.scope == hash_scope::whole_file) {
    hash_bytes(fd.get(), path, input.size_bytes, hash);
  } else {
    hash_bytes(
        fd.get(), path,
        is_safetensors ? safetensors_header_bytes(fd.get(), path, input.size_bytes) : sampled_head_bytes,
        hash);
    hash.update(std::to_string(input.size_bytes));
  }
  input.sha256 = hash.hex_digest();
  return input;
}

std::vector<input_file> describe_inputs(const fs::path& path, bool full) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {describe_input(path, full)};
  const std::vector<fs::path> files = with_io_errors("read", [&] {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.is_regular_file()) found.push_back(entry.path());  // also through symlinks, as in a hub cache
    }
    std::sort(found.begin(), found.end());
    return found;
  });
  std::vector<input_file> inputs;
  inputs.reserve(files.size());
  for (const fs::path& file : files) inputs.push_back(describe_input(file, full));
  return inputs;
}

std::string inputs_yaml(const run_inputs& inputs) {
  std::string out = "schema_version: \"1.0\"\n";
  out += fmt::format("model: {}\n", yaml_quoted(inputs.model));
  if (!inputs.model_variant.empty()) out += fmt::format("variant: {}\n", yaml_quoted(inputs.model_variant));
  out += fmt::format("weights: {}\n", yaml_quoted(inputs.weights));
  out += inputs.files.empty() ? "files: []\n" : "files:\n";
  for (const input_file& file : inputs.files) {
    out += fmt::format("  - path: {}\n    size_bytes: {}\n    sha256: {}\n    sha256_over: {}\n",
                       yaml_quoted(file.path.string()), file.size_bytes, yaml_quoted(file.sha256),
                       yaml_quoted(scope_name(file.scope)));
  }
  if (!inputs.synthetic_image.empty())
    out += fmt::format("synthetic_image: {}\n", yaml_quoted(inputs.synthetic_image));
  if (!inputs.image_mode.empty()) out += fmt::format("image_mode: {}\n", yaml_quoted(inputs.image_mode));
  out += fmt::format("prompt_tag: {}\n", inputs.prompt_tag.empty() ? "null" : yaml_quoted(inputs.prompt_tag));
  const std::pair<const char*, const std::optional<std::int64_t>&> counts[] = {
      {"prompt_tokens", inputs.prompt_tokens},
      {"decode_tokens", inputs.decode_tokens},
      {"batch", inputs.batch}};
  for (const auto& [name, value] : counts) out += fmt::format("{}: {}\n", name, number_or_null(value));

  std::string reasons;
  const auto add_reason = [&](const std::string& name, const std::string& reason) {
    reasons += fmt::format("  {}: {}\n", name, yaml_quoted(reason));
  };
  if (inputs.prompt_tag.empty()) add_reason("prompt_tag", "the workload's configuration does not give it");
  for (const auto& [name, value] : counts) {
    if (!value) add_reason(name, inputs.tokens_absent_reason);
  }
  return reasons.empty() ? out : out + "not_measured:\n" + reasons;
}

}  // namespace profgate::artifacts
