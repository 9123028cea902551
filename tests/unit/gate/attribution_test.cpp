#include "gate/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "core/error.h"
#include "gate/exact_gates.h"
#include "gate/matching.h"
#include "test_categories.h"

namespace profgate::gate {
namespace {

using analysis::operation;
using analysis::sum_up;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string_view category_of(std::string_view name) {
  static core::text_pool texts;
  return texts.keep(test_categories().category_of(name, ""));
}

/// A stage on one device: kernels one after the other, `gap_ns` before each.
class stage_builder {
 public:
  stage_builder& kernel(std::string_view name, std::string_view path, std::int64_t duration_ns,
                        std::int64_t gap_ns = 1000) {
    m_now_ns += gap_ns;
    operation one;
    one.name = name;
    one.path = path;
    one.category = category_of(name);
    one.start_ns = m_now_ns;
    one.end_ns = m_now_ns += duration_ns;
    m_trace.operations.push_back(one);
    return *this;
  }
  stage_builder& copy(std::int64_t duration_ns, std::int64_t gap_ns) {
    kernel("copy device to host", "sample", duration_ns, gap_ns);
    m_trace.operations.back().is_copy = true;
    return *this;
  }
  stage_builder& beside(std::string_view name, std::string_view path, std::int64_t start_ns,
                        std::int64_t end_ns) {
    operation one;
    one.name = name;
    one.path = path;
    one.category = category_of(name);
    one.stream = 2;
    one.start_ns = start_ns;
    one.end_ns = end_ns;
    m_trace.operations.push_back(one);
    m_now_ns = std::max(m_now_ns, end_ns);
    return *this;
  }
  stage_builder& wait(std::int64_t start_ns, std::int64_t end_ns) {
    m_trace.waits.push_back({start_ns, end_ns});
    return *this;
  }
  analysis::stage_trace end(std::int64_t tail_ns = 500) {
    m_trace.end_ns = m_now_ns + tail_ns;
    return m_trace;
  }

