#pragma once

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "device_memory.h"
#include "launch.h"

namespace profgate::llm::cuda::testing_support {

using bf16 = __nv_bfloat16;
using both_types = ::testing::Types<float, bf16>;

struct type_names {
  template <typename T>
  static std::string GetName(int /*index*/) {
    return sizeof(T) == sizeof(float) ? "float32" : "bfloat16";
  }
};

/// Floats in the GPU's memory, rounded to T.
template <typename T>
class device_array {
 public:
  explicit device_array(std::size_t count) : m_count(count), m_memory(count * sizeof(T)) {
    PROFGATE_CUDA(cudaMemset(m_memory.bytes(), 0xFF, count * sizeof(T)));  // NaN: what stays unwritten shows
    PROFGATE_CUDA(cudaDeviceSynchronize());
  }
  explicit device_array(std::span<const float> values) : device_array(values.size()) {
    const std::vector<T> rounded(values.begin(), values.end());
    PROFGATE_CUDA(cudaMemcpy(m_memory.bytes(), rounded.data(), m_count * sizeof(T), cudaMemcpyHostToDevice));
    PROFGATE_CUDA(cudaDeviceSynchronize());
  }
  T* get() const { return reinterpret_cast<T*>(m_memory.bytes()); }

 private:
  std::size_t m_count;
  device_memory m_memory;
};

/// Waits for the queue first.
template <typename T>
std::vector<float> floats_at(const queue& to, const T* at, std::size_t count) {
  std::vector<T> stored(count);
  PROFGATE_CUDA(cudaStreamSynchronize(to.stream));
  PROFGATE_CUDA(cudaMemcpy(stored.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
  return {stored.begin(), stored.end()};
}

/// Values that bfloat16 has, so that both devices start from the same.
inline std::vector<float> noise(std::size_t count, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(count);
  for (float& value : values) value = __bfloat162float(__float2bfloat16(normal(random)));
  return values;
}

struct closeness {
  double distance = 0;  ///< ||a - b|| / ||b||
  double cosine = 0;
};

/// NaN where a value is.
inline closeness compare(std::span<const float> actual, std::span<const float> expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0;
  double both = 0;
  double of_actual = 0;
  double of_expected = 0;
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    const double a = actual[i];
    const double b = expected[i];
    difference += (a - b) * (a - b);
    both += a * b;
    of_actual += a * a;
    of_expected += b * b;
  }
  return {std::sqrt(difference / of_expected), both / std::sqrt(of_actual * of_expected)};
}

/// float32 differs in the order of its sums alone; bfloat16 rounds what it reads and writes.
template <typename T>
void expect_close(std::span<const float> actual, std::span<const float> expected,
                  double float_distance = 1e-5, double bfloat16_cosine = 0.9999) {
  const auto found = compare(actual, expected);
  if (sizeof(T) == sizeof(float))
    EXPECT_LE(found.distance, float_distance);
  else
    EXPECT_GE(found.cosine, bfloat16_cosine) << "at a distance of " << found.distance;
}

/// Keeps a stream from going on until it is released: what waits for the GPU meanwhile shows.
class held_stream {
 public:
  explicit held_stream(cudaStream_t stream) : m_stream(stream) {
    PROFGATE_CUDA(cudaLaunchHostFunc(
        stream,
        [](void* self) {
          auto* held = static_cast<held_stream*>(self);
          // Only somebody who waits for the stream, and so never releases it, sees this time pass.
          held->m_was_released =
              held->m_release.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
        },
        this));
  }
  held_stream(const held_stream&) = delete;
  held_stream& operator=(const held_stream&) = delete;

  /// Whether nobody waited for the stream before.
  bool release() {
    m_release.set_value();
    PROFGATE_CUDA(cudaStreamSynchronize(m_stream));
    return m_was_released;
  }

 private:
  cudaStream_t m_stream;
  std::promise<void> m_release;
  bool m_was_released = false;
};

/// A queue on the GPU, or the test is skipped.
class vision_on_gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
      GTEST_SKIP() << "no CUDA device: "
                   << (status != cudaSuccess ? cudaGetErrorString(status) : "none listed");
    m_queue = open_queue();
  }
  void TearDown() override {
    if (m_queue.stream != nullptr) cudaStreamDestroy(m_queue.stream);
  }

  queue m_queue;
};

}  // namespace profgate::llm::cuda::testing_support
