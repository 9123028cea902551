// What the CUDA kernels reach of what this GPU gives: each line's ratio is the kernel's rate over a ceiling
// measured just before in the same process, bytes over a device copy, operations over a large cuBLASLt
// product.
#include <benchmark/benchmark.h>
#include <cuda_bf16.h>

#include <cstdio>
#include <functional>
#include <string>

#include "attention.h"
#include "captured_graph.h"
#include "cuda_ceilings.h"
#include "cuda_vision_encoder.h"
#include "device_memory.h"
#include "gemm.h"
#include "llm/failure.h"
#include "llm/stopwatch.h"
#include "products.h"
#include "token_ops.h"
#include "vision/vision_work.h"
#include "vision_attention.h"

namespace {

using namespace profgate::llm;
using namespace profgate::llm::cuda;
using element = __nv_bfloat16;

// A round is replayed from a graph, as a decode step is: the host's launches would be longer than small
// kernels. Each launch of a round takes other weights, so that none are left in the L2 cache from the round
// before.
constexpr std::size_t pool_bytes = std::size_t{8} << 30U;
constexpr int round_launches = 20;

struct gpu {
  queue to;
  ceilings attainable;
  device_memory pool;

  gpu() {
    PROFGATE_CUDA(cudaStreamCreateWithFlags(&to.stream, cudaStreamNonBlocking));
    PROFGATE_CUDA(cudaDeviceGetAttribute(&to.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    int major = 0;
    PROFGATE_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    to.overlap = major >= 9;
    int shared_bytes = 0;
    PROFGATE_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    to.shared_bytes = static_cast<std::size_t>(shared_bytes);
    attainable = cuda::measure_ceilings<element>(to);
    pool = device_memory(pool_bytes);
    PROFGATE_CUDA(cudaMemset(pool.bytes(), 0, pool_bytes));
  }
};

gpu& the_gpu() {
  static gpu only;
  return only;
}

/// Memory that the launch number `turn` of a round has for itself; the first part is `shared` by all.
class turn_memory {
 public:
  explicit turn_memory(std::size_t shared_bytes) : m_shared_bytes(shared_bytes) {}
  memory_layout shared() const { return memory_layout(the_gpu().pool.bytes()); }
  memory_layout own(int turn, std::size_t bytes) const {
    const std::size_t slots = (pool_bytes - m_shared_bytes) / bytes;
    return memory_layout(the_gpu().pool.bytes() + m_shared_bytes +
                         static_cast<std::size_t>(turn) % slots * bytes);
  }

 private:
  std::size_t m_shared_bytes;
};

struct work {
  double bytes = 0;
  double flops = 0;
};

void run(benchmark::State& state, const work& once, const std::function<void(int turn)>& launch_one) {
  const gpu& device = the_gpu();
  launch_one(0);  // loads the kernel and plans the product, which a capture must not
  PROFGATE_CUDA(cudaStreamSynchronize(device.to.stream));
  const captured_graph round("round", device.to.stream, [&](operator_recorder& recorder) {
    for (int turn = 0; turn < round_launches; ++turn) launch_one(turn);
    recorder.operator_ends("all");
  });
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  PROFGATE_CUDA(cudaEventCreate(&begin));
  PROFGATE_CUDA(cudaEventCreate(&end));
  double seconds = 0;
  for ([[maybe_unused]] auto iteration : state) {
    PROFGATE_CUDA(cudaEventRecord(begin, device.to.stream));
    round.replay(device.to.stream);
    PROFGATE_CUDA(cudaEventRecord(end, device.to.stream));
    PROFGATE_CUDA(cudaEventSynchronize(end));
    float elapsed_ms = 0;
    PROFGATE_CUDA(cudaEventElapsedTime(&elapsed_ms, begin, end));
    const double one_s = static_cast<double>(elapsed_ms) * 1e-3 / round_launches;
    state.SetIterationTime(one_s);
    seconds += one_s;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  const double rate = static_cast<double>(state.iterations()) / seconds;
  if (once.bytes > 0) {
    state.counters["GB/s"] = once.bytes * rate * 1e-9;
    state.counters["of_copy"] = once.bytes * rate / device.attainable.memory_bytes_per_s;
  }
  if (once.flops > 0) {
    state.counters["TFLOP/s"] = once.flops * rate * 1e-12;
    state.counters["of_gemm"] = once.flops * rate / device.attainable.flops_per_s;
  }
}

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
  run(state, {.bytes = static_cast<double>(weight_bytes(c))}, [&](int turn) {
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
  run(state, {.bytes = static_cast<double>(weight_bytes(c)), .flops = flops}, [&](int turn) {
    product.weight = memory.own(turn, weight_bytes(c)).take<element>(1);
    library.multiply(the_gpu().to, product);
  });
}

struct attention_case {
  const char* name;
  int heads, kv_heads;
};

constexpr attention_case attention_cases[] = {
    {"llama-3.1-8b", 32, 8}, {"qwen2.5-7b", 28, 4}, {"qwen3-0.6b", 16, 8}};
constexpr int head_dim = 128;
constexpr int context = 2048;

attention_inputs<element> attention_arrays(const attention_case& c, int tokens, memory_layout& memory) {
  attention_inputs<element> in;
  in.qkv = memory.take<element>(std::int64_t{tokens} * (c.heads + 2 * c.kv_heads) * head_dim);
  in.out = memory.take<element>(std::int64_t{tokens} * c.heads * head_dim);
  in.cosines = memory.take<float>(context * head_dim);
  in.sines = in.cosines;
  in.capacity = context;
  in.heads = c.heads;
  in.kv_heads = c.kv_heads;
  in.head_dim = head_dim;
  return in;
}

void decode(benchmark::State& state, const attention_case& c, int batch) {
  const turn_memory memory(std::size_t{256} << 20U);
  auto shared = memory.shared();
  auto in = attention_arrays(c, batch, shared);
  const int splits = splits_for(the_gpu().to.multiprocessors, batch, c.heads, c.kv_heads, context);
  int* positions = shared.take<int>(batch);
  const std::vector<int> last(static_cast<std::size_t>(batch), context - 1);
  PROFGATE_CUDA(cudaMemcpy(positions, last.data(), last.size() * sizeof(int), cudaMemcpyHostToDevice));
  split_scratch scratch;
  scratch.splits = splits;
  scratch.sums = shared.take<float>(std::int64_t{batch} * c.heads * splits * head_dim);
  scratch.stats = shared.take<float2>(std::int64_t{batch} * c.heads * splits);
  scratch.counters = shared.take<unsigned>(std::int64_t{batch} * c.heads);
  PROFGATE_CUDA(
      cudaMemset(scratch.counters, 0, static_cast<std::size_t>(batch * c.heads) * sizeof(unsigned)));
  const std::int64_t cache = std::int64_t{batch} * c.kv_heads * context * head_dim;
  const std::size_t bytes = 2 * static_cast<std::size_t>(cache) * sizeof(element);
  run(state, {.bytes = static_cast<double>(bytes)}, [&](int turn) {
    auto own = memory.own(turn, bytes);
    in.keys = own.take<element>(cache);
    in.values = own.take<element>(cache);
    decode_attention(the_gpu().to, in, {positions, in.cosines, in.sines}, batch, scratch);
  });
}

void prefill(benchmark::State& state, const attention_case& c) {
  auto memory = turn_memory(0).shared();
  auto in = attention_arrays(c, context, memory);
  in.keys = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  in.values = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  const double pairs = 0.5 * context * (context + 1.0);
  run(state, {.flops = 4.0 * pairs * c.heads * head_dim},
      [&](int) { prefill_attention(the_gpu().to, in, 0, 0, context); });
}

void rope(benchmark::State& state, const attention_case& c) {
  auto memory = turn_memory(0).shared();
  auto in = attention_arrays(c, context, memory);
  in.keys = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  in.values = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  const double bytes = 2.0 * context * (c.heads + 2 * c.kv_heads) * head_dim * sizeof(element);
  run(state, {.bytes = bytes}, [&](int) { rotate_and_cache(the_gpu().to, in, 0, 0, context); });
}

void element_wise(benchmark::State& state, bool norm) {
  constexpr int hidden = 4096;
  constexpr int inner = 14336;
  const turn_memory memory(0);
  const std::size_t bytes = std::size_t{context} * (norm ? 2 * hidden : 3 * inner) * sizeof(element);
  run(state, {.bytes = static_cast<double>(bytes)}, [&](int turn) {
    auto own = memory.own(turn, bytes + 65536);
    if (norm) {
      const element* x = own.take<element>(context * hidden);
      element* out = own.take<element>(context * hidden);
      rms_norm(the_gpu().to, x, own.take<element>(hidden), 1e-5F, context, hidden, out);
    } else {
      const element* gate_up = own.take<element>(std::int64_t{context} * 2 * inner);
      swiglu(the_gpu().to, gate_up, context, inner, own.take<element>(std::int64_t{context} * inner));
    }
  });
}

struct vision_attention_case {
  const char* name;
  int tokens, heads, grid, side;
};

constexpr vision_attention_case vision_attention_cases[] = {{"sam/windows of 14", 4096, 12, 64, 14},
                                                            {"sam/whole grid of 64", 4096, 12, 64, 64},
                                                            {"clip/257", 257, 16, 0, 0}};

void attend_to_image(benchmark::State& state, const vision_attention_case& c) {
  constexpr int dim = 64;
  const std::int64_t width = std::int64_t{c.heads} * dim;
  auto memory = turn_memory(0).shared();
  const vision_attention_inputs<element> in{
      .qkv = memory.take<element>(c.tokens * 3 * width),
      .qkv_bias = memory.take<element>(3 * width),
      .relative_h = memory.take<element>(std::int64_t{2} * c.side * dim),
      .relative_w = memory.take<element>(std::int64_t{2} * c.side * dim),
      .out = memory.take<element>(c.tokens * width),
      .tokens = c.tokens,
      .heads = c.heads,
      .head_dim = dim,
      .grid = c.grid,
      .side = c.side};
  const double positions = c.side == 0 ? c.tokens : static_cast<double>(c.side) * c.side;
  run(state, {.flops = 4.0 * c.tokens * positions * static_cast<double>(width)},
      [&](int) { vision_attention(the_gpu().to, in); });
}

/// A whole view of the published encoder, its pixels' copy to the GPU included; not from a graph, as in a
/// prefill.
void encode(benchmark::State& state, std::int64_t image_size) {
  const gpu& device = the_gpu();
  vision::vision_need need;
  need.image_sizes = {image_size};
  need.most_rows = 1;  // a view is encoded, no image laid out
  auto memory = turn_memory(0).shared();
  const auto weights = place_vision_weights<element>(need.shape, memory);
  const auto buffers = place_vision_buffers<element>(need, memory);
  const stage_ranges ranges("bench");
  cuda_vision_encoder<element> encoder(need, weights, buffers, device.to, ranges);
  const std::vector<float> pixels(static_cast<std::size_t>(vision::color_channels * image_size * image_size));
  element* out = buffers.slots + buffers.slot_rows * need.shape.hidden_size;
  const auto encode_one = [&] {
    encoder.encode_view(pixels, image_size, out);
    PROFGATE_CUDA(cudaStreamSynchronize(device.to.stream));
  };
  encode_one();  // loads the kernels and plans the products
  double seconds = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const stopwatch watch;
    encode_one();
    state.SetIterationTime(watch.elapsed_s());
    seconds += watch.elapsed_s();
  }
  const auto once = vision::vision_work(need.shape, {image_size, 0, {}}, sizeof(element));
  const double rate = static_cast<double>(state.iterations()) / seconds;
  state.counters["TFLOP/s"] = static_cast<double>(once.flops) * rate * 1e-12;
  state.counters["of_gemm"] = static_cast<double>(once.flops) * rate / device.attainable.flops_per_s;
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond)
      ->MinTime(0.02);
}

void register_all() {
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
  for (const auto& c : attention_cases) {
    add(std::string("decode_attention/") + c.name, [&c](benchmark::State& state) { decode(state, c, 1); });
    add(std::string("decode_attention16/") + c.name, [&c](benchmark::State& state) { decode(state, c, 16); });
    add(std::string("prefill_attention2048/") + c.name, [&c](benchmark::State& state) { prefill(state, c); });
    add(std::string("rope2048/") + c.name, [&c](benchmark::State& state) { rope(state, c); });
  }
  add("rms_norm2048/llama-3.1-8b", [](benchmark::State& state) { element_wise(state, true); });
  for (const auto& c : vision_attention_cases)
    add(std::string("vision_attention/") + c.name,
        [&c](benchmark::State& state) { attend_to_image(state, c); });
  for (const std::int64_t size : {640, 1024, 1280})
    add("vision_encoder/deepseek-ocr/" + std::to_string(size),
        [size](benchmark::State& state) { encode(state, size); });
  add("swiglu2048/llama-3.1-8b", [](benchmark::State& state) { element_wise(state, false); });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "no CUDA device: nothing was measured\n");
    return static_cast<int>(exit_code::not_possible);
  }
  std::printf("ceilings: %.0f GB/s copy, %.0f TFLOP/s bfloat16 product\n",
              the_gpu().attainable.memory_bytes_per_s * 1e-9, the_gpu().attainable.flops_per_s * 1e-12);
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