 private:
  analysis::stage_trace m_trace;
  std::int64_t m_now_ns = 0;
};

double sum_of(const attribution& result) {
  return std::accumulate(result.causes.begin(), result.causes.end(), 0.0,
                         [](double sum, const cause& part) { return sum + part.delta_ns; });
}

const cause* find(const attribution& result, cause_kind kind, std::string_view name) {
  for (const cause& part : result.causes) {
    if (part.kind == kind && part.name == name) return &part;
  }
  return nullptr;
}

/// The parts add up to the difference of the stage's times, which are known here.
void expect_exact(const attribution& result, double difference_ns) {
  EXPECT_DOUBLE_EQ(result.difference_ns, difference_ns);
  EXPECT_NEAR(sum_of(result), difference_ns, 0.01);
  EXPECT_NEAR(result.residual_ns, 0, 0.001);
}

TEST(attribute, finds_nothing_between_equals) {
  const analysis::stage_trace stage = stage_builder().kernel("a", "x", 5000).kernel("b", "y", 700).end();
  const attribution result = attribute({stage, stage}, {stage});
  expect_exact(result, 0);
  EXPECT_TRUE(result.causes.empty());
}

TEST(attribute, tells_slower_from_more_often) {
  const auto before =
      stage_builder().kernel("a", "x", 5000).kernel("a", "x", 5000).kernel("b", "y", 700).end();
  const auto after = stage_builder()
                         .kernel("a", "x", 6000)
                         .kernel("a", "x", 6000)
                         .kernel("a", "x", 6000)
                         .kernel("b", "y", 700)
                         .end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 9000);  // 8000 of kernels, 1000 of one more gap
  ASSERT_EQ(result.causes.size(), 1U) << "one story: more often and slower, with the gap before it";
  EXPECT_EQ(to_text(result.causes.front()),
            "+9.00 µs: a in x is launched more often: 2 → 3 times: 1 more, about 9.00 µs each");
}

TEST(cause_text, has_units_in_which_three_or_four_digits_do) {
  EXPECT_EQ(times_text(7730, 8960), "7.73 → 8.96 µs");
  EXPECT_EQ(times_text(33'260, 33'270), "33.26 → 33.27 µs") << "two that are nearly the same";
  EXPECT_EQ(times_text(403'400, 9'588'700), "403 µs → 9.59 ms");
  EXPECT_EQ(times_text(2.1e9, 0.9e9), "2.10 → 0.90 s");
  EXPECT_EQ(times_text(120'000, 99'000), "120.0 → 99.0 µs");
  EXPECT_EQ(times_text(300, 40), "300 ns → 40.0 ns");
  EXPECT_EQ(times_text(0, 1e6), "0 ns → 1.00 ms");
}

TEST(cause_text, says_what_further_launches_take_where_the_mean_grew_with_them) {
  cause copies;
  copies.kind = cause_kind::launches;
  copies.baseline_launches = 256;
  copies.candidate_launches = 380;
  copies.baseline_each_ns = 2600;
  copies.candidate_each_ns = 14'770;
  EXPECT_EQ(launches_text(copies), "256 → 380 times: 124 more, about 39.9 µs each");
  copies.candidate_each_ns = 2700;
  EXPECT_EQ(launches_text(copies), "256 → 380 times, 2.60 → 2.70 µs each") << "they are alike";
  copies.candidate_each_ns = 2605;
  EXPECT_EQ(launches_text(copies), "256 → 380 times, 2.60 µs each");
  copies.candidate_each_ns = 1000;
  EXPECT_EQ(launches_text(copies), "256 → 380 times, 2.60 → 1.00 µs each");
  std::swap(copies.baseline_launches, copies.candidate_launches);
  EXPECT_EQ(launches_text(copies), "380 → 256 times: 124 fewer, about 5.90 µs each");
}

TEST(attribute, calls_no_two_kernels_alike) {
  const auto stage = [](std::int64_t one_ns, std::int64_t other_ns) {
    return stage_builder()
        .kernel("void a::f<int>(x)", "x", one_ns)
        .kernel("void b::f<int>(x)", "y", other_ns)
        .end();
  };
  const attribution result = attribute({stage(5000, 6000)}, {stage(7000, 9000)});
  ASSERT_EQ(result.causes.size(), 2U);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr(": b::f<int> in y is slower"));
  EXPECT_THAT(to_text(result.causes[1]), HasSubstr(": a::f<int> in x is slower"));
}

TEST(attribute, names_an_injected_kernel_first) {
  const auto before = stage_builder().kernel("gemv", "attn.qkv", 50'000).kernel("norm", "norm", 3000).end();
  const auto after = stage_builder()
                         .kernel("gemv", "attn.qkv", 50'400)
                         .kernel("spin", "norm", 4000)
                         .kernel("norm", "norm", 2900)
                         .end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 400 + 4000 - 100 + 1000);
  const std::vector<cause> leading = leading_causes(result, 3);
  ASSERT_EQ(leading.size(), 2U);
  EXPECT_EQ(leading[0].kind, cause_kind::new_operation);
  EXPECT_EQ(leading[0].name, "spin");
  EXPECT_EQ(leading[0].path, "norm");
  EXPECT_EQ(to_text(leading[0]), "+4.90 µs: spin in norm is new: 1 launch, 5.00 µs each")
      << "less what the norm after it costs less";
}

TEST(cause_text, names_a_module_once_though_its_path_holds_those_around_it) {
  cause softmax;
  softmax.kind = cause_kind::new_operation;
  softmax.delta_ns = softmax.traced_delta_ns = 1.9e6;
  softmax.name = softmax.short_name = "softmax";
  softmax.candidate_launches = 1;
  softmax.candidate_each_ns = 1.9e6;
  const auto text = [&](const std::string& path) {
    softmax.path = path;
    return to_text(softmax);
  };
  const std::string end = " is new: 1 launch, 1.90 ms each";
  EXPECT_EQ(text("model/model.layers.*/model.layers.*.attn"),
            "+1.90 ms: softmax in model.layers.*.attn" + end);
  EXPECT_EQ(text("step/model.a/model.ab"), "+1.90 ms: softmax in step/model.a/model.ab" + end);
  EXPECT_EQ(text("a/"), "+1.90 ms: softmax in a" + end);
  EXPECT_EQ(text(""), "+1.90 ms: softmax" + end);
}

TEST(attribute, matches_renamed_kernels_by_their_normalised_name) {
  const auto before = stage_builder().kernel("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "mlp", 9000).end();
  const auto after = stage_builder().kernel("nvjet_sm90_tst_128x8_64x12_1x1_h_bz_NNT", "mlp", 9900).end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 900);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].match, matched_by::normalised_name);
  EXPECT_EQ(result.causes[0].baseline_name, "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT");
}

TEST(attribute, another_kernel_of_the_librarys_is_another_kernel_whatever_its_normalised_name) {
  const auto changes_of = [](std::string_view was, std::string_view is) {
    const auto before = stage_builder().kernel(was, "mlp", 9000).end();
    return attribute({before}, {stage_builder().kernel(is, "mlp", 9900).end()}).causes.at(0).changes;
  };
  EXPECT_THAT(changes_of("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "nvjet_sm90_tst_128x8_64x12_1x1_h_bz_NNT"),
              ElementsAre("other kernel"));
  EXPECT_THAT(changes_of("f(float*)::{lambda()#1}", "f(float*)::{lambda()#2}"), IsEmpty())
      << "the compiler counts its lambdas";
}

TEST(attribute, follows_a_kernel_to_another_operator) {
  const auto before = stage_builder().kernel("f", "old.name", 9000).end();
  const auto after = stage_builder().kernel("f", "new.name", 9000).end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 0);
  EXPECT_TRUE(result.causes.empty());
}

TEST(attribute, matches_split_and_fused_kernels_by_place_and_kind) {
  const auto whole = stage_builder().kernel("fused_rms_norm_rope_x", "attn", 9000).end();
  const auto parts = stage_builder().kernel("rms_norm_y", "attn", 5000).kernel("rope_z", "attn", 5000).end();
  const attribution split = attribute({whole}, {parts});
  expect_exact(split, 2000);
  ASSERT_EQ(split.causes.size(), 1U);
  EXPECT_EQ(
      to_text(split.causes[0]),
      "+2.00 µs: fused_rms_norm_rope_x is split into rms_norm_y and 1 more in attn: 1 launch, 10.0 µs → 2 "
      "launches, 12.0 µs");

  const attribution fused = attribute({parts}, {whole});
  expect_exact(fused, -2000);
  EXPECT_DOUBLE_EQ(sum_of(fused), -sum_of(split));
  ASSERT_EQ(fused.causes.size(), 1U);
  EXPECT_EQ(
      to_text(fused.causes[0]),
      "−2.00 µs: rms_norm_y and 1 more are fused into fused_rms_norm_rope_x in attn: 2 launches, 12.0 µs "
      "→ 1 launch, 10.0 µs");

  const auto twice = stage_builder()
                         .kernel("rms_norm_y", "attn", 5000)
                         .kernel("rms_norm_y", "attn", 5000)
                         .kernel("rope_z", "attn", 5000)
                         .end();
  EXPECT_THAT(to_text(attribute({whole}, {twice}).causes.at(0)),
              HasSubstr("rms_norm_y and 1 more replaced fused_rms_norm_rope_x"))
      << "it was not launched as often as each of the two";
  const auto many = stage_builder()
                        .kernel("rms_norm_y", "attn", 5000)
                        .kernel("rope_z", "attn", 2000)
                        .kernel("gather_u", "attn", 2000)
                        .kernel("reduce_v", "attn", 2000)
                        .end();
  EXPECT_THAT(to_text(attribute({whole}, {many}).causes.at(0)),
              HasSubstr("rms_norm_y and 3 more replaced fused_rms_norm_rope_x"));
}

TEST(attribute, aligns_leftovers_of_one_operator_by_launch_order) {
  const auto before = stage_builder().kernel("first_norm", "n", 1000).kernel("second_norm", "n", 2000).end();
  const auto after = stage_builder().kernel("x_norm", "n", 1100).kernel("a_norm", "n", 2200).end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 300);
  EXPECT_EQ(find(result, cause_kind::duration, "x_norm")->baseline_name, "first_norm");
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "x_norm")->delta_ns, 100);
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "a_norm")->delta_ns, 200);
  EXPECT_EQ(find(result, cause_kind::duration, "a_norm")->match, matched_by::launch_order);
}

TEST(match_groups, ranges_of_the_host_are_renamed_only_where_they_open_as_often) {
  const auto range = [](const char* name, double openings) {
    return operation_group{
        .name = name, .path = "decode_step", .category = "host", .launches_each = openings};
  };
  const group_matches renamed = match_groups({range("attn.rope", 48)}, {range("attn.rotary", 48)});
  ASSERT_EQ(renamed.matched.size(), 1U);
  EXPECT_EQ(renamed.matched[0].rule, matched_by::launch_order);
  const group_matches others = match_groups({range("attn.rope", 48)}, {range("logits.penalty", 16)});
  EXPECT_TRUE(others.matched.empty());
  ASSERT_EQ(others.gone.size(), 1U);
  EXPECT_EQ(others.gone[0].name, "attn.rope");
  EXPECT_EQ(others.added[0].name, "logits.penalty");
}

