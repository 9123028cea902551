#include "cuda_rounds.h"
#include "gemm.h"
#include "products.h"

namespace profgate::llm::cuda::bench {
namespace {

struct product_case {
  const char* name;
  int rows, depth;
  product_end end;
};

constexpr product_case product_cases[] = {
    {"llama-3.1-8b/attn.qkv", 6144, 4096, product_end::store},
    {"llama-3.1-8b/attn.out", 4096, 4096, product_end::residual},
    {"llama-3.1-8b/mlp.gate_up", 14336, 4096, product_end::swiglu},
    {"llama-3.1-8b/mlp.down", 4096, 14336, product_end::residual},
    {"llama-3.1-8b/lm_head", 128256, 4096, product_end::logits},
    {"qwen3-0.6b/attn.qkv", 4096, 1024, product_end::store},
    {"qwen3-0.6b/attn.out", 1024, 2048, product_end::residual},
    {"qwen3-0.6b/mlp.gate_up", 3072, 1024, product_end::swiglu},
    {"qwen3-0.6b/mlp.down", 1024, 3072, product_end::residual},
    {"qwen3-0.6b/lm_head", 151936, 1024, product_end::logits},
    {"deepseek-ocr-decoder/attn.qkv", 3840, 1280, product_end::store},
    {"deepseek-ocr-decoder/attn.out", 1280, 1280, product_end::residual},
    {"deepseek-ocr-decoder/mlp.gate_up", 6848, 1280, product_end::swiglu},
    {"deepseek-ocr-decoder/mlp.down", 1280, 6848, product_end::residual},
    {"deepseek-ocr-decoder/lm_head", 129280, 1280, product_end::logits},
};

std::size_t weight_bytes(const product_case& c) {
  return static_cast<std::size_t>(c.rows) * static_cast<std::size_t>(c.depth) * sizeof(element) *
         (c.end == product_end::swiglu ? 2 : 1);
}

/// One product of `batch` rows: by the vector kernel, the skinny one or cuBLASLt.
void thin(benchmark::State& state, const product_case& c, int batch) {
  const turn_memory memory(std::size_t{256} << 20U);
  auto shared = memory.shared();
  thin_product<element> product{.x = shared.take<element>(std::int64_t{batch} * c.depth),
                                .norm_weight = nullptr,
                                .epsilon = 1e-5F,
                                .out = shared.take<element>(std::int64_t{batch} * c.rows),
                                .out_float = shared.take<float>(std::int64_t{batch} * c.rows),
                                .out_stride = c.rows,
                                .rows = c.rows,
                                .depth = c.depth,
                                .batch = batch};
  time_rounds(state, {.bytes = static_cast<double>(weight_bytes(c))}, [&](int turn) {
    product.weight = memory.own(turn, weight_bytes(c)).take<element>(1);
    if (batch == 1) {
      if (c.end != product_end::residual) product.norm_weight = product.weight;
      multiply_vector(the_gpu().to, product, c.end);
    } else {
      multiply_skinny(the_gpu().to, product, c.end);
    }
  });
}

void wide(benchmark::State& state, const product_case& c, int tokens) {
  const turn_memory memory(std::size_t{512} << 20U);
  auto shared = memory.shared();
  gemm_library library(shared.take<std::byte>(gemm_library::workspace_bytes));
  wide_product<element> product{.x = shared.take<element>(std::int64_t{tokens} * c.depth),
                                .tokens = tokens,
                                .rows = c.end == product_end::swiglu ? 2 * c.rows : c.rows,
                                .depth = c.depth,
                                .add_to_out = c.end == product_end::residual};
  product.out = shared.take<element>(product.rows * tokens);
  const double flops = 2.0 * tokens * static_cast<double>(product.rows) * c.depth;
  time_rounds(state, {.bytes = static_cast<double>(weight_bytes(c)), .flops = flops}, [&](int turn) {
    product.weight = memory.own(turn, weight_bytes(c)).take<element>(1);
    library.multiply(the_gpu().to, product);
  });
}

}  // namespace

void add_products() {
  for (const auto& c : product_cases) {
    add(std::string("vector/") + c.name, [&c](benchmark::State& state) { thin(state, c, 1); });
    if (std::string(c.name).starts_with("llama")) {
      add(std::string("skinny16/") + c.name, [&c](benchmark::State& state) { thin(state, c, 16); });
      if (c.end != product_end::logits) {
        add(std::string("cublaslt16/") + c.name, [&c](benchmark::State& state) { wide(state, c, 16); });
        add(std::string("cublaslt2048/") + c.name, [&c](benchmark::State& state) { wide(state, c, 2048); });
      }
    }
  }
}

}  // namespace profgate::llm::cuda::bench
