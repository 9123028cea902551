#pragma once

/// What the ranges of an LLM are called by our engine and by adapters, which other programs may take over.
namespace profgate::core {

/// The NVTX domain of all of them.
inline constexpr const char* llm_domain = "LLM";

/// The prompt, up to the first token: its time is the TTFT.
inline constexpr const char* prefill_stage = "prefill";
/// All decode steps of a text. Its length depends on how many tokens it decodes.
inline constexpr const char* decode_all_stage = "decode_all";
/// The range that wraps one decode step. It is neither a stage nor an operator.
inline constexpr const char* decode_step_range = "decode_step";
/// A call of a model that generates nothing, an encoder's.
inline constexpr const char* forward_stage = "forward";
/// The range around a call that is captured into a CUDA graph instead of running. It is no operator either:
/// what is replayed has the operators inside of it.
inline constexpr const char* capture_range = "capture";
/// The last range inside of a call that ended by an exception, which is no stage then.
inline constexpr const char* raised_range = "profgate: the call raised";

/// The only stage of a program that does not time itself.
inline constexpr const char* whole_process_stage = "process";

}  // namespace profgate::core
