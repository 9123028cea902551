// conf/workload's recipes for servers: which of their steps' ranges are which stage, by the names that they
// open.
#include <gmock/gmock.h>

#include "runs/process_samples.h"
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
                        "execute_context_1(64)_generation_8(8)", "execute_context_0(0)_generation_0(0)",
                        "gpu_model_runner: preprocess"});
  EXPECT_THAT(named.stages, ElementsAre("prefill", "decode", "mixed", "execute_context_0(0)_generation_0(0)",
                                        "gpu_model_runner: preprocess"));
  EXPECT_THAT(named.counts.at("mixed"), ElementsAre(Pair("decode_tokens", 8), Pair("prefill_tokens", 64)));
}

TEST(recipes, of_tensorrt_llm_take_the_names_of_older_and_newer_releases) {
  const named_steps named =
      named_by("tensorrt-llm", {"[Executor] _forward_step: 1 ctx reqs, 0 gen reqs",
                                "[Executor] _forward_step 7: 0 ctx reqs, 4 gen reqs",
                                "[Executor] _forward_step 8: 2 ctx reqs, 96 ctx tokens, 0 gen reqs",
                                "[Executor] _forward_step 9: 0 ctx reqs, 0 ctx tokens, 32 gen reqs",
                                "[Executor] _forward_step 10: 1 ctx reqs, 12 ctx tokens, 3 gen reqs",
                                "[Executor] _forward_step 11: 0 ctx reqs, 0 gen reqs"});
  EXPECT_THAT(named.stages, ElementsAre("prefill", "decode", "prefill", "decode", "mixed",
                                        "[Executor] _forward_step 11: 0 ctx reqs, 0 gen reqs"));
  EXPECT_THAT(named.counts.at("prefill"), ElementsAre(Pair("prefill_tokens", 96)));
  EXPECT_THAT(named.counts.at("decode"), ElementsAre(Pair("decode_tokens", 36)));
}

TEST(recipes, with_token_counts_tell_tokens_a_second_and_the_time_of_one) {
  range_samples ranges;
  ranges.stages_ns = {{"decode", {1'000'000, 3'000'000}}, {"mixed", {2'000'000}}};
  ranges.counts = {{"decode", {{"decode_tokens", 8}, {"requests", 2}}},
                   {"mixed", {{"decode_tokens", 4}, {"prefill_tokens", 100}}},
                   {"never", {{"decode_tokens", 0}}}};
  process_samples samples;
  add_counts(ranges, samples);
  std::map<std::string, std::pair<double, std::string>> told;
  for (const analysis::program_figure& figure : samples.figures) {
    EXPECT_THAT(figure.source, ::testing::StartsWith("the names of its ranges"));
    told[figure.name] = {figure.values.at(0), figure.unit};
  }
  EXPECT_THAT(told, ElementsAre(Pair("decode: decode_tokens", Pair(8, "in all")),
                                Pair("decode: decode_tokens a second", Pair(2000, "tokens/s")),
                                Pair("decode: requests", Pair(2, "in all")),
                                Pair("decode: time a token", Pair(0.5, "ms")),
                                Pair("mixed: decode_tokens", Pair(4, "in all")),
                                Pair("mixed: decode_tokens a second", Pair(2000, "tokens/s")),
                                Pair("mixed: prefill_tokens", Pair(100, "in all")),
                                Pair("mixed: prefill_tokens a second", Pair(50000, "tokens/s")),
                                Pair("never: decode_tokens", Pair(0, "in all"))))
      << "a mixed step makes two kinds at once: no time is one token's";
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
