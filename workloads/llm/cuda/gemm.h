#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "launch.h"

namespace profgate::llm::cuda {

/// out[t, r] = dot(x[t, :], weight[r, :]) (+ bias[r]) (+ out[t, r]), t < tokens.
template <typename T>
struct wide_product {
  const T* weight = nullptr;   ///< [rows, depth]
  const T* bias = nullptr;     ///< [rows] or null
  const T* x = nullptr;        ///< [tokens, depth]
  T* out = nullptr;            ///< [tokens, rows]
  float* out_float = nullptr;  ///< instead of out, where given
  std::int64_t tokens = 0;
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  bool add_to_out = false;
};

/// Large products through cuBLASLt, in float32 arithmetic. Of the algorithms the library ranks its first is
/// taken, never the fastest of a trial: the same kernels run every time, and runs compare.
class gemm_library {
 public:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20U;

  /// workspace is on the device and has workspace_bytes.
  explicit gemm_library(void* workspace);
  ~gemm_library();
  gemm_library(const gemm_library&) = delete;
  gemm_library& operator=(const gemm_library&) = delete;

  template <typename T>
  void multiply(const queue& to, const wide_product<T>& product);

 private:
  struct plan;
  struct plan_key {
    std::int64_t tokens, rows, depth;
    std::size_t element_bytes, out_bytes;
    bool bias, add_to_out;
    auto operator<=>(const plan_key&) const = default;
  };

  plan& plan_for(const plan_key& key);

  cublasLtHandle_t m_library = nullptr;
  void* m_workspace = nullptr;
  std::map<plan_key, std::unique_ptr<plan>> m_plans;
};

}  // namespace profgate::llm::cuda
