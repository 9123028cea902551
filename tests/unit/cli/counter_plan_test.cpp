#include "steps/counter_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "analysis/counters.h"
#include "core/error.h"
#include "parsers/ncu.h"
#include "parsers/timeline.h"
#include "profilers/backends.h"
#include "recordings.h"
#include "runs/run_settings.h"
#include "runs/stage_traces.h"
#include "steps/start_plan.h"

/// The closed loop on what was recorded of one program: nsys's timeline, and what ncu counted of it.
namespace profgate::cli {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace fs = std::filesystem;

config::resolved config_of(const std::string& yaml = "") {
  return config::parse_resolved(yaml.empty() ? "run:\n  mode: deep\n" : yaml, "config.yaml");
}

analysis::run_facts recorded_run() {
  analysis::run_facts facts;
  facts.device = "cuda";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"prefill", "decode_all"};
  facts.bare.bench_absent_reason = "not recorded";
  facts.captures.push_back(
      {"eager.sqlite", std::nullopt, profilers::read_timelines({recordings / "ncu" / "eager.sqlite"})});
  return facts;
}

TEST(counter_plan, chooses_from_a_real_timeline) {
  const analysis::run_facts facts = recorded_run();
  const counter_plan plan = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  EXPECT_THAT(plan.notes, IsEmpty());
  ASSERT_THAT(plan.stages, SizeIs(2));
  const analysis::planned_stage& decode = plan.stages[0];
  EXPECT_EQ(decode.selection.stage, "decode_all") << "the stage of the main trace comes first";
  EXPECT_EQ(decode.selection.groups.size(), decode.selection.groups_in_stage) << "there are fewer than 20";
  EXPECT_DOUBLE_EQ(decode.selection.share_ratio(), 1);
  std::set<std::string> operators;
  for (const core::kernel_group& group : decode.selection.groups) operators.insert(group.op);
  EXPECT_THAT(operators, ::testing::IsSupersetOf({"lm_head", "mlp.gate_up", "mlp.down"}));
  EXPECT_THAT(plan.sessions[0].name, IsEmpty());
  std::int64_t launches = 0;
  for (const profilers::counter_session& session : plan.sessions) {
    launches += session.filter.count;
    const bool has_more_than_one = session.what == "decode_all";
    EXPECT_EQ(session.filter.skip > 0, has_more_than_one) << "the first launch of a kernel is not counted";
    EXPECT_EQ(session.filter.base, profilers::kernel_name_base::mangled);
    EXPECT_THAT(session.filter.nvtx_include, ElementsAre("LLM@" + session.what + "/"));
  }
  EXPECT_LE(launches, 100);
  EXPECT_THAT(plan.sessions[0].filter.kernel_names, Each(StartsWith("_ZN8profgate3llm4cuda")));
}

TEST(counter_plan, stops_at_the_configured_share) {
  const analysis::run_facts facts = recorded_run();
  const counter_plan plan =
      plan_counters(config_of("run:\n  top_kernels_share_ratio: 0.5\n"), facts, analysis::analyze_run(facts));
  const analysis::kernel_selection& decode = plan.stages[0].selection;
  EXPECT_GE(decode.share_ratio(), 0.5);
  EXPECT_LT(decode.groups.size(), decode.groups_in_stage);
}

/// ncu wrote simplified names there; grid, block, operator and the rest of the name tell which they are.
TEST(counter_plan, finds_what_ncu_really_counted_in_the_timeline) {
  analysis::run_facts facts = recorded_run();
  facts.counters.launches = parsers::read_ncu_counters(recordings / "ncu" / "ncu_light_raw.csv");
  analysis::name_stages(facts.counters.launches, runs::stage_rules_of(config_of()));
  const analysis::run_figures figures = analysis::analyze_run(facts);
  ASSERT_TRUE(figures.stages[1].counters) << figures.stages[1].counters.reason();
  const analysis::stage_counters& counters = *figures.stages[1].counters;
  EXPECT_EQ(counters.launches, 40);
  EXPECT_EQ(counters.unmatched_launches, 0);
  EXPECT_DOUBLE_EQ(*counters.coverage_ratio, 1) << "two whole steps were counted";
  const std::int64_t counted = std::accumulate(
      counters.kernels.begin(), counters.kernels.end(), std::int64_t{0},
      [](std::int64_t sum, const analysis::counted_kernel& kernel) { return sum + kernel.launches; });
  EXPECT_EQ(counted, 40);
  EXPECT_EQ(counters.kernels[0].group.op, "lm_head");
  EXPECT_THAT(counters.kernels[0].group.kernel_name,
              StartsWith("void profgate::llm::cuda::vector_products::gemv<"));
  EXPECT_THAT(counters.kernels[0].flops.reason(), HasSubstr("sm__ops_path_tensor_src_bf16_dst_fp32.sum"))
      << "that list had no tensor metric";
}

