#include "read_inputs.h"

#include <filesystem>
#include <set>

#include "vision/image.h"

namespace profgate::llm {
namespace {

constexpr std::int64_t most_tokens = 1'000'000;
constexpr std::size_t most_inputs = 1000;
constexpr std::size_t longest_name = 100;
constexpr const char* manifest_remedy =
    "make it a list of inputs: - {name: page, image: page.png, mode: base, prompt_tokens: 10}";

vision::vision_mode read_mode(const yaml_group& group, vision::vision_mode otherwise) {
  if (!group.has("mode")) return otherwise;
  try {
    return vision::vision_mode_of(group.required<std::string>("mode"));
  } catch (const failure& problem) {
    throw bad_input(group.place("mode") + ": " + problem.what(), problem.remedy());
  }
}

/// A path is relative to the file that names it.
std::string read_path(const yaml_group& group, const char* key, const std::string& file) {
  const auto path = group.required<std::string>(key);
  if (path.empty()) throw group.refuse(key, "is no path, but empty", "name a file, or leave it out");
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

std::optional<image_request> read_image_request(const yaml_group& group, const std::string& file,
                                                vision::vision_mode mode) {
  const bool synthetic = group.has_group("synthetic_image");
  if (group.has("image") && synthetic)
    throw group.refuse("synthetic_image", "stands beside image", "give one of the two");
  if (!group.has("image") && !synthetic) return std::nullopt;
  image_request request;
  request.mode = read_mode(group, mode);
  if (!synthetic) {
    request.file = read_path(group, "image", file);
    return request;
  }
  const yaml_group image = group.child("synthetic_image", "seed, width, height");
  image.require_only({"seed", "width", "height"});
  request.seed = image.has("seed") ? image.between("seed", 0, 1'000'000'000) : 1;
  request.width = image.between("width", 1, vision::largest_side);
  request.height = image.between("height", 1, vision::largest_side);
  if (!vision::is_image_size(request.width, request.height))
    throw group.refuse("synthetic_image", "has more pixels than any image may have", "make it smaller");
  return request;
}

bool is_printable(const std::string& name) {
  return std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

/// Settings of the run stand in for what an entry leaves open.
struct manifest_defaults {
  const workload_config& config;
  vision::vision_mode mode;
};

input_request read_entry(const yaml_group& entry, const std::string& file, std::size_t number,
                         const manifest_defaults& otherwise) {
  entry.require_only(
      {"name", "image", "synthetic_image", "mode", "prompt_tokens", "tokens_file", "decode_tokens"});
  input_request request;
  request.name = entry.value_or("name", "input-" + std::to_string(number));
  if (request.name.empty() || request.name.size() > longest_name || !is_printable(request.name))
    throw entry.refuse("name", "is empty, longer than 100 bytes or not printable", "give it a plain name");
  request.place = entry.place("name");
  request.prompt_tag = otherwise.config.seed_tag + "." + request.name;
  request.image = read_image_request(entry, file, otherwise.mode);
  if (!request.image && entry.has("mode"))
    throw entry.refuse("mode", "stands without an image", "give an image or a synthetic_image too");
  if (entry.has("tokens_file")) {
    if (entry.has("prompt_tokens"))
      throw entry.refuse("prompt_tokens", "stands beside tokens_file", "give one of the two");
    request.tokens_file = read_path(entry, "tokens_file", file);
  } else {
    request.prompt_tokens = entry.has("prompt_tokens") ? entry.between("prompt_tokens", 1, most_tokens)
                                                       : otherwise.config.prompt_tokens;
  }
  request.decode_tokens = entry.has("decode_tokens") ? entry.between("decode_tokens", 1, most_tokens)
                                                     : otherwise.config.decode_tokens;
  return request;
}

std::vector<input_request> read_manifest(const std::string& path, const manifest_defaults& otherwise) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown))
    throw bad_input(path + ": no such file", "set inputs.manifest to a YAML list of inputs");
  const YAML::Node document = load_yaml(path, manifest_remedy);
  if (!document.IsSequence() || document.size() == 0)
    throw bad_input(path + ":1: not a list of inputs", manifest_remedy);
  if (document.size() > most_inputs)
    throw bad_input(path + ": has " + std::to_string(document.size()) + " inputs, at most " +
                        std::to_string(most_inputs) + " are run together",
                    "split it into several manifests, and run one after the other");
  std::vector<input_request> requests;
  std::set<std::string> names;
  for (const auto& node : document) {
    const std::string number = std::to_string(requests.size() + 1);
    if (!node.IsMap())
      throw bad_input(
          path + ":" + std::to_string(node.Mark().line + 1) + ": input " + number + " is no map of keys",
          manifest_remedy);
    requests.push_back(
        read_entry({path, "input " + number, node, "the manifest"}, path, requests.size() + 1, otherwise));
    if (!names.insert(requests.back().name).second)
      throw bad_input(
          requests.back().place + ": there are two inputs of the name '" + requests.back().name + "'",
          "give one of them another name");
  }
  return requests;
}

}  // namespace

std::vector<input_request> read_inputs(const yaml_group& root, const workload_config& config) {
  input_request only{.name = "prompt",
                     .place = root.place("workload"),
                     .prompt_tag = config.seed_tag,
                     .tokens_file = std::nullopt,
                     .prompt_tokens = config.prompt_tokens,
                     .decode_tokens = config.decode_tokens,
                     .image = std::nullopt};
  if (!root.has_group("inputs")) return {only};
  const yaml_group inputs = root.child("inputs");
  inputs.require_only({"manifest", "image", "synthetic_image", "mode"});
  const auto mode = read_mode(inputs, vision::vision_mode::base);
  if (inputs.has("manifest")) {
    if (inputs.has("image") || inputs.has_group("synthetic_image"))
      throw inputs.refuse("manifest", "stands beside an image", "give one of the two");
    return read_manifest(inputs.required<std::string>("manifest"), {config, mode});
  }
  only.image = read_image_request(inputs, root.file(), mode);
  only.place = root.place("inputs");
  return {only};
}

}  // namespace profgate::llm