TEST(cause_text, says_that_a_library_chose_where_several_kernels_took_the_place_of_one) {
  const std::string split_k = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT";
  const std::string whole = "nvjet_sm90_tst_128x8_64x12_1x1_h_bz_TNT";
  const auto before = stage_builder().kernel(whole, "mlp.down", 9000).end();
  const auto after = stage_builder()
                         .kernel(split_k, "mlp.down", 9500)
                         .kernel("void cublasLt::splitKreduce_kernel<(int)32>(T6)", "mlp.down", 3000)
                         .end();
  const attribution result = attribute({before}, {after});
  ASSERT_EQ(result.causes.size(), 1U);
  ASSERT_EQ(result.causes[0].kind, cause_kind::replaced);
  EXPECT_THAT(to_text(result.causes[0]),
              HasSubstr(split_k + " and 1 more replaced " + whole +
                        " (cuBLASLt chose another kernel) in mlp.down: 1 launch, "));
}

TEST(cause_text, calls_a_programs_own_kernels_no_choice_of_a_library) {
  cause own;
  own.name = "void flash_fwd_splitkv_kernel<traits<64, cutlass::bfloat16_t>>(Flash_fwd_params)";
  own.baseline_name = "void flash_fwd_kernel<traits<128, cutlass::bfloat16_t>>(Flash_fwd_params)";
  own.path = "attn.core";
  std::vector<cause> causes{own};
  name_causes(causes);
  EXPECT_FALSE(is_other_choice(causes[0]));
  EXPECT_THAT(to_text(causes[0]), HasSubstr("which was flash_fwd_kernel<"));
  EXPECT_THAT(to_text(causes[0]), testing::Not(HasSubstr("chose")));
  causes[0].name = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_a";
  causes[0].baseline_name = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_b";
  EXPECT_THAT(to_text(causes[0]), HasSubstr(" (cuDNN chose another kernel), in attn.core"));
}

TEST(attribute, sees_an_own_kernel_replaced_by_the_librarys) {
  const auto before = stage_builder().kernel("void v::gemv<bf16>(v::a)", "mlp.down", 9000).end();
  const auto after = stage_builder().kernel("nvjet_sm90_tst_64x8_64x16_1x1_h_bz_TNT", "mlp.down", 9500).end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 500);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].kind, cause_kind::duration);
  EXPECT_EQ(result.causes[0].match, matched_by::launch_order);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("which was gemv<bf16>,"));
}

TEST(attribute, kernels_of_other_operators_are_not_taken_for_each_other) {
  const auto before = stage_builder().kernel("one_norm", "a", 1000).end();
  const auto after = stage_builder().kernel("two_norm", "b", 900).end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, -100);
  EXPECT_NE(find(result, cause_kind::gone_operation, "one_norm"), nullptr);
  EXPECT_NE(find(result, cause_kind::new_operation, "two_norm"), nullptr);
}

TEST(attribute, says_where_a_kernel_was_before) {
  const auto before = stage_builder().kernel("f", "old.name", 9000).end();
  const auto after = stage_builder().kernel("f", "new.name", 9900).end();
  const attribution result = attribute({before}, {after});
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("f in new.name, formerly in old.name, is slower"));
}

TEST(attribute, shares_each_instant_among_what_runs_at_once) {
  // a 1000–11000 alone till 5000, with b till 9000, alone again: a 8000, b 2000
  const auto both = stage_builder().kernel("a", "x", 10'000).beside("b", "y", 5000, 9000).end();
  const auto apart = stage_builder().kernel("a", "x", 10'000).beside("b", "y", 11'000, 15'000).end();
  const attribution result = attribute({both}, {apart});
  expect_exact(result, 4000);
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "a")->baseline_each_ns, 8000 + 1000) << "its gap, too";
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "b")->delta_ns, 2000);
  EXPECT_DOUBLE_EQ(result.busy_difference_ns, 4000);
  EXPECT_DOUBLE_EQ(result.idle_difference_ns, 0);
}

TEST(attribute, splits_idle_time_by_what_comes_next) {
  const auto before =
      stage_builder().kernel("a", "x", 5000, 1000).kernel("b", "x", 1000, 500).copy(700, 400).end(300);
  const auto after = stage_builder()
                         .kernel("a", "x", 5000, 1500)
                         .wait(6500, 8000)  // the host waits while the device has nothing to do
                         .kernel("b", "x", 1000, 2500)
                         .copy(700, 1000)
                         .end(350);
  const attribution result = attribute({before}, {after});
  expect_exact(result, 500 + 2000 + 600 + 50);
  // What an operation that was asked for waits is its own: nothing else is the reason.
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "a")->delta_ns, 500);
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "b")->delta_ns, 500);  // 2500 − 1500 of waiting − 500
  EXPECT_DOUBLE_EQ(find(result, cause_kind::idle, "synchronisation")->delta_ns, 1500 + 50);  // and the tail
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "copy device to host")->delta_ns, 600);
}

TEST(attribute, tells_a_host_that_is_late_from_one_that_waits_and_says_where_it_was) {
  const auto stage = [](std::int64_t late_ns, std::int64_t waits_ns) {
    analysis::stage_trace trace = stage_builder()
                                      .kernel("a", "x", 5000)
                                      .wait(6000, 6000 + waits_ns)
                                      .kernel("b", "x", 1000, 1000 + late_ns + waits_ns)
                                      .end();
    trace.waits.back().call = "cudaStreamSynchronize";
    trace.waits.back().host_range = "decode_step";
    trace.operations[0].launched_ns = 1;
    trace.operations[1].launched_ns = 6000 + late_ns + waits_ns;
    trace.operations[1].host_range = "sample";
    return trace;
  };
  const attribution result = attribute({stage(0, 0)}, {stage(300, 2000)});
  expect_exact(result, 2300);
  ASSERT_EQ(result.causes.size(), 2U);
  EXPECT_EQ(
      to_text(result.causes[0]),
      "+2.00 µs: longer idle: the host waits in cudaStreamSynchronize (in decode_step): 0.50 → 2.50 µs");
  EXPECT_EQ(to_text(result.causes[1]),
            "+300 ns: longer idle: host work in sample after cudaStreamSynchronize: 1.00 ns → 301 ns");
}

