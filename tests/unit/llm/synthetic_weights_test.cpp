#include "llm/synthetic_weights.h"

#include <map>

#include "llm/json_file.h"
#include "llm/thread_pool.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

nlohmann::json vectors() {
  return read_json_file(reference_dir() + "/synthetic_reference.json").at("vectors");
}

TEST(synthetic_weights, match_the_test_vectors_bit_for_bit) {
  int tensors = 0;
  const auto document = vectors();
  for (const auto& [name, vector] : document.items()) {
    if (vector.is_array()) continue;  // a token vector
    const tensor_spec spec{name, vector.at("shape").get<std::vector<std::int64_t>>()};
    std::vector<float> first(8);
    std::vector<float> last(4);
    fill_synthetic_slice(spec, 0, first);
    fill_synthetic_slice(spec, spec.elements() - 4, last);
    EXPECT_EQ(first, vector.at("first8").get<std::vector<float>>()) << name;
    EXPECT_EQ(last, vector.at("last4").get<std::vector<float>>()) << name;
    ++tensors;
  }
  EXPECT_EQ(tensors, 5);
}

TEST(synthetic_weights, do_not_depend_on_the_threads) {
  const tensor_spec spec{"model.layers.0.mlp.up_proj.weight", {1000, 1001}};
  const auto count = static_cast<std::size_t>(spec.elements());
  std::vector<float> serial(count);
  std::vector<float> parallel(count);
  fill_synthetic_slice(spec, 0, serial);
  thread_pool pool(3);
  fill_synthetic(spec, parallel, pool);
  EXPECT_EQ(serial, parallel);
}

TEST(synthetic_tokens, match_the_test_vector) {
  EXPECT_EQ(synthetic_tokens("prompt", 8, 128256),
            vectors().at("token_ids(\"prompt\",8,128256)").get<std::vector<std::int32_t>>());
}

}  // namespace
}  // namespace profgate::llm
