#pragma once

#include "nanoseconds.h"
#include "timeline_builder.h"

namespace profgate::analysis {

/// Prefill 10 ms at half the arithmetic ceiling, decode 40 ms at three quarters of the bandwidth; traced 10 %
/// slower, with lm_head taking 30 of decode's 44 traced ms.
inline run_facts example_run() {
  run_facts facts;
  facts.run_id = "20250102-030405-m.c";
  facts.pair = "m.c";
  facts.device = "cpu";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"prefill", "decode_all"};
  facts.bare.bench.emplace();
  facts.bare.bench->samples_ns = {{"prefill", {10 * ms, 10 * ms}}, {"decode_all", {40 * ms, 40 * ms}}};
  facts.bare.bench->tokens = {{"decode", 4}};
  facts.bare.bench->work = {{"prefill", {5e9, 1e8}}, {"decode_all", {1e9, 3e9}}};
  facts.bare.bench->ceiling_flops_per_s = 1e12;
  facts.bare.bench->ceiling_bytes_per_s = 1e11;
  facts.bare.bench->ceiling_method = "by hand";
  facts.bare.bench->logits_hash = "abc";
  facts.profiled = {*facts.bare.bench};
  facts.captures = {{"nsys/embedded.timeline", std::nullopt,
                     timeline_builder()
                         .range("prefill", 0, 11 * ms)
                         .range("mlp", 0, 11 * ms)
                         .range("decode_all", 20 * ms, 64 * ms)
                         .range("lm_head", 20 * ms, 50 * ms)
                         .range("attn", 50 * ms, 64 * ms)
                         .no_kernels("the device is a CPU")
                         .build()}};
  facts.steps = {{"stage1", core::step_state::ok, "", "", 1.5, "", "", {}}};
  return facts;
}

}  // namespace profgate::analysis