TEST(attribute, a_host_that_waits_more_often_is_one_cause_with_all_that_it_no_longer_hides) {
  const auto stage = [](bool waits) {
    const std::int64_t late_ns = waits ? 1000 : 0;  // of each: host work, and until its launch arrives
    stage_builder builder;
    builder.kernel("a", "x", 5000);
    if (waits) builder.wait(5500, 6200);
    analysis::stage_trace trace =
        builder.kernel("b", "x", 1000, 700 + late_ns).kernel("c", "x", 1000, 500 + 2 * late_ns).end();
    if (waits) trace.waits.back().call = "cudaStreamSynchronize";
    for (analysis::operation& one : trace.operations)
      one.launched_ns = waits ? std::max<std::int64_t>(1, one.start_ns - 400) : 1;
    return sum_up({trace});
  };
  exact_comparison exact;
  exact.changes = {{exact_kind::synchronisations, "cudaStreamSynchronize", "0", "1", false, {}}};
  const attribution result = attribute({stage(false)}, {stage(true)}, std::nullopt, &exact);
  expect_exact(result, 3000);
  ASSERT_EQ(result.causes.size(), 1U) << "kernels are no slower";
  EXPECT_EQ(result.causes[0].name, "synchronisation");
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 3000);
  EXPECT_THAT(to_text(result.causes[0]), testing::EndsWith("; cudaStreamSynchronize: calls 0 → 1"));
  exact.changes = {{exact_kind::synchronisations, "cudaStreamSynchronize", "2", "1", false, {}}};
  EXPECT_GT(attribute({stage(false)}, {stage(true)}, std::nullopt, &exact).causes.size(), 1U)
      << "it waits less often: that explains nothing";
}

TEST(attribute, a_wait_that_took_the_place_of_another_is_none_more) {
  const auto stage = [](std::int64_t host_ns) {
    analysis::stage_trace trace =
        stage_builder().kernel("a", "x", 5000).wait(6000, 6200).kernel("b", "x", 1000, 1200 + host_ns).end();
    trace.operations[0].launched_ns = 1;
    trace.operations[1].launched_ns = 6200 + host_ns;
    return sum_up({trace});
  };
  exact_comparison exact;
  exact.changes = {{exact_kind::synchronisations, "cudaDeviceSynchronize", "1", "0", false, {}},
                   {exact_kind::synchronisations, "cudaStreamSynchronize", "0", "1", false, {}}};
  const attribution result = attribute({stage(0)}, {stage(3000)}, std::nullopt, &exact);
  expect_exact(result, 3000);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].name, "host") << to_text(result.causes[0]);
}

/// Of an eager program: the device has nothing to do until the host asks for the next kernel.
analysis::stage_operations run_dry(std::int64_t host_ns, std::int64_t latency_ns) {
  stage_builder builder;
  std::vector<std::int64_t> asked_ns;
  std::int64_t now_ns = 0;
  for (const char* name : {"gemm", "softmax"}) {
    builder.kernel(name, "attn", 5000, host_ns + latency_ns);
    asked_ns.push_back(now_ns + host_ns);
    now_ns += host_ns + latency_ns + 5000;
  }
  analysis::stage_trace trace = builder.end();
  for (std::size_t i = 0; i < asked_ns.size(); ++i) {
    trace.operations[i].launched_ns = asked_ns[i];
    trace.operations[i].host_range = "attn";
  }
  return sum_up({trace});
}

TEST(attribute, what_a_launch_takes_is_not_the_kernels) {
  const attribution result = attribute({run_dry(2000, 3000)}, {run_dry(2000, 9000)});
  expect_exact(result, 12'000);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(to_text(result.causes[0]),
            "+12.0 µs: longer idle: waiting for a launch in attn: 6.00 → 18.00 µs");
}

TEST(attribute, a_device_that_runs_dry_waits_for_launches_too) {
  // In the baseline the host is ahead: the kernels follow each other.
  const auto ahead =
      sum_up({stage_builder().kernel("gemm", "attn", 5000).kernel("softmax", "attn", 5000).end()});
  const attribution result = attribute({ahead}, {run_dry(20'000, 4000)});
  ASSERT_EQ(result.causes.size(), 1U) << "and the kernels' own 1 µs between them stays theirs";
  EXPECT_EQ(result.causes[0].name, "host");
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, result.difference_ns);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("; with it the wait for each launch: 0 ns → 6.00 µs"));
}

TEST(attribute, run_sets_that_do_not_tell_of_launches_are_judged_as_ever) {
  analysis::stage_operations older = run_dry(2000, 3000);
  for (analysis::operation_sum& one : older.operations) one.latency_ns = one.early_launches = std::nullopt;
  const attribution result = attribute({older}, {run_dry(2000, 9000)});
  expect_exact(result, 12'000);
  EXPECT_EQ(result.causes.size(), 2U) << "a wait is its kernel's";
}

/// "b" starts before "a" ends, where it may.
analysis::stage_operations overlapped(bool may_overlap, bool has_clip, std::int64_t b_ns = 3000) {
  stage_builder builder;
  builder.kernel("a_gemv", "qkv", 6000);
  if (has_clip) builder.kernel("clip", "act", 1000);
  builder.kernel("b_gemv", "mlp", b_ns, may_overlap ? -500 : 1000);
  return sum_up({builder.kernel("c_gemv", "out", 2000).end()});
}

TEST(attribute, a_kernel_that_no_longer_starts_early_has_changed) {
  const attribution result = attribute({overlapped(true, false)}, {overlapped(false, false)});
  expect_exact(result, 1500);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].name, "b_gemv");
  EXPECT_THAT(result.causes[0].changes, ElementsAre("early launch"));
  EXPECT_THAT(to_text(result.causes[0]),
              HasSubstr("; it no longer starts before the kernel ahead of it ends"));
  EXPECT_THAT(attribute({overlapped(false, false)}, {overlapped(true, false)}).causes[0].evidence,
              ElementsAre(HasSubstr("it starts before the kernel ahead of it ends")));
}

TEST(attribute, a_kernel_that_waits_for_a_new_one_follows_from_it) {
  const attribution result = attribute({overlapped(true, false)}, {overlapped(false, true)});
  expect_exact(result, 1500 + 2000);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].name, "clip");
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 3500);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("; with the 1.50 µs by which mlp cost more beside it"));
}

TEST(attribute, a_new_kernel_is_not_hidden_by_one_that_has_another_name) {
  const auto before =
      stage_builder().kernel("split_attention", "attn", 5000).kernel("gemv", "mlp", 900).end();
  const auto after = stage_builder()
                         .kernel("attention_of_split", "attn", 5010)
                         .kernel("clip_rows", "attn", 2000)
                         .kernel("gemv", "mlp", 900)
                         .end();
  const attribution result = attribute({before}, {after});
  expect_exact(result, 3010);
  EXPECT_EQ(result.causes.at(0).kind, cause_kind::new_operation);
  EXPECT_EQ(result.causes[0].name, "clip_rows");
}

