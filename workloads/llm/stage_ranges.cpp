#include "llm/stage_ranges.h"

#include <utility>

namespace profgate::llm {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(range_name::count)> range_texts = {
    "prefill",           "decode_all", "decode_step",     "embed",       "attn.norm",      "attn.qkv",
    "attn.rope",         "attn.core",  "attn.out",        "mlp.norm",    "mlp.gate_up",    "mlp.act",
    "mlp.down",          "moe.route",  "moe.experts",     "moe.shared",  "lm_head",        "sample",
    "vision.preprocess", "vision.sam", "vision.compress", "vision.clip", "vision.project", "planted",
    "generate",          "capture",
};

/// Those from `First` on.
template <std::size_t First, std::size_t... Index>
std::array<nvtx::label, sizeof...(Index)> register_some(const nvtx::domain& domain, const std::string& prefix,
                                                        std::index_sequence<Index...>) {
  return {nvtx::label::registered(domain, (prefix + range_texts[First + Index]).c_str())...};
}

}  // namespace

const char* text_of(range_name name) {
  return range_texts.at(static_cast<std::size_t>(name));
}

stage_ranges::stage_ranges(const std::string& domain_name)
    : m_domain(domain_name),
      m_labels(
          register_some<0>(m_domain, "", std::make_index_sequence<std::tuple_size_v<decltype(m_labels)>>())),
      m_sam_labels(register_some<first_of_layers>(
          m_domain, "sam.", std::make_index_sequence<std::tuple_size_v<encoder_labels>>())),
      m_clip_labels(register_some<first_of_layers>(
          m_domain, "clip.", std::make_index_sequence<std::tuple_size_v<encoder_labels>>())) {}

}  // namespace profgate::llm
