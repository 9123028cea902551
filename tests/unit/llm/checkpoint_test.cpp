#include "llm/checkpoint.h"

#include "llm/thread_pool.h"
#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, int begin,
                  int end) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::string header(std::initializer_list<std::string> entries) {
  std::string text;
  for (const auto& each : entries) {
    text += text.empty() ? '{' : ',';
    text += each;
  }
  text += '}';
  return text;
}

class checkpoint : public ::testing::Test {
 protected:
  std::vector<float> values_of(const tensor_spec& spec) {
    checkpoint_source source(m_directory.path(), m_pool);
    const auto values = source.tensor(spec);
    return {values.begin(), values.end()};
  }

  temporary_directory m_directory;
  thread_pool m_pool{1};
};

TEST_F(checkpoint, converts_half_precisions) {
  // 1.0 and -2.0 in each of the three formats, little-endian.
  const std::string data(
      "\0\0\x80\x3f\0\0\0\xc0"
      "\0\x3c\0\xc0"
      "\x80\x3f\0\xc0",
      16);
  m_directory.write("model.safetensors", safetensors_text(header({entry("f32", "F32", "[2]", 0, 8),
                                                                  entry("f16", "F16", "[2]", 8, 12),
                                                                  entry("bf16", "BF16", "[2]", 12, 16)}),
                                                          data));
  for (const char* name : {"f32", "f16", "bf16"})
    EXPECT_EQ(values_of({name, {2}}), (std::vector<float>{1.0F, -2.0F})) << name;
}

TEST_F(checkpoint, copies_float32_that_lies_unaligned) {
  std::string padded = header({entry("pad", "U8", "[1]", 0, 1), entry("a", "F32", "[1]", 1, 5)});
  while (padded.size() % 4 != 0) padded += ' ';
  m_directory.write("model.safetensors", safetensors_text(padded, std::string("x\0\0\x80\x3f", 5)));
  EXPECT_EQ(values_of({"a", {1}}), (std::vector<float>{1.0F}));
}

TEST_F(checkpoint, reads_the_shards_that_the_index_names) {
  m_directory.write("one.safetensors",
                    safetensors_text(header({entry("a", "BF16", "[1]", 0, 2)}), "\x80\x3f"));
  m_directory.write("two.safetensors",
                    safetensors_text(header({entry("b", "BF16", "[1]", 0, 2)}), std::string("\0\xc0", 2)));
  m_directory.write("model.safetensors.index.json",
                    R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  EXPECT_EQ(values_of({"a", {1}}), (std::vector<float>{1.0F}));
  EXPECT_EQ(values_of({"b", {1}}), (std::vector<float>{-2.0F}));
}

TEST_F(checkpoint, refuses_what_does_not_fit_the_model) {
  m_directory.write("model.safetensors", safetensors_text(header({entry("a", "I32", "[1]", 0, 4)}), "1234"));
  expect_bad_input("tensor 'z' is missing", [&] { values_of({"z", {1}}); });
  expect_bad_input("tensor 'a' has the shape [1], config.json asks for [2, 3]", [&] {
    values_of({"a", {2, 3}});
  });
  expect_bad_input("model.safetensors: tensor 'a' has the dtype I32", [&] { values_of({"a", {1}}); });
}

TEST_F(checkpoint, says_which_file_is_missing) {
  const auto open = [&] { checkpoint_source source(m_directory.path(), m_pool); };
  expect_bad_input("neither model.safetensors nor model.safetensors.index.json is there", open);
  m_directory.write("model.safetensors.index.json", R"({"weight_map":{"a":"gone.safetensors"}})");
  expect_bad_input("model.safetensors.index.json: names gone.safetensors, which is not there", open);
  m_directory.write("gone.safetensors", "");
  expect_bad_input("gone.safetensors: the file is empty", open);
}

TEST_F(checkpoint, refuses_a_damaged_index) {
  const auto open = [&] { checkpoint_source source(m_directory.path(), m_pool); };
  m_directory.write("model.safetensors.index.json", "{");
  expect_bad_input("model.safetensors.index.json: not JSON", open);
  m_directory.write("model.safetensors.index.json", "{}");
  expect_bad_input("no weight_map", open);
  m_directory.write("model.safetensors.index.json", R"({"weight_map":{"a":"../x.safetensors"}})");
  expect_bad_input("tensor 'a' is not in a file of this directory", open);
  const std::string shard = safetensors_text(header({entry("a", "U8", "[1]", 0, 1)}), "1");
  m_directory.write("one.safetensors", shard);
  m_directory.write("two.safetensors", shard);
  m_directory.write("model.safetensors.index.json",
                    R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  expect_bad_input("two.safetensors: tensor 'a' is also in", open);
}

TEST(half_floats, cover_the_special_values) {
  EXPECT_EQ(float_of_f16(0x3555), 0.333251953125F);
  EXPECT_EQ(float_of_f16(0x0001), 0x1p-24F);
  EXPECT_EQ(float_of_f16(0x83FF), -0x1.ff8p-15F);
  EXPECT_EQ(float_of_f16(0x7BFF), 65504.0F);
  EXPECT_EQ(float_of_f16(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_NE(float_of_f16(0x7E00), float_of_f16(0x7E00));
  EXPECT_EQ(float_of_bf16(0xBF80), -1.0F);
}

}  // namespace
}  // namespace profgate::llm
