#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "nvtx/ranges.h"

namespace profgate::llm {

/// Every range the program opens. The names are a contract with whoever reads the timeline.
enum class range_name : std::size_t {
  prefill,
  decode_all,
  decode_step,
  embed,
  attn_norm,
  attn_qkv,
  attn_rope,
  attn_core,
  attn_out,
  mlp_norm,
  mlp_gate_up,
  mlp_act,
  mlp_down,
  moe_route,
  moe_experts,
  moe_shared,
  lm_head,
  sample,
  vision_preprocess,
  vision_sam,
  vision_compress,
  vision_clip,
  vision_project,
  planted,
  generate,  ///< around both stages of a profile, so that a profiler needs to start the program only once
  capture,   ///< around the making of a CUDA graph: the operators inside of it name what is replayed
  count
};

/// As profilers see it: "attn.qkv".
const char* text_of(range_name name);

/// The layers of an image's encoders have the decoder's operators, embed to mlp.down, under names of their
/// own: "sam.attn.qkv".
enum class image_encoder { sam, clip };

/// Opens NVTX ranges in one domain while enabled. Warm-up runs with it disabled, so that a profile holds
/// exactly one range of each stage.
class stage_ranges {
 public:
  explicit stage_ranges(const std::string& domain_name);

  void enable(bool on) { m_enabled = on; }
  [[nodiscard]] nvtx::scoped_range open(range_name name) const {
    return {m_enabled ? &m_domain : nullptr, m_labels[static_cast<std::size_t>(name)]};
  }
  [[nodiscard]] nvtx::scoped_range open(range_name name, image_encoder of) const {
    const encoder_labels& labels = of == image_encoder::sam ? m_sam_labels : m_clip_labels;
    return {m_enabled ? &m_domain : nullptr, labels.at(static_cast<std::size_t>(name) - first_of_layers)};
  }
  /// For a range that is only sometimes opened.
  void open_in(std::optional<nvtx::scoped_range>& range, range_name name) const {
    range.emplace(m_enabled ? &m_domain : nullptr, m_labels[static_cast<std::size_t>(name)]);
  }

 private:
  static constexpr auto first_of_layers = static_cast<std::size_t>(range_name::embed);
  using encoder_labels =
      std::array<nvtx::label, static_cast<std::size_t>(range_name::mlp_down) + 1 - first_of_layers>;

  nvtx::domain m_domain;
  std::array<nvtx::label, static_cast<std::size_t>(range_name::count)> m_labels;
  encoder_labels m_sam_labels;
  encoder_labels m_clip_labels;
  bool m_enabled = false;
};

}  // namespace profgate::llm