TEST(counter_plan, without_a_timeline_counts_the_first_launches_of_each_stage) {
  analysis::run_facts facts = recorded_run();
  facts.captures.clear();
  facts.captures_absent_reason = "timeline=none was asked for";
  const counter_plan plan = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  ASSERT_THAT(plan.sessions, SizeIs(2));
  EXPECT_THAT(plan.sessions[1].name, "prefill");
  for (const profilers::counter_session& session : plan.sessions) {
    EXPECT_THAT(session.filter.kernel_names, IsEmpty());
    EXPECT_EQ(session.filter.count, 25);
    EXPECT_EQ(session.filter.skip, 0);
  }
  EXPECT_THAT(plan.notes, Contains(HasSubstr("timeline=none was asked for")));
}

/// What ncu would count of the recorded program, by the plan's filter: launches as the host made them.
std::vector<const core::kernel_execution*> counted_launches(const core::timeline& timeline,
                                                            const profilers::ncu_filter& filter) {
  std::vector<const core::kernel_execution*> launches;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (std::find(filter.kernel_names.begin(), filter.kernel_names.end(), kernel.shape->mangled_name) !=
        filter.kernel_names.end())
      launches.push_back(&kernel);
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const auto* a, const auto* b) { return a->launched_ns < b->launched_ns; });
  const auto skip = static_cast<std::ptrdiff_t>(filter.skip);
  return {launches.begin() + skip, launches.begin() + skip + static_cast<std::ptrdiff_t>(filter.count)};
}

TEST(counter_plan, without_the_gate_counts_the_largest_kernels_of_all_stages_in_one_session) {
  const analysis::run_facts facts = recorded_run();
  const config::resolved ungated =
      config_of("ncu:\n  gating_nvtx: false\n  max_launches: 60\n  windows: 1\n");
  const counter_plan plan = plan_counters(ungated, facts, analysis::analyze_run(facts));
  ASSERT_THAT(plan.sessions, SizeIs(1));
  const profilers::ncu_filter& filter = plan.sessions[0].filter;
  EXPECT_THAT(filter.nvtx_include, IsEmpty());
  EXPECT_LE(filter.count, 60);
  EXPECT_THAT(plan.stages, SizeIs(2));
  EXPECT_THAT(plan.notes, IsEmpty());
  const core::timeline& timeline = facts.captures[0].timeline;
  std::set<std::string> stages;
  for (const core::kernel_execution* launch : counted_launches(timeline, filter)) {
    for (const core::range_record& range : timeline.ranges) {
      const bool is_stage = range.name == "prefill" || range.name == "decode_all";
      if (is_stage && launch->launched_ns >= range.start_ns && launch->launched_ns < *range.end_ns)
        stages.emplace(range.name);
    }
  }
  EXPECT_THAT(stages, ElementsAre("decode_all", "prefill")) << "one window has launches of both";
  analysis::run_facts untraced = facts;
  untraced.captures.clear();
  untraced.captures_absent_reason = "timeline=none was asked for";
  const counter_plan blind = plan_counters(ungated, untraced, analysis::analyze_run(untraced));
  EXPECT_THAT(blind.sessions[0].filter.kernel_names, IsEmpty());
  EXPECT_EQ(blind.sessions[0].filter.count, 60);
  EXPECT_THAT(blind.notes, Contains(HasSubstr("the first 60 launches of the program")));
}

