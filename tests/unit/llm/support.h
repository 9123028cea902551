#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "llm/failure.h"
#include "llm/model_shape.h"
#include "llm/reference.h"

namespace profgate::llm::testing_support {

inline std::string reference_dir() {
  return PROFGATE_TEST_DATA "/reference";
}

/// How near float32 must come to a reference.
inline const agreement exact = required_agreement("float32", false);

/// A directory of this test alone, removed afterwards.
class temporary_directory {
 public:
  temporary_directory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_path = ::testing::TempDir() + "profgate-llm-" + std::to_string(getpid()) + "-" +
             test->test_suite_name() + "." + test->name();
    std::filesystem::remove_all(m_path);
    std::filesystem::create_directories(m_path);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }

  const std::string& path() const { return m_path; }
  std::string file(const std::string& name) const { return m_path + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }

 private:
  std::string m_path;
};

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The failure that the body throws; the test fails when it throws none.
template <typename Body>
failure failure_of(Body&& body) {
  try {
    body();
  } catch (const failure& thrown) {
    return thrown;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {exit_code::good, "", ""};
}

/// Expects bad input whose words contain `words`, with a remedy.
template <typename Body>
void expect_bad_input(const std::string& words, Body&& body) {
  const failure thrown = failure_of(body);
  EXPECT_EQ(thrown.code(), exit_code::bad_input);
  EXPECT_THAT(thrown.what(), ::testing::HasSubstr(words));
  EXPECT_FALSE(thrown.remedy().empty());
}

/// The content of a safetensors file.
inline std::string safetensors_text(const std::string& header, const std::string& data,
                                    std::optional<std::uint64_t> claimed_length = std::nullopt) {
  const std::uint64_t length = claimed_length.value_or(header.size());
  std::string text;
  for (unsigned i = 0; i < 8; ++i) text += static_cast<char>((length >> (8 * i)) & 0xFFU);
  return text + header + data;
}

inline model_shape llama_tiny_shape() {
  return {.architecture = "llama",
          .vocab_size = 512,
          .hidden_size = 64,
          .intermediate_size = 176,
          .num_hidden_layers = 3,
          .num_attention_heads = 8,
          .num_key_value_heads = 2,
          .head_dim = 8,
          .rms_norm_eps = 1e-5,
          .rope_theta = 10000};
}

/// A dense layer, then two with experts of both kinds.
inline model_shape deepseek_moe_tiny_shape() {
  return {.architecture = "deepseek_v2",
          .vocab_size = 512,
          .hidden_size = 64,
          .intermediate_size = 176,
          .num_hidden_layers = 3,
          .num_attention_heads = 4,
          .num_key_value_heads = 4,
          .head_dim = 16,
          .rms_norm_eps = 1e-6,
          .rope_theta = 10000,
          .num_experts = 8,
          .num_experts_per_tok = 3,
          .moe_intermediate_size = 48,
          .shared_intermediate_size = 96,
          .first_dense_layers = 1};
}

}  // namespace profgate::llm::testing_support