TEST(attribute, without_operators_what_replaces_another_is_in_its_place) {
  const auto stage = [](const std::vector<const char*>& names) {
    stage_builder builder;
    const std::map<std::string_view, std::int64_t> others_ns{{"zz_rows", 9000}, {"softmax", 5000}};
    for (const char* name : names)
      builder.kernel(name, "", others_ns.contains(name) ? others_ns.at(name) : 3000);
    return builder.end();
  };
  const attribution result =
      attribute({stage({"a_gemm", "flash_fwd", "b_gemm", "c_gemm"})},
                {stage({"a_gemm", "softmax", "masked", "b_gemm", "c_gemm", "zz_rows"})});
  ASSERT_EQ(result.causes.size(), 2U);
  EXPECT_EQ(result.causes[0].name, "zz_rows");
  EXPECT_EQ(result.causes[0].kind, cause_kind::new_operation);
  EXPECT_EQ(result.causes[1].kind, cause_kind::replaced) << to_text(result.causes[1]);
  EXPECT_EQ(result.causes[1].baseline_name, "flash_fwd");
}

TEST(attribute, tells_copies_from_kernels_that_copy) {
  const auto stage = [](std::int64_t gap_ns) {
    analysis::stage_trace trace = stage_builder().kernel("copy_kernel", "x", 5000, gap_ns).end();
    trace.operations[0].category = "copy";
    return trace;
  };
  const attribution result = attribute({stage(100)}, {stage(700)});
  expect_exact(result, 600);
  EXPECT_EQ(find(result, cause_kind::idle, "copy"), nullptr) << "no copy was waited for";
}

TEST(attribute, a_stage_without_a_device_is_the_hosts) {
  analysis::stage_trace before;
  before.end_ns = 1000;
  analysis::stage_trace after;
  after.end_ns = 1300;
  const attribution result = attribute({before}, {after}, 290.0);
  EXPECT_EQ(result.difference_ns, 300);
  EXPECT_EQ(find(result, cause_kind::idle, "host")->delta_ns, 290);
  EXPECT_EQ(find(result, cause_kind::idle, "host")->traced_delta_ns, 300);
  EXPECT_EQ(result.bare_difference_ns, 290.0);
}