/// PyTorch's steps, eager, recorded by nsys: a decode step comes twelve times, the prefill once or twice.
TEST(counter_plan, gives_both_stages_of_a_foreign_program_launches_though_there_is_room_for_few) {
  const config::resolved config = config::parse_resolved(
      "workload:\n  device: cuda\n  nvtx_domain: any\n  stages: [prefill, decode]\nncu:\n  gating_nvtx: "
      "false\n  "
      "windows: 1\n  launches_per_kernel: 1\n  max_launches: 30\n",
      "config.yaml");
  analysis::run_facts facts = recorded_run();
  facts.nvtx_domain = "any";
  facts.bare.stages = {"prefill", "decode"};
  facts.captures[0].timeline =
      runs::read_stages({recordings / "pytorch-2.11" / "llama_steps.sqlite"}, config);
  const counter_plan plan = plan_counters(config, facts, analysis::analyze_run(facts));
  ASSERT_THAT(plan.sessions, SizeIs(1));
  std::map<std::string, int> launches;
  const core::timeline& timeline = facts.captures[0].timeline;
  for (const core::kernel_execution* launch : counted_launches(timeline, plan.sessions[0].filter)) {
    for (const core::range_record& range : timeline.ranges) {
      const bool is_stage = range.name == "prefill" || range.name == "decode";
      if (is_stage && launch->launched_ns >= range.start_ns && launch->launched_ns < *range.end_ns)
        launches[std::string(range.name)] += 1;
    }
  }
  EXPECT_GE(launches["prefill"], 5);
  EXPECT_GE(launches["decode"], 5);
}

/// An unedited program in which the adapter opened ranges around the modules: what is launched between its
/// steps is nobody's, and would only shift the window.
TEST(counter_plan, counts_inside_of_an_adapters_ranges) {
  const std::string stages =
      "  adapter: pytorch\n  stages:\n    - {name: prefill, domain: LLM}\n    - {name: decode_all, domain: "
      "LLM}\n";
  const std::string rest =
      "ncu:\n  gating_nvtx: false\n  windows: 1\n  launches_per_kernel: 1\n  max_launches: 20\n";
  const auto planned = [&](const std::string& workload) {
    const config::resolved config = config::parse_resolved(
        "workload:\n  device: cuda\n  nvtx_domain: any\n" + workload + rest, "config.yaml");
    analysis::run_facts facts = recorded_run();
    facts.nvtx_domain = "any";
    facts.bare.stages = {"prefill", "decode_all"};
    facts.captures[0].timeline =
        runs::read_stages({recordings / "pytorch-2.11" / "adapter_graph.sqlite"}, config);
    return plan_counters(config, facts, analysis::analyze_run(facts)).sessions.at(0).filter;
  };
  EXPECT_THAT(planned(stages).nvtx_include, ElementsAre("LLM@prefill/", "LLM@decode_step/"));
  EXPECT_THAT(planned(stages).kernel_names, Not(IsEmpty()));
  const std::string anywhere = "  stages:\n    - {name: prefill, range: 'prefill|x'}\n    - decode_all\n";
  EXPECT_THAT(planned(anywhere).nvtx_include, IsEmpty());
}

/// The same program compiled: what its compiler tries in the first step comes another number of times under
/// ncu, so the window must not depend on it.
TEST(counter_plan, skips_no_launches_that_a_compiler_tries) {
  const config::resolved config = config::parse_resolved(
      "workload:\n  device: cuda\n  nvtx_domain: any\n  adapter: pytorch\n  stages:\n    - {name: prefill, "
      "domain: "
      "LLM}\n    - {name: decode_all, domain: LLM}\nncu:\n  gating_nvtx: false\n  max_launches: 20\n",
      "config.yaml");
  const auto planned = [&](int tries) {
    analysis::run_facts facts = recorded_run();
    facts.nvtx_domain = "any";
    core::timeline& timeline = facts.captures[0].timeline;
    timeline = runs::read_stages({recordings / "pytorch-2.11" / "adapter_compiled.sqlite"}, config);
    const auto first = std::find_if(timeline.kernels.begin(), timeline.kernels.end(), [](const auto& kernel) {
      return kernel.shape->name == "triton_red_fused_embedding_native_layer_norm_0";
    });
    const core::kernel_execution tried = *first;
    for (int i = 0; i < tries; ++i) timeline.kernels.push_back(tried);
    return plan_counters(config, facts, analysis::analyze_run(facts));
  };
  const counter_plan few = planned(100);
  const counter_plan many = planned(1000);
  EXPECT_THAT(many.notes, Contains(HasSubstr("as a compiler does that tunes")));
  EXPECT_EQ(few.sessions.at(0).filter.skip, many.sessions.at(0).filter.skip);
  EXPECT_EQ(few.sessions.at(0).filter.kernel_names, many.sessions.at(0).filter.kernel_names);
  EXPECT_THAT(planned(0).notes, IsEmpty());
}

