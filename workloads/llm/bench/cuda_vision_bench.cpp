#include "cuda_rounds.h"
#include "cuda_vision_encoder.h"
#include "llm/stopwatch.h"
#include "vision/vision_work.h"
#include "vision_attention.h"

namespace profgate::llm::cuda::bench {
namespace {

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
  time_rounds(state, {.flops = 4.0 * c.tokens * positions * static_cast<double>(width)},
              [&](int) { vision_attention(the_gpu().to, in); });
}

/// A whole view of the published encoder; not from a graph, as in a prefill.
void encode(benchmark::State& state, std::int64_t image_size) {
  const gpu& device = the_gpu();
  vision::vision_need need;
  need.image_sizes = {image_size};
  need.most_rows = 1;  // a view is encoded, no image laid out
  auto memory = turn_memory(0).shared();
  const auto weights = place_vision_weights<element>(need.shape, memory);
  const auto buffers = place_vision_buffers<element>(need, memory);
  const stage_ranges ranges("bench");
  thread_pool pool(1);
  cuda_vision_encoder<element> encoder(need, weights, buffers, device.to, pool, ranges);
  element* out = buffers.slots + buffers.slot_rows * need.shape.hidden_size;
  const auto encode_one = [&] {
    encoder.encode_view(buffers.preprocessing.views, image_size, out);
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

}  // namespace

void add_vision() {
  for (const auto& c : vision_attention_cases)
    add(std::string("vision_attention/") + c.name,
        [&c](benchmark::State& state) { attend_to_image(state, c); });
  for (const std::int64_t size : {640, 1024, 1280})
    add("vision_encoder/deepseek-ocr/" + std::to_string(size),
        [size](benchmark::State& state) { encode(state, size); });
}

}  // namespace profgate::llm::cuda::bench
