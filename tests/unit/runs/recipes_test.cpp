// conf/workload's recipes for servers: which of their steps' ranges are which stage, by the names that they
// open.
#include <gmock/gmock.h>

#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

struct named_steps {
  std::vector<std::string> stages;  ///< of each range, or its own name
  analysis::stage_counts counts;
};

named_steps named_by(const std::string& recipe, const std::vector<std::string>& ranges) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.workload_choice = recipe;
  const config::resolved config = config::compose(wanted);
  core::timeline timeline;
  std::int64_t now_ns = 0;
  for (const std::string& name : ranges) {
    core::range_record range;
    range.name = timeline.texts.keep(name);
    range.start_ns = now_ns;
    range.end_ns = now_ns += 10;
    timeline.ranges.push_back(range);
  }
  named_steps result;
  result.counts =
      analysis::name_stages(timeline, stage_rules_of(config), config.text("workload.nvtx_domain"));
  for (const core::range_record& range : timeline.ranges) result.stages.emplace_back(range.name);
  return result;
}

TEST(recipes, of_vllm_tell_steps_by_what_their_batch_is_made_of) {
  const named_steps named =
      named_by("vllm", {"execute_context_2(300)_generation_0(0)", "execute_context_0(0)_generation_8(8)",
                        "execute_context_1(64)_generation_8(8)", "gpu_model_runner: preprocess"});
  EXPECT_THAT(named.stages, ElementsAre("prefill", "decode", "mixed", "gpu_model_runner: preprocess"));
  EXPECT_THAT(named.counts.at("mixed"), ElementsAre(Pair("decode_tokens", 8), Pair("prefill_tokens", 64)));
}

TEST(recipes, of_tensorrt_llm_take_the_names_of_older_and_newer_releases) {
  const named_steps named =
      named_by("tensorrt-llm", {"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs",
                                "[Executor] _forward_step 7: 0 ctx reqs, 4 gen reqs",
                                "[Executor] _forward_step 8: 2 ctx reqs, 96 ctx tokens, 0 gen reqs",
                                "[Executor] _forward_step 9: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
                                "[Executor] _forward_step 10: 1 ctx reqs, 12 ctx tokens, 3 gen reqs"});
  EXPECT_THAT(named.stages, ElementsAre("prefill", "decode", "prefill", "decode", "mixed"));
  EXPECT_THAT(named.counts.at("prefill"), ElementsAre(Pair("prefill_tokens", 96)));
  EXPECT_THAT(named.counts.at("decode"), ElementsAre(Pair("decode_tokens", 36)));
}

TEST(recipes, of_sglang_tell_the_parts_of_the_schedulers_loop) {
  const named_steps named =
      named_by("sglang", {"scheduler.recv_requests", "scheduler.get_next_batch_to_run", "scheduler.run_batch",
                          "scheduler.process_batch_result", "scheduler_run_batch"});
  EXPECT_THAT(named.stages,
              ElementsAre("scheduler.recv_requests", "schedule", "step", "result", "scheduler_run_batch"));
}

}  // namespace
}  // namespace profgate::runs
