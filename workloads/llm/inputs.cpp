#include "llm/inputs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "llm/failure.h"
#include "llm/hf_config.h"
#include "llm/synthetic_weights.h"
#include "vision/vision_work.h"

namespace profgate::llm {
namespace {

constexpr std::size_t most_file_tokens = 1'000'000;
constexpr const char* tokens_remedy = "make it token ids of this model, with white space between them";

token_id token_of(const std::string& word, const std::string& place, std::int64_t vocab_size) {
  token_id token = 0;
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, token);
  if (error != std::errc{} || stopped != end || token < 0 || token >= vocab_size)
    throw bad_input(
        place + ": '" + word.substr(0, 40) + "' is no token id from 0 to " + std::to_string(vocab_size - 1),
        tokens_remedy);
  return token;
}

std::vector<token_id> read_tokens(const std::string& path, std::int64_t vocab_size) {
  std::ifstream file;
  std::error_code unknown;
  if (std::filesystem::is_regular_file(path, unknown)) file.open(path);  // a FIFO must not hang
  if (!file.is_open())
    throw bad_input(path + ": cannot be read", "check the path and that it is a readable file");
  std::vector<token_id> tokens;
  std::size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string place = path + ":" + std::to_string(++line_number);
    constexpr const char* blanks = " \t\r\v\f";
    for (auto at = line.find_first_not_of(blanks); at != std::string::npos;
         at = line.find_first_not_of(blanks, at)) {
      const auto end = std::min(line.find_first_of(blanks, at), line.size());
      tokens.push_back(token_of(line.substr(at, end - at), place, vocab_size));
      if (tokens.size() > most_file_tokens)
        throw bad_input(place + ": more than " + std::to_string(most_file_tokens) + " tokens",
                        "give a shorter prompt");
      at = end;
    }
  }
  if (tokens.empty()) throw bad_input(path + ": holds no token", tokens_remedy);
  return tokens;
}

loaded_input::image load_image(const image_request& request, const vision::vision_shape& vision) {
  loaded_input::image loaded;
  loaded.pixels = request.file.empty() ? vision::synthetic_image(request.seed, request.width, request.height)
                                       : vision::read_image(request.file);
  loaded.mode = request.mode;
  loaded.layout = vision::layout_of(request.mode, loaded.pixels.width, loaded.pixels.height);
  for (const auto size : vision::image_sizes_of(request.mode)) vision::validate_image_size(vision, size);
  vision::sheets_of(request.mode, loaded.pixels.width,
                    loaded.pixels.height);  // refuses one that is too narrow
  loaded.rows = vision::token_count(vision, loaded.layout);
  return loaded;
}

loaded_input load_input(const input_request& request, const workload_config& config, const model_shape& shape,
                        const std::optional<vision::vision_shape>& vision) {
  loaded_input input;
  input.request = request;
  input.prompt_tokens = request.prompt_tokens;
  if (request.tokens_file) {
    input.text = read_tokens(*request.tokens_file, shape.vocab_size);
    input.prompt_tokens = static_cast<std::int64_t>(input.text.size());
  }
  if (!request.image) return input;
  if (!vision)
    throw bad_input("the model " + config.model_name + " has no vision encoder for the image",
                    "leave the image out, or choose a model with model.vision");
  if (config.batch > 1)
    throw bad_input("an image in a batch of " + std::to_string(config.batch) + " sequences",
                    "set workload.batch=1: a prompt with an image is run by itself");
  input.picture = load_image(*request.image, *vision);
  input.prompt_tokens += input.picture->rows;
  return input;
}

workload_size size_of(const workload_config& config, const loaded_input& input) {
  return {input.prompt_tokens, input.request.decode_tokens, config.batch, element_bytes_of(config)};
}

void add(const work& more, work& total) {
  total.flops += more.flops;
  total.bytes += more.bytes;
}

std::optional<vision::vision_shape> vision_of(const workload_config& config, const model_shape& shape) {
  std::optional<vision::vision_shape> vision = config.vision;
  const bool has_image = std::any_of(config.inputs.begin(), config.inputs.end(),
                                     [](const input_request& input) { return input.image.has_value(); });
  if (!vision && config.checkpoint && has_image)
    vision = read_hf_vision_config(*config.checkpoint + "/config.json");
  if (!vision) return vision;
  vision->hidden_size = shape.hidden_size;
  vision::validate(*vision);
  return vision;
}

}  // namespace