TEST(counter_plan, takes_filters_of_stages_only) {
  const analysis::run_facts facts = recorded_run();
  const analysis::run_figures figures = analysis::analyze_run(facts);
  const counter_plan plan =
      plan_counters(config_of("ncu:\n  nvtx_include: ['LLM@decode_all/*/attn.core/']\n"), facts, figures);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("prefill: no counters")));
  for (const profilers::counter_session& session : plan.sessions) {
    EXPECT_THAT(session.filter.nvtx_include, ElementsAre("LLM@decode_all/*/attn.core/"));
  }
  EXPECT_THROW(plan_counters(config_of("ncu:\n  nvtx_include: [LLM@decode/]\n"), facts, figures),
               core::bad_input);
}

/// Changes the names of a timeline's kernels.
template <typename callable>
void rename(core::timeline& timeline, callable change) {
  for (core::kernel_execution& kernel : timeline.kernels) {
    core::kernel_shape shape = *kernel.shape;
    change(shape);
    kernel.shape = timeline.shapes.keep(shape);
  }
}

TEST(counter_plan, falls_back_to_demangled_names_and_leaves_out_what_no_command_can_hold) {
  analysis::run_facts facts = recorded_run();
  core::timeline& timeline = facts.captures[0].timeline;
  rename(timeline, [](core::kernel_shape& shape) { shape.mangled_name = {}; });
  counter_plan plan = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  EXPECT_EQ(plan.sessions[0].filter.base, profilers::kernel_name_base::demangled);
  EXPECT_THAT(plan.sessions[0].filter.kernel_names, Each(HasSubstr("profgate::llm::cuda::")));
  const std::string endless(200'000, 'k');
  rename(timeline, [&](core::kernel_shape& shape) { shape.name = endless; });
  plan = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("too long for one command")));
  EXPECT_THAT(plan.stages[0].seeding_reason, HasSubstr("too long for one command"));
  EXPECT_THAT(plan.sessions[0].filter.kernel_names, IsEmpty());
  EXPECT_EQ(plan.sessions[0].filter.skip, 0) << "the stage's first launches";
}