TEST(attribute, two_traces_that_were_disturbed_otherwise_leave_one) {
  const auto of_host = stage_builder().wait(0, 90'000).kernel("a", "x", 100'000, 90'000).end();
  const auto of_device = stage_builder().kernel("a", "x", 107'000).end();
  const auto slow = stage_builder().kernel("a", "x", 117'000).end();
  const attribution result = attribute({sum_up({of_host}), sum_up({of_device})}, {sum_up({slow})}, 10'000.0);
  ASSERT_EQ(result.causes.size(), 1U) << "the host held up the one with the least device time";
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 10'000);
}

TEST(attribute, leaves_disturbed_processes_and_occurrences_out) {
  const auto fast = stage_builder().kernel("a", "x", 5000).end();
  const auto slow = stage_builder().kernel("a", "x", 5900).end();
  const auto disturbed = stage_builder().kernel("a", "x", 99'000).end();
  const std::vector before = {sum_up({fast}), sum_up({disturbed}), sum_up({fast, disturbed})};
  const std::vector after = {sum_up({slow, disturbed}), sum_up({slow}), sum_up({slow})};
  const attribution result = attribute(before, after, 900.0);
  expect_exact(result, 900);
  EXPECT_DOUBLE_EQ(result.causes[0].baseline_launches, 1);
  EXPECT_DOUBLE_EQ(result.causes[0].baseline_each_ns, 6000);
}

TEST(attribute, leaves_out_a_process_whose_host_was_held_up) {
  const auto stage = [](std::int64_t idle_ns) {
    return sum_up({stage_builder().kernel("a", "x", 50'000, idle_ns).end()});
  };
  const attribution result =
      attribute({stage(1000), stage(30'000), stage(1100)}, {stage(4000), stage(4100), stage(4200)}, 3050.0);
  EXPECT_DOUBLE_EQ(result.difference_ns, 3050);
}

TEST(attribute, occurrences_that_most_are_unlike_stay_out) {
  const auto step = stage_builder().kernel("a", "x", 5000).kernel("a", "x", 5000).end();
  const auto capture = stage_builder().kernel("init", "x", 7000).end();
  const auto longer =
      stage_builder().kernel("a", "x", 5000).kernel("a", "x", 5000).kernel("a", "x", 5000).end();
  EXPECT_EQ(sum_up({capture, step, step}).times->occurrences, 1);
  EXPECT_EQ(sum_up({capture, step, step}).operations.at(0).launches, 2);
  EXPECT_EQ(sum_up({capture, step, longer}).operations.at(0).launches, 2) << "the median one";
  EXPECT_EQ(sum_up({step, longer}).times->occurrences, 2);
  const auto text = [](std::int64_t tokens) { return stage_builder().kernel("a", "x", 1000 * tokens).end(); };
  const analysis::stage_operations texts = sum_up({text(16), text(64), text(200), text(33)});
  EXPECT_EQ(texts.times->occurrences, 2) << "as many operations, of which the median is the mean of two";
  EXPECT_EQ(texts.times->time_ns, 33'000 + 64'000 + 2 * 1500);
}

TEST(attribute, a_tracer_that_holds_the_host_up_does_not_turn_the_signs) {
  // An eager program whose host just keeps up without a tracer: under it the device idles most of the time,
  // sometimes more and sometimes less.
  const auto stage = [](std::int64_t idle_ns, bool has_copy) {
    stage_builder builder;
    builder.kernel("gemm", "mlp", 50'000, idle_ns).kernel("attention", "attn", 9000, idle_ns);
    if (has_copy) builder.kernel("elementwise", "attn", 4000, idle_ns);
    analysis::stage_trace trace = builder.end();
    for (operation& one : trace.operations) one.launched_ns = one.start_ns;
    return trace;
  };
  const attribution result =
      attribute({sum_up({stage(200'000, false)})}, {sum_up({stage(90'000, true)})}, 4100.0);
  EXPECT_LT(result.difference_ns, 0);
  const std::vector<cause> leading = leading_causes(result, 2);
  ASSERT_FALSE(leading.empty());
  EXPECT_EQ(leading[0].name, "elementwise");
  EXPECT_NEAR(leading[0].delta_ns, 4100, 100);
  EXPECT_NEAR(result.unexplained_ns, 0, 1);
}

TEST(attribute, idle_time_is_as_long_as_without_a_tracer) {
  const auto before = stage_builder().kernel("a", "x", 50'000).end();
  auto after = stage_builder().wait(0, 3000).kernel("a", "x", 50'000, 4000).end();
  after.waits[0].call = "cudaDeviceSynchronize";
  after.operations[0].launched_ns = 3000;
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 600.0);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 600);
  EXPECT_EQ(
      to_text(result.causes[0]),
      "+600 ns: longer idle: the host waits in cudaDeviceSynchronize: 0.50 → 3.50 µs (traced: +3.00 µs)");
}

TEST(attribute, times_of_a_kernel_move_as_its_size_does) {
  // The device has 100 ns more to do for "a", and idles 1 µs less before it: the tracer's, as bare runs show.
  const auto before = stage_builder().kernel("a", "x", 50'000, 2000).kernel("b", "y", 8000).end();
  const auto after = stage_builder().kernel("a", "x", 50'100, 1000).kernel("b", "y", 12'000).end();
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 4100.0);
  ASSERT_EQ(result.causes.size(), 2U);
  EXPECT_EQ(to_text(result.causes[1]), "+100 ns: a in x is slower: 52.00 → 52.10 µs a launch, 1 launch");
  EXPECT_DOUBLE_EQ(result.difference_ns, 3100);
  EXPECT_DOUBLE_EQ(result.idle_of_tracer_ns, -1000);
  double traced_ns = 0;
  for (const cause& one : result.causes) traced_ns += one.traced_delta_ns;
  EXPECT_DOUBLE_EQ(traced_ns + result.idle_of_tracer_ns, result.difference_ns);
}

TEST(attribute, more_launches_that_cost_less_without_the_tracers_idle_time_are_not_called_less_often) {
  const auto before = stage_builder().kernel("a", "x", 5000, 100).kernel("b", "y", 8000).end();
  const auto after = stage_builder()
                         .kernel("a", "x", 2000, 3000)
                         .kernel("a", "x", 2000, 3000)
                         .kernel("b", "y", 12'000)
                         .end();
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 3000.0);
  const cause* const shorter = find(result, cause_kind::duration, "a");
  ASSERT_NE(shorter, nullptr);
  EXPECT_EQ(to_text(*shorter), "−1.00 µs: a in x is faster: 5.10 → 2.05 µs a launch, 2 launches");
}

TEST(attribute, says_how_much_it_cannot_explain) {
  const auto before = stage_builder().kernel("a", "x", 50'000).end();
  const auto after = stage_builder().kernel("a", "x", 50'100).end();
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 5000.0);
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 150) << "scaled, but not to anything";
  EXPECT_DOUBLE_EQ(result.unexplained_ns, 4850);
  EXPECT_EQ(scale_text(result),
            "the traces show 100 ns of the 5.00 µs measured without a tracer, so sizes are theirs × 1.50");
}

TEST(attribute, says_why_sizes_are_another_sum_than_the_times_beside_them) {
  const auto before = stage_builder().kernel("a", "x", 50'000).end();
  const auto after = stage_builder().kernel("a", "x", 51'000).end();
  const auto text = [&](double bare_ns) {
    return scale_text(attribute({sum_up({before})}, {sum_up({after})}, bare_ns));
  };
  EXPECT_EQ(text(1200),
            "the traces show 1.00 µs of the 1.20 µs measured without a tracer, so sizes are theirs × 1.20");
  EXPECT_EQ(text(800),
            "the traces show 1.00 µs for the 800 ns measured without a tracer, so sizes are theirs × 0.80");
  EXPECT_EQ(text(1040), "") << "that is as good as the same";
  EXPECT_EQ(text(-1000), "the traces show 1.00 µs the other way, not the 1.00 µs measured without a tracer");
  EXPECT_EQ(scale_text(attribute({sum_up({before})}, {sum_up({after})})), "") << "nothing is scaled";
}

TEST(cause_text, a_copy_is_not_launched) {
  const auto without = stage_builder().kernel("a", "x", 5000).end();
  const auto with = stage_builder().kernel("a", "x", 5000).copy(6000, 200).copy(6000, 200).end();
  const auto first_text = [](const analysis::stage_trace& before, const analysis::stage_trace& after) {
    return to_text(attribute({sum_up({before})}, {sum_up({after})}).causes.at(0));
  };
  EXPECT_THAT(first_text(without, with), HasSubstr("copy device to host in sample is new: 2 times, 6."));
  EXPECT_THAT(first_text(with, without),
              HasSubstr("copy device to host in sample is gone: it ran 2 times, 6."));
  const auto longer = stage_builder().kernel("a", "x", 5000).copy(9000, 200).copy(9000, 200).end();
  EXPECT_THAT(first_text(with, longer), HasSubstr("is slower: 6.20 → 9.20 µs each, 2 times"));
}

TEST(attribute, says_that_idle_time_alone_is_scaled) {
  const auto before = stage_builder().kernel("a", "x", 50'000).end();
  const auto after = stage_builder().kernel("a", "x", 50'100, 4000).end();
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 2100.0);
  ASSERT_TRUE(result.scaled);
  EXPECT_DOUBLE_EQ(result.scaled->all_ratio, 1);
  EXPECT_NEAR(result.scaled->idle_ratio, 2.0 / 3, 1e-9);
  EXPECT_EQ(
      scale_text(result),
      "the traces show 3.10 µs for the 2.10 µs measured without a tracer, which stretches idle time, so "
      "sizes of idle time are theirs × 0.67");
  attribution kernels_alone;
  kernels_alone.bare_difference_ns = 9e6;
  kernels_alone.scaled = result.scaled;
  kernels_alone.scaled->shown_ns = -11e6;
  kernels_alone.scaled->idle_ratio = 0;
  EXPECT_EQ(
      scale_text(kernels_alone),
      "idle time of the traces is left out: a tracer stretches it, and without one there is no room for "
      "it");
}

TEST(attribute, what_changed_by_itself_comes_before_what_only_takes_longer) {
  const auto before = stage_builder().kernel("split", "attn", 7900).kernel("gemv", "out", 3000).end();
  const auto after = stage_builder().kernel("split", "attn", 8700).kernel("gemv", "out", 4000).end();
  exact_comparison exact;
  exact.changes.push_back(
      {exact_kind::launch_configuration, "split", "grid (16, 8, 1)", "grid (8, 8, 1)", false, "attn"});
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 1800.0, &exact);
  EXPECT_EQ(
      to_text(result.causes[0]),
      "+800 ns: split in attn is slower: 8.90 → 9.70 µs a launch, 1 launch; grid (16, 8, 1) → (8, 8, 1); "
      "half as many blocks");
  const auto blocks = [&](const char* was, const char* is) {
    exact.changes[0].baseline = was;
    exact.changes[0].candidate = is;
    return attribute({sum_up({before})}, {sum_up({after})}, 1800.0, &exact).causes[0].evidence.back();
  };
  EXPECT_EQ(blocks("grid (4, 1, 1)", "grid (8, 1, 1)"), "twice as many blocks");
  EXPECT_EQ(blocks("grid (4, 1, 1); block (64, 1, 1)", "grid (6, 1, 1); block (32, 1, 1)"),
            "1.500 times as many blocks");
  EXPECT_EQ(blocks("grid (4, 2, 1)", "grid (8, 1, 1)"), "as many blocks");
  EXPECT_EQ(blocks("registers 76", "registers 128"), "registers 76 → 128");
  EXPECT_EQ(attribute({sum_up({before})}, {sum_up({after})}, 1800.0).causes[0].name, "gemv")
      << "without exact evidence the larger one is named";
}

TEST(attribute, rows_that_crowd_at_few_experts_are_evidence_for_the_kernels_of_experts) {
  const auto before =
      stage_builder().kernel("grouped", "moe.experts", 7900).kernel("gemm", "out", 3000).end();
  const auto after = stage_builder().kernel("grouped", "moe.experts", 8700).kernel("gemm", "out", 4000).end();
  exact_comparison exact;
  exact.changes.push_back({exact_kind::routing, "", "1.80", "6.40", false, ""});
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 1800.0, &exact);
  EXPECT_EQ(result.causes[0].name, "grouped");
  EXPECT_THAT(result.causes[0].changes, ElementsAre("routing"));
  EXPECT_THAT(result.causes[0].evidence,
              ElementsAre("routing: rows of the fullest expert over the mean 1.80 → 6.40"));
  EXPECT_THAT(result.causes[1].changes, IsEmpty());
  exact.changes[0].is_slight = true;
  EXPECT_EQ(attribute({sum_up({before})}, {sum_up({after})}, 1800.0, &exact).causes[0].name, "gemm")
      << "near-ties slow nothing down";
}

TEST(attribute, disturbed_traces_leave_the_word_to_what_is_exact) {
  const auto before = stage_builder().kernel("core", "attn", 350'000).end();
  const auto after =
      stage_builder().kernel("core", "attn", 1'700'000).kernel("planted", "step", 100'000).end();
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 101'000.0);
  EXPECT_EQ(leading_causes(result, 1).at(0).name, "planted");
  EXPECT_LT(result.unexplained_ns, -0.3 * 101'000);
}

TEST(attribute, names_who_waits_for_a_slower_kernel) {
  // The product starts early and waits: it lasts longer, and costs nothing more.
  const auto stage = [](std::int64_t attention_ns) {
    analysis::stage_trace trace =
        stage_builder().kernel("split", "attn.core", attention_ns).kernel("gemv", "attn.out", 1600, 0).end();
    trace.operations[1].start_ns = 2000;
    return trace;
  };
  const attribution result = attribute({sum_up({stage(7900)})}, {sum_up({stage(9300)})}, 1400.0);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("; attn.out waits for it"));
}

TEST(attribute, what_waits_for_a_cause_is_no_cause_of_its_own) {
  const auto stage = [](std::int64_t attention_ns, std::int64_t gemv_ns) {
    analysis::stage_trace trace = stage_builder()
                                      .kernel("split", "attn.core", attention_ns)
                                      .kernel("gemv", "attn.out", gemv_ns, 0)
                                      .end();
    trace.operations[1].start_ns = 2000;
    return trace;
  };
  const attribution result = attribute({sum_up({stage(7900, 1600)})}, {sum_up({stage(9300, 1700)})}, 1500.0);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 1500) << "its time is kept";
  EXPECT_THAT(to_text(result.causes[0]),
              HasSubstr("; with the 100 ns by which attn.out cost more beside it; attn.out waits for it"));
}

TEST(attribute, only_the_kernel_that_waits_is_no_cause_of_its_own) {
  const auto stage = [](std::int64_t attention_ns, std::int64_t other_ns) {
    analysis::stage_trace trace = stage_builder()
                                      .kernel("split", "attn.core", attention_ns)
                                      .kernel("gemv", "attn.out", 1600, 0)
                                      .kernel("other", "attn.out", other_ns, 0)
                                      .end();
    trace.operations[1].start_ns = 2000;
    return trace;
  };
  const attribution result = attribute({sum_up({stage(7900, 900)})}, {sum_up({stage(9300, 1700)})}, 2200.0);
  ASSERT_EQ(result.causes.size(), 2U) << "the other kernel of the operator is slower by itself";
  EXPECT_EQ(result.causes[1].name, "other");
}

TEST(attribute, what_costs_less_beside_a_changed_kernel_has_handed_it_its_time) {
  const auto before = stage_builder().kernel("gemv", "mlp", 3000).kernel("split", "attn", 8000).end();
  const auto after = stage_builder().kernel("gemv", "mlp", 5000).kernel("split", "attn", 7500).end();
  exact_comparison exact;
  exact.changes.push_back({exact_kind::machine_code, "gemv", "a", "b", false, "mlp"});
  const attribution result = attribute({sum_up({before})}, {sum_up({after})}, 1500.0, &exact);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 1500);
  EXPECT_DOUBLE_EQ(result.causes[0].traced_delta_ns, 1500);
  EXPECT_THAT(to_text(result.causes[0]), HasSubstr("; less the 500 ns by which attn cost less beside it"));
  EXPECT_EQ(attribute({sum_up({before})}, {sum_up({after})}, 1500.0).causes.size(), 2U)
      << "nobody knows which of them changed";
  exact.changes.push_back({exact_kind::machine_code, "split", "a", "b", false, "attn"});
  EXPECT_EQ(attribute({sum_up({before})}, {sum_up({after})}, 1500.0, &exact).causes.size(), 2U)
      << "what changed as well is faster by itself";
}

TEST(attribute, what_runs_beside_a_cause_without_an_operator_is_called_by_its_short_name) {
  const auto stage = [](std::int64_t gemv_ns, std::int64_t split_ns) {
    return stage_builder()
        .kernel("gemv", "", gemv_ns)
        .kernel("void llm::cuda::split_attention<(int)2>(llm::paged_cache<__nv_bfloat16>)", "", split_ns)
        .end();
  };
  exact_comparison exact;
  exact.changes.push_back({exact_kind::machine_code, "gemv", "a", "b", false, ""});
  const attribution result =
      attribute({sum_up({stage(3000, 8000)})}, {sum_up({stage(5000, 7500)})}, 1500.0, &exact);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_THAT(to_text(result.causes[0]),
              HasSubstr("; less the 500 ns by which split_attention<2> cost less beside it"));
}

TEST(attribute, the_first_kernel_waits_with_its_device) {
  const auto stage = [](std::int64_t idle_ns, std::int64_t embed_ns, std::int64_t head_ns) {
    return stage_builder()
        .wait(0, idle_ns)
        .kernel("embed", "embed", embed_ns, idle_ns)
        .kernel("head", "head", head_ns, 0)
        .end(0);
  };
  const attribution result = attribute({sum_up({stage(1000, 30'000, 50'000)})},
                                       {sum_up({stage(150'000, 250'000, 51'000)})}, 370'000.0);
  ASSERT_EQ(result.causes.size(), 2U);
  EXPECT_EQ(result.causes[0].kind, cause_kind::idle);
  EXPECT_DOUBLE_EQ(result.causes[0].delta_ns, 369'000);
  EXPECT_THAT(to_text(result.causes[0]),
              HasSubstr("; with it waits the first kernel, in embed: 30.0 µs → 250 µs a launch"));
  const attribution without_waiting =
      attribute({sum_up({stage(1000, 30'000, 50'000)})}, {sum_up({stage(1000, 250'000, 50'000)})}, 220'000.0);
  EXPECT_EQ(without_waiting.causes.at(0).name, "embed") << "the device never waited";
}

TEST(attribute, the_first_kernel_waits_with_its_device_however_long_a_tracer_makes_a_launch) {
  const auto stage = [](std::int64_t idle_ns, std::int64_t asked_for_ns) {
    return stage_builder().wait(0, idle_ns).kernel("embed", "embed", 2000, idle_ns + asked_for_ns).end(0);
  };
  const auto first_of = [&](std::int64_t idle_ns, double bare_difference_ns) {
    return attribute({sum_up({stage(1000, 30'000)})}, {sum_up({stage(idle_ns, 500'000)})}, bare_difference_ns)
        .causes.at(0);
  };
  EXPECT_EQ(first_of(120'000, 200'000).kind, cause_kind::idle);
  EXPECT_DOUBLE_EQ(first_of(120'000, 200'000).delta_ns, 200'000);
  EXPECT_EQ(first_of(61'000, 200'000).kind, cause_kind::idle) << "a trifle only beside what the tracer adds";
  EXPECT_EQ(first_of(120'000, 600'000).name, "embed") << "without a tracer it waited as long, too";
}

TEST(attribute, cuts_off_what_lies_outside_the_stage) {
  auto stage = stage_builder().kernel("a", "x", 5000).end(0);
  stage.start_ns = 2000;  // the kernel ran from 1000 to 6000
  stage.end_ns = 5500;
  const attribution result = attribute({stage}, {stage_builder().kernel("a", "x", 5000).end()});
  expect_exact(result, 3000);
  EXPECT_DOUBLE_EQ(find(result, cause_kind::duration, "a")->baseline_each_ns, 3500);
}

TEST(attribute, adds_up_on_any_mixture_of_streams_and_names) {
  std::mt19937_64 random(11);
  const std::vector<std::string> names{"a_norm", "b_gemv", "nvjet_sm90_tst_64x8_2x1_v_bz_NNT",
                                       "rope",   "x",      "y<(int)3>(int)"};
  const std::vector<std::string> paths{"p", "q", "r/s"};
  const auto draw = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
  const auto make = [&](std::size_t count, std::int64_t longest_ns) {
    analysis::stage_trace trace;
    trace.start_ns = draw(1000);
    trace.end_ns = trace.start_ns + 1'000'000;
    for (std::size_t i = 0; i < count; ++i) {
      operation one;
      one.name = names[random() % names.size()];
      one.path = paths[random() % paths.size()];
      one.is_copy = random() % 7 == 0;
      one.start_ns = draw(1'100'000) - 50'000;  // some outside
      one.end_ns = one.start_ns + draw(static_cast<std::uint64_t>(longest_ns));
      trace.operations.push_back(one);
      if (random() % 3 == 0) trace.waits.push_back({one.end_ns, one.end_ns + draw(3000)});
    }
    return trace;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t longest_ns =
        trial % 2 == 0 ? 5000 : 200'000;  // the long ones run twenty and more at once
    const attribution result =
        attribute({make(100, longest_ns), make(90, longest_ns)},
                  {make(120, longest_ns), make(80, longest_ns), make(100, longest_ns)});
    EXPECT_NEAR(sum_of(result), result.difference_ns, 0.01 * static_cast<double>(result.operations));
    EXPECT_NEAR(result.residual_ns, 0, 0.01);
  }
}

TEST(attribute, says_the_same_of_sums_as_of_the_traces) {
  const analysis::stage_trace before =
      stage_builder().kernel("gemv", "x", 5000).copy(300, 200).kernel("norm", "y", 900).end();
  const analysis::stage_trace after = stage_builder()
                                          .kernel("gemv", "x", 6000)
                                          .copy(300, 700)
                                          .kernel("norm", "y", 900)
                                          .kernel("new", "y", 50)
                                          .end();
  const attribution of_traces = attribute({before, before}, {after, before}, 700.0);
  const attribution of_sums = attribute({sum_up({before, before})}, {sum_up({after, before})}, 700.0);
  EXPECT_EQ(of_sums.difference_ns, of_traces.difference_ns);
  EXPECT_EQ(of_sums.idle_difference_ns, of_traces.idle_difference_ns);
  EXPECT_EQ(of_sums.bare_difference_ns, of_traces.bare_difference_ns);
  ASSERT_EQ(of_sums.causes.size(), of_traces.causes.size());
  for (std::size_t i = 0; i < of_sums.causes.size(); ++i)
    EXPECT_EQ(to_text(of_sums.causes[i]), to_text(of_traces.causes[i]));
}

TEST(attribute, refuses_sums_that_cannot_be) {
  const analysis::stage_operations good = sum_up({stage_builder().kernel("a", "x", 5000).end()});
  analysis::stage_operations durations_alone = good;
  durations_alone.times.reset();
  EXPECT_THROW(attribute({good}, {durations_alone}), core::bad_input);
  analysis::stage_operations lacking = good;
  lacking.operations.clear();
  EXPECT_THROW(attribute({lacking}, {good}), core::bad_input);
  analysis::stage_operations endless = good;
  endless.times->time_ns += 20'000'000'000'000;
  endless.times->idle.by_cause_ns[0] += 20'000'000'000'000;
  EXPECT_THROW(attribute({good}, {endless}), core::bad_input);
}

TEST(attribute, refuses_traces_that_cannot_be) {
  const analysis::stage_trace good = stage_builder().kernel("a", "x", 5000).end();
  analysis::stage_trace backwards = good;
  backwards.operations[0].end_ns = 0;
  EXPECT_THROW(attribute({good}, {backwards}), core::bad_input);
  EXPECT_THROW(attribute({good}, {}), core::bad_input);
  analysis::stage_trace inverted = good;
  inverted.end_ns = -5;
  EXPECT_THROW(attribute({inverted}, {good}), core::bad_input);
}

}  // namespace
}  // namespace profgate::gate
