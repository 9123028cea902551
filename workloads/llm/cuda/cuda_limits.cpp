// No CUDA in here: what is refused, and how, is tested on machines without a GPU.
#include "cuda_limits.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "llm/failure.h"

namespace profgate::llm::cuda {
namespace {

void require(bool holds, const char* field, std::int64_t value, const std::string& rule) {
  if (!holds)
    throw bad_input(std::string("model.shape.") + field + " is " + std::to_string(value) +
                        "; the CUDA engine needs " + rule,
                    "run the model on the CPU, or choose another shape");
}

std::string gigabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) * 1e-9);
  return text;
}

}  // namespace

void require_supported(const model_shape& shape, std::int64_t shared_bytes) {
  constexpr std::int64_t head_dims[] = {8, 16, 32, 64, 128};
  require(std::find(std::begin(head_dims), std::end(head_dims), shape.head_dim) != std::end(head_dims),
          "head_dim", shape.head_dim, "8, 16, 32, 64 or 128");
  const auto require_width = [&](const char* field, std::int64_t value) {
    require(value % 8 == 0, field, value, "a multiple of 8");
    const auto most = shared_bytes / static_cast<std::int64_t>(sizeof(float));
    require(value <= most, field, value, "at most " + std::to_string(most) + " on this GPU");
  };
  require_width("hidden_size", shape.hidden_size);
  if (!shape.has_experts(0)) require_width("intermediate_size", shape.intermediate_size);
  require_width("num_attention_heads * head_dim", shape.query_width());
  require_width("moe_intermediate_size", shape.moe_intermediate_size);
  require_width("moe_intermediate_size * num_experts_per_tok",
                shape.moe_intermediate_size * shape.num_experts_per_tok);
  require_width("shared_intermediate_size", shape.shared_intermediate_size);
  require(shape.num_experts <= 1024, "num_experts", shape.num_experts, "at most 1024");
  require(shape.num_experts_per_tok <= 32, "num_experts_per_tok", shape.num_experts_per_tok, "at most 32");
}

void require_supported(const vision::vision_need& need) {
  vision::validate(need.shape);
  if (need.image_sizes.empty())
    throw bad_input("a vision encoder for no size of images", "name the sizes it shall encode");
  for (const auto size : need.image_sizes) vision::validate_image_size(need.shape, size);
  const auto require_vision = [](bool holds, const char* field, std::int64_t value, const std::string& rule) {
    if (!holds)
      throw bad_input(std::string("model.vision.") + field + " is " + std::to_string(value) +
                          "; the CUDA engine needs " + rule,
                      "run the model on the CPU, or choose another shape");
  };
  const auto& sam = need.shape.sam;
  const auto& clip = need.shape.clip;
  const struct {
    const char* field;
    std::int64_t value;
  } widths[] = {
      {"3 * sam.patch_size * sam.patch_size", vision::color_channels * sam.patch_size * sam.patch_size},
      {"sam.width", sam.width},
      {"sam.mlp_width", sam.mlp_width},
      {"sam.neck_width", sam.neck_width},
      {"sam.compressed_widths[0]", sam.compressed_widths[0]},
      {"sam.compressed_widths[1]", sam.compressed_widths[1]},
      {"clip.width", clip.width},
      {"clip.mlp_width", clip.mlp_width}};
  for (const auto& [field, value] : widths) require_vision(value % 8 == 0, field, value, "a multiple of 8");
  const auto require_head = [&](const char* field, std::int64_t value) {
    require_vision(value % 8 == 0 && value <= 128, field, value, "a multiple of 8, at most 128");
  };
  require_head("sam.width / sam.heads", sam.head_dim());
  require_head("clip.width / clip.heads", clip.head_dim());
}

void require_room(const memory_need& need, std::int64_t free_bytes) {
  if (need.sum() <= free_bytes) return;
  throw bad_input(
      "weights " + gigabytes(need.weight_bytes) + " + KV cache " + gigabytes(need.kv_cache_bytes) +
          " + activations " + gigabytes(need.scratch_bytes) + " = " + gigabytes(need.sum()) +
          " do not fit the " + gigabytes(free_bytes) + " that are free on the GPU",
      "lower workload.batch, workload.prompt_tokens or workload.decode_tokens, or free the GPU of other "
      "programs");
}

}  // namespace profgate::llm::cuda