std::vector<loaded_input> load_inputs(const workload_config& config, const model_shape& shape,
                                      const std::optional<vision::vision_shape>& vision) {
  std::vector<loaded_input> inputs;
  for (const auto& request : config.inputs) {
    try {
      inputs.push_back(load_input(request, config, shape, vision));
    } catch (const failure& problem) {
      throw failure(problem.code(), request.place + ": input '" + request.name + "': " + problem.what(),
                    problem.remedy());
    }
  }
  return inputs;
}

std::optional<vision::vision_need> vision_need_of(const std::vector<loaded_input>& inputs,
                                                  const std::optional<vision::vision_shape>& vision) {
  if (!vision) return std::nullopt;
  vision::vision_need need;
  need.shape = *vision;
  std::set<std::int64_t> sizes;
  for (const auto& input : inputs) {
    if (!input.picture) continue;
    const auto& layout = input.picture->layout;
    sizes.insert(layout.global_size);
    if (layout.grid.tiles() > 0) sizes.insert(layout.tile_size);
    need.most_tiles = std::max(need.most_tiles, layout.grid.tiles());
    need.most_rows = std::max(need.most_rows, input.picture->rows);
    const auto& pixels = input.picture->pixels;
    need.pictures.push_back({pixels.width, pixels.height, input.picture->mode});
  }
  if (sizes.empty()) return std::nullopt;
  need.image_sizes.assign(sizes.begin(), sizes.end());
  return need;
}

std::vector<token_id> prompts_for(const loaded_input& input, std::int64_t batch, std::int64_t vocab_size) {
  std::vector<token_id> prompts;
  for (std::int64_t sequence = 0; sequence < batch; ++sequence) {
    std::vector<token_id> text = input.text;
    if (text.empty()) {
      const std::string& tag = input.request.prompt_tag;
      text = synthetic_tokens(sequence == 0 ? tag : tag + "#" + std::to_string(sequence),
                              input.request.prompt_tokens, vocab_size);
    }
    if (input.picture)
      text.insert(text.begin() + loaded_input::first_image_row, static_cast<std::size_t>(input.picture->rows),
                  0);
    prompts.insert(prompts.end(), text.begin(), text.end());
  }
  return prompts;
}

std::int64_t run_request::prompt_tokens() const {
  std::int64_t sum = 0;
  for (const auto& input : inputs) sum += input.prompt_tokens;
  return sum;
}

std::int64_t run_request::decode_tokens() const {
  std::int64_t sum = 0;
  for (const auto& input : inputs) sum += input.request.decode_tokens;
  return sum;
}

std::int64_t run_request::parameters() const {
  return parameter_count(shape) + (vision ? vision::parameter_count(vision->shape) : 0);
}

work run_request::prefill() const {
  work total;
  for (const auto& input : inputs) {
    add(prefill_work(shape, size_of(config, input)), total);
    if (input.picture)
      add(vision::vision_work(vision->shape, input.picture->layout, element_bytes_of(config)), total);
  }
  return total;
}

work run_request::prefill(std::int64_t experts_used) const {
  work total = prefill();
  total.bytes += missing_prefill_bytes(shape, size_of(config, inputs.front()), experts_used);
  return total;
}

work run_request::decode() const {
  work total;
  for (const auto& input : inputs) add(decode_work(shape, size_of(config, input)), total);
  return total;
}

std::vector<std::string> run_request::assumptions() const {
  auto sentences = work_assumptions(shape, size_of(config, inputs.front()));
  if (!vision) return sentences;
  for (const auto& sentence : vision::vision_work_assumptions(element_bytes_of(config)))
    sentences.push_back("vision, counted to the prefill: " + sentence);
  return sentences;
}

run_request request_of(const workload_config& config) {
  run_request request;
  request.config = config;
  request.shape = config.checkpoint ? read_hf_config(*config.checkpoint + "/config.json") : *config.shape;
  const auto vision = vision_of(config, request.shape);
  request.inputs = load_inputs(config, request.shape, vision);
  request.vision = vision_need_of(request.inputs, vision);
  return request;
}

}  // namespace profgate::llm
