#include <vector>

#include "attention.h"
#include "cuda_rounds.h"
#include "token_ops.h"

namespace profgate::llm::cuda::bench {
namespace {

struct attention_case {
  const char* name;
  int heads, kv_heads;
};

constexpr attention_case attention_cases[] = {{"llama-3.1-8b", 32, 8},
                                              {"qwen2.5-7b", 28, 4},
                                              {"qwen3-0.6b", 16, 8},
                                              {"qwen3-30b-a3b", 32, 4},
                                              {"deepseek-ocr-decoder", 10, 10}};
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
  const context_split split = split_context(the_gpu().to, batch, c.heads, c.kv_heads, context);
  int* positions = shared.take<int>(batch);
  const std::vector<int> last(static_cast<std::size_t>(batch), context - 1);
  PROFGATE_CUDA(cudaMemcpy(positions, last.data(), last.size() * sizeof(int), cudaMemcpyHostToDevice));
  split_scratch scratch;
  scratch.splits = split.blocks;
  scratch.clustered = split.clustered;
  scratch.sums = shared.take<float>(std::int64_t{batch} * c.heads * split.blocks * head_dim);
  scratch.stats = shared.take<float2>(std::int64_t{batch} * c.heads * split.blocks);
  scratch.counters = shared.take<unsigned>(std::int64_t{batch} * c.heads);
  PROFGATE_CUDA(
      cudaMemset(scratch.counters, 0, static_cast<std::size_t>(batch * c.heads) * sizeof(unsigned)));
  const std::int64_t cache = std::int64_t{batch} * c.kv_heads * context * head_dim;
  const std::size_t bytes = 2 * static_cast<std::size_t>(cache) * sizeof(element);
  time_rounds(state, {.bytes = static_cast<double>(bytes)}, [&](int turn) {
    auto own = memory.own(turn, bytes);
    in.keys = own.take<element>(cache);
    in.values = own.take<element>(cache);
    decode_attention(the_gpu().to, in, {positions, in.cosines, in.sines}, batch, scratch);
  });
}

void prefill(benchmark::State& state, const attention_case& c, bool warpgroups) {
  queue to = the_gpu().to;
  to.warpgroups = warpgroups;
  auto memory = turn_memory(0).shared();
  auto in = attention_arrays(c, context, memory);
  in.keys = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  in.values = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  const double pairs = 0.5 * context * (context + 1.0);
  time_rounds(state, {.flops = 4.0 * pairs * c.heads * head_dim},
              [&](int) { prefill_attention(to, in, 0, 0, context); });
}

void rope(benchmark::State& state, const attention_case& c) {
  auto memory = turn_memory(0).shared();
  auto in = attention_arrays(c, context, memory);
  in.keys = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  in.values = memory.take<element>(std::int64_t{c.kv_heads} * context * head_dim);
  const double bytes = 2.0 * context * (c.heads + 2 * c.kv_heads) * head_dim * sizeof(element);
  time_rounds(state, {.bytes = bytes}, [&](int) { rotate_and_cache(the_gpu().to, in, 0, 0, context); });
}

void element_wise(benchmark::State& state, bool norm) {
  constexpr int hidden = 4096;
  constexpr int inner = 14336;
  const turn_memory memory(0);
  const std::size_t bytes = std::size_t{context} * (norm ? 2 * hidden : 3 * inner) * sizeof(element);
  time_rounds(state, {.bytes = static_cast<double>(bytes)}, [&](int turn) {
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

}  // namespace

void add_attention() {
  for (const auto& c : attention_cases) {
    add(std::string("decode_attention/") + c.name, [&c](benchmark::State& state) { decode(state, c, 1); });
    add(std::string("decode_attention16/") + c.name, [&c](benchmark::State& state) { decode(state, c, 16); });
    add(std::string("prefill_attention2048/") + c.name,
        [&c](benchmark::State& state) { prefill(state, c, the_gpu().to.warpgroups); });
    if (the_gpu().to.warpgroups)
      add(std::string("prefill_attention2048_without_warpgroups/") + c.name,
          [&c](benchmark::State& state) { prefill(state, c, false); });
    add(std::string("rope2048/") + c.name, [&c](benchmark::State& state) { rope(state, c); });
  }
  add("rms_norm2048/llama-3.1-8b", [](benchmark::State& state) { element_wise(state, true); });
  add("swiglu2048/llama-3.1-8b", [](benchmark::State& state) { element_wise(state, false); });
}

}  // namespace profgate::llm::cuda::bench