TEST(counter_plan, skips_only_launches_that_the_filter_by_name_lets_through) {
  analysis::run_facts facts = recorded_run();
  const counter_plan whole = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  const std::vector<core::kernel_group>& chosen = whole.stages[0].selection.groups;
  const auto second = std::find_if(chosen.begin(), chosen.end(), [&](const core::kernel_group& group) {
    return group.kernel_name != chosen.front().kernel_name;
  });
  ASSERT_NE(second, chosen.end());
  const std::string endless(200'000, 'k');
  rename(facts.captures[0].timeline, [&](core::kernel_shape& shape) {
    shape.mangled_name = {};
    if (shape.name == second->kernel_name) shape.name = endless;
  });

  const counter_plan plan = plan_counters(config_of(), facts, analysis::analyze_run(facts));
  const analysis::kernel_selection& selection = plan.stages[0].selection;
  EXPECT_THAT(plan.notes, Contains(HasSubstr("decode_all: kernel names too long for one command")));
  EXPECT_LT(selection.share_ratio(), whole.stages[0].selection.share_ratio());
  const std::vector<std::string>& names = plan.sessions[0].filter.kernel_names;
  EXPECT_THAT(names, ElementsAre(chosen.front().kernel_name));
  for (const core::kernel_group& group : selection.groups) EXPECT_THAT(names, Contains(group.kernel_name));

  const analysis::launch_order order = analysis::order_of_launches(facts.captures, "decode_all", "LLM");
  std::vector<analysis::launch_configuration> let_through;
  for (const std::uint32_t launch : order.launches) {
    if (order.configurations[launch].kernel_name == names.front())
      let_through.push_back(order.configurations[launch]);
  }
  const core::kernel_group& largest = selection.groups.front();
  for (const profilers::counter_session& session : plan.sessions) {
    if (session.what != "decode_all") continue;
    const auto start = static_cast<std::size_t>(session.filter.skip);
    const auto end = start + static_cast<std::size_t>(session.filter.count);
    ASSERT_LE(end, let_through.size());
    const bool is_counted =
        std::any_of(let_through.begin() + static_cast<std::ptrdiff_t>(start),
                    let_through.begin() + static_cast<std::ptrdiff_t>(end),
                    [&](const analysis::launch_configuration& shape) { return shape.grid == largest.grid; });
    EXPECT_TRUE(is_counted) << "skip " << start << " of " << let_through.size();
  }
}

TEST(start_plan, starts_a_foreign_program_three_times_and_ours_once_for_all_stages) {
  const auto starts = [](const std::string& yaml, bool keeps_contract) {
    const start_plan plan = plan_starts(config_of(yaml), keeps_contract);
    return std::vector<std::int64_t>{plan.timed, plan.traced, plan.counted};
  };
  EXPECT_THAT(starts("workload:\n  device: cuda\n  stages: [a, b, c]\nnsys:\n  gating_nvtx: false\nncu:\n  "
                     "gating_nvtx: false\n  windows: 1\nstage1:\n  repetitions: 1\n  warmup: 0\n",
                     false),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(starts("workload:\n  device: cuda\n  profile_range: generate\n", true), ElementsAre(1, 1, 4));
  EXPECT_THAT(starts("workload:\n  device: cuda\n", true), ElementsAre(1, 2, 4));
  EXPECT_THAT(starts("workload:\n  device: cpu\ntimeline: none\n", true), ElementsAre(1, 0, 0));
  EXPECT_EQ(describe({1, 0, 0}).substr(0, 26), "the program starts 1 time:");
}

core::workload_result result_with(std::int64_t weights, std::int64_t cache) {
  core::workload_result result;
  result.weight_bytes = weights;
  result.kv_cache_bytes = cache;
  return result;
}

TEST(memory_plan, says_nothing_below_45_percent) {
  EXPECT_EQ(plan_memory(config_of(), result_with(30, 10), 100).note, "");
  EXPECT_EQ(plan_memory(config_of(), std::nullopt, 100).note, "");
  EXPECT_EQ(plan_memory(config_of(), result_with(90, 0), std::nullopt).note, "");
}

TEST(memory_plan, warns_of_the_cost_or_shortens_the_prompt) {
  const memory_plan warned = plan_memory(config_of(), result_with(40, 20), 100);
  EXPECT_THAT(warned.note, HasSubstr("the workload fills 60 %"));
  EXPECT_THAT(warned.note, HasSubstr("12 s a launch"));
  EXPECT_FALSE(warned.prompt_tokens);
  const std::string reducible =
      "workload:\n  prompt_tokens: 900\n  decode_tokens: 100\nncu:\n  reduced_prompt_tokens: 100\n";
  const memory_plan reduced = plan_memory(config_of(reducible), result_with(40, 20), 100);
  EXPECT_EQ(reduced.prompt_tokens, 100);
  EXPECT_THAT(reduced.note, HasSubstr("a prompt of 100 tokens instead of 900, about 44 %"));
  EXPECT_THAT(plan_memory(config_of(reducible), result_with(60, 20), 100).note,
              HasSubstr("still more than 45 %"));
}

TEST(memory_plan, reads_the_cards_memory_from_the_provenance) {
  EXPECT_EQ(gpu_memory_bytes(R"({"gpu_at_start": {"devices": [{"memory_total_bytes": 7}]}})"), 7);
  EXPECT_EQ(gpu_memory_bytes(R"({"gpu_at_start": {"chosen_index": 1, "devices": [{"memory_total_bytes": 7},
                                                   {"memory_total_bytes": 9}]}})"),
            9);
  EXPECT_EQ(gpu_memory_bytes(R"({"gpu_at_start": {"chosen_index": 2, "devices": [{}]}})"), std::nullopt);
  EXPECT_EQ(gpu_memory_bytes(R"({"gpu_at_start": {"devices": null}})"), std::nullopt);
  EXPECT_EQ(gpu_memory_bytes("{}"), std::nullopt);
  EXPECT_EQ(gpu_memory_bytes("no JSON"), std::nullopt);
}

}  // namespace
}  // namespace profgate::cli
