#include "gemm.h"

#include <cuda_bf16.h>

#include <string>

#include "check.h"
#include "cublaslt.h"
#include "llm/failure.h"

namespace profgate::llm::cuda {

/// cuBLASLt counts in columns: out^T [rows, tokens] = op(weight) [rows, depth] * x^T [depth, tokens], with
/// weight stored [depth, rows] there.
struct gemm_library::plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t weight = nullptr;
  cublasLtMatrixLayout_t x = nullptr;
  cublasLtMatrixLayout_t out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

  plan() = default;
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;
  ~plan() {
    load_cublaslt().layout_destroy(out);
    load_cublaslt().layout_destroy(x);
    load_cublaslt().layout_destroy(weight);
    load_cublaslt().desc_destroy(operation);
  }
};

gemm_library::gemm_library(void* workspace) : m_workspace(workspace) {
  PROFGATE_CUDA(load_cublaslt().create(&m_library));
}

gemm_library::~gemm_library() {
  m_plans.clear();
  load_cublaslt().destroy(m_library);
}

gemm_library::plan& gemm_library::plan_for(const plan_key& key) {
  auto& slot = m_plans[key];
  if (slot) return *slot;
  auto made = std::make_unique<plan>();
  const cudaDataType_t type = key.element_bytes == 2 ? CUDA_R_16BF : CUDA_R_32F;
  PROFGATE_CUDA(load_cublaslt().desc_create(&made->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    PROFGATE_CUDA(load_cublaslt().desc_set_attribute(made->operation, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (key.bias) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
  }
  const auto columns = [&](cudaDataType_t of, std::int64_t height, std::int64_t width) {
    cublasLtMatrixLayout_t layout = nullptr;
    PROFGATE_CUDA(load_cublaslt().layout_create(&layout, of, static_cast<std::uint64_t>(height),
                                                static_cast<std::uint64_t>(width), height));
    return layout;
  };
  made->weight = columns(type, key.depth, key.rows);
  made->x = columns(type, key.depth, key.tokens);
  made->out = columns(key.out_bytes == 2 ? CUDA_R_16BF : CUDA_R_32F, key.rows, key.tokens);

  cublasLtMatmulPreference_t preference = nullptr;
  PROFGATE_CUDA(load_cublaslt().preference_create(&preference));
  const std::size_t workspace = workspace_bytes;
  cublasStatus_t status = load_cublaslt().preference_set_attribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = load_cublaslt().algo_get_heuristic(m_library, made->operation, made->weight, made->x, made->out,
                                                made->out, preference, 1, &best, &found);
  load_cublaslt().preference_destroy(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0)
    throw judged_bad("cuBLASLt has no algorithm for a product of " + std::to_string(key.tokens) + " x " +
                         std::to_string(key.depth) + " and " + std::to_string(key.depth) + " x " +
                         std::to_string(key.rows),
                     "use a shape whose sizes are multiples of 8");
  made->algorithm = best.algo;
  slot = std::move(made);
  return *slot;
}

template <typename T>
void gemm_library::multiply(const queue& to, const wide_product<T>& product) {
  void* out = product.out;
  if (product.out_float != nullptr) out = product.out_float;
  plan& way = plan_for({product.tokens, product.rows, product.depth, sizeof(T),
                        product.out_float != nullptr ? sizeof(float) : sizeof(T), product.bias != nullptr,
                        product.add_to_out});
  if (product.bias != nullptr)
    PROFGATE_CUDA(load_cublaslt().desc_set_attribute(way.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                     &product.bias, sizeof product.bias));
  const float one = 1.0F;
  const float kept = product.add_to_out ? 1.0F : 0.0F;
  check(load_cublaslt().matmul(m_library, way.operation, &one, product.weight, way.weight, product.x, way.x,
                               &kept, out, way.out, out, way.out, &way.algorithm, m_workspace,
                               workspace_bytes, to.stream),
        "cublasLtMatmul");
}

template void gemm_library::multiply(const queue&, const wide_product<float>&);
template void gemm_library::multiply(const queue&, const wide_product<__nv_bfloat16>&);

}  // namespace profgate::llm::cuda
