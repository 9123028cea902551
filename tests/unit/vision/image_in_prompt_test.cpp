#include <algorithm>
#include <cmath>
#include <memory>

#include "llm/cpu_decoder.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/preprocess.h"
#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using namespace testing_support;

/// Patches of 64, so that the published sizes have few: features in squares of 4 (1024) and 3 (640).
vision_shape coarse_shape() {
  auto shape = small_shape();
  shape.sam.patch_size = 64;
  shape.sam.image_size = 1024;
  shape.hidden_size = 64;
  return shape;
}

/// From pixels to logits, each part as the one before leaves it.
class reader_of_images {
 public:
  std::vector<float> rows_of(const image& page) {
    const auto prepared = preprocess(page, vision_mode::gundam, m_pool, m_ranges);
    const auto global = m_encoder.encode(prepared.global, 1024);
    m_global.assign(global.begin(), global.end());
    vision_encoder& encoder = m_encoder;
    const auto bytes = encoder.encode_image(page, vision_mode::gundam);
    const auto* rows = reinterpret_cast<const float*>(bytes.data());
    return {rows, rows + bytes.size() / sizeof(float)};
  }

  std::vector<float> logits_after(std::span<const float> rows) {
    std::vector<token_id> prompt(rows.size() / 64 + 3, 7);
    const prompt_rows image_rows{2, std::as_bytes(rows)};
    m_decoder.reset();
    m_decoder.prefill_with_rows(prompt, {&image_rows, 1});
    return {m_decoder.logits().begin(), m_decoder.logits().end()};
  }

  const std::vector<float>& global_features() const { return m_global; }
  const vision_weights& weights() const { return m_weights; }

 private:
  thread_pool m_pool{2};
  stage_ranges m_ranges{"test"};
  vision_weights m_weights = load_weights(coarse_shape(), std::make_unique<synthetic_source>(m_pool));
  cpu_vision_encoder m_encoder{coarse_shape(), m_weights, image_sizes_of(vision_mode::gundam), m_pool,
                               m_ranges};
  model_shape m_text = llm::testing_support::llama_tiny_shape();
  decoder_weights m_text_weights = llm::load_weights(m_text, std::make_unique<synthetic_source>(m_pool));
  cpu_decoder m_decoder{m_text, m_text_weights, {.positions = 100, .prefill_tokens = 100}, m_pool, m_ranges};
  std::vector<float> m_global;
};

TEST(image_in_a_prompt, is_seen_by_the_decoder) {
  reader_of_images reader;
  const auto rows = reader.rows_of(synthetic_image(1, 700, 500));
  const std::int64_t rows_of_tiles = 2 * 3 * (3 * 3 + 1);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(64 * (rows_of_tiles + 4 * 5 + 1)));
  EXPECT_TRUE(std::equal(reader.global_features().begin(), reader.global_features().begin() + 4 * 64,
                         rows.begin() + rows_of_tiles * 64));
  EXPECT_TRUE(std::equal(rows.end() - 64, rows.end(), reader.weights().view_separator));

  const auto logits = reader.logits_after(rows);
  EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float value) { return std::isfinite(value); }));
  EXPECT_EQ(reader.logits_after(reader.rows_of(synthetic_image(1, 700, 500))), logits);
  EXPECT_NE(reader.logits_after(reader.rows_of(synthetic_image(2, 700, 500))), logits);
}

}  // namespace
}  // namespace profgate::llm::vision
