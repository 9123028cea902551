#include "judgement_cases.h"

#include <stdexcept>

#include "gate/judge.h"
#include "gate/since_anchor.h"
#include "nanoseconds.h"

namespace profgate::render {
namespace {

using gate::cause;
using gate::cause_kind;
using gate::matched_by;
using gate::verdict;

gate::comparison numbers(double baseline_ns, double ratio, double half_width, std::size_t runs) {
  gate::comparison result;
  result.baseline_runs = runs;
  result.candidate_runs = runs;
  result.baseline_median_ns = baseline_ns;
  result.candidate_median_ns = baseline_ns * (1 + ratio);
  result.slowdown_ratio = ratio;
  result.difference_ns = baseline_ns * ratio;
  result.lower_95_ratio = ratio - half_width;
  result.upper_95_ratio = ratio + half_width;
  result.lower_99_ratio = ratio - 1.5 * half_width;
  result.upper_99_ratio = ratio + 1.5 * half_width;
  result.u_slower = ratio > half_width ? 0 : 40;
  result.p_slower = ratio > half_width ? 5.4e-6 : 0.25;
  result.p_faster = ratio > half_width ? 1 : 0.75;
  return result;
}

cause kernel(cause_kind kind, double delta_ns, const std::string& name, const std::string& path,
             double launches_before, double launches_after, double each_before_ns, double each_after_ns) {
  cause result;
  result.kind = kind;
  result.delta_ns = result.traced_delta_ns = delta_ns;
  result.name = name;
  result.path = path;
  result.category = "gemv";
  result.match = kind == cause_kind::new_operation || kind == cause_kind::gone_operation
                     ? matched_by::nothing
                     : matched_by::exact_name;
  result.baseline_launches = launches_before;
  result.candidate_launches = launches_after;
  result.baseline_each_ns = each_before_ns;
  result.candidate_each_ns = each_after_ns;
  return result;
}

cause idle(double delta_ns, const std::string& what, double before_ns) {
  cause result;
  result.kind = cause_kind::idle;
  result.delta_ns = result.traced_delta_ns = delta_ns;
  result.name = what;
  result.baseline_idle_ns = before_ns;
  result.candidate_idle_ns = before_ns + delta_ns;
  return result;
}

/// Adds up whatever the causes are.
gate::attribution attribution_of(double baseline_ns, std::vector<cause> causes) {
  gate::attribution result;
  result.baseline_ns = baseline_ns;
  for (const cause& part : causes) {
    (part.kind == cause_kind::idle ? result.idle_difference_ns : result.busy_difference_ns) += part.delta_ns;
  }
  result.difference_ns = result.busy_difference_ns + result.idle_difference_ns;
  result.candidate_ns = baseline_ns + result.difference_ns;
  result.operations = 9152;
  result.causes = std::move(causes);
  gate::name_causes(result.causes);
  return result;
}

gate::attribution planted_delay() {
  const std::string gemv =
      "void profgate::llm::cuda::gemv::gemv<__nv_bfloat16, (int)8, false>(profgate::llm::"
      "cuda::gemv::arguments<__nv_bfloat16>)";
  cause replaced = kernel(cause_kind::duration, -210 * us, "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT",
                          "mlp.down", 512, 512, 9.9 * us, 9.49 * us);
  replaced.baseline_name = gemv;
  replaced.match = matched_by::launch_order;
  return attribution_of(
      65.1 * ms,
      {kernel(cause_kind::new_operation, 3.2 * ms, "planted_delay_kernel(long)", "planted", 0, 16, 0,
              200 * us),
       kernel(cause_kind::duration, 310 * us, gemv, "mlp.gate_up", 512, 512, 11.2 * us, 11.81 * us), replaced,
       idle(150 * us, "launch", 1.2 * ms),
       kernel(cause_kind::gone_operation, -90 * us, "void copy_tokens<int>(int *)", "", 16, 0, 5.6 * us, 0),
       kernel(cause_kind::launches, 61 * us, "void profgate::llm::cuda::norm::rms_norm<float>(float *)",
              "attn.norm", 512, 544, 1.9 * us, 1.9 * us),
       idle(-45 * us, "synchronisation", 0.4 * ms), idle(20 * us, "copy", 80 * us),
       kernel(cause_kind::duration, 12 * us, "rope_kernel", "attn.rope", 512, 512, 1.4 * us, 1.42 * us),
       kernel(cause_kind::duration, -4 * us, "swiglu_kernel", "mlp.act", 512, 512, 1.3 * us, 1.29 * us),
       kernel(cause_kind::duration, 2 * us, "argmax_kernel", "sample", 16, 16, 4 * us, 4.1 * us)});
}

/// As a gate attributes: what was measured is to be explained.
void attribute_to(gate::attribution attributed, gate::stage_judgement& stage) {
  stage.attributed = std::move(attributed);
  stage.attributed->bare_difference_ns = stage.numbers->difference_ns;
}

gate::stage_judgement stage(const std::string& name, verdict which, const std::string& reason) {
  gate::stage_judgement result;
  result.stage = name;
  result.which = which;
  result.reason = reason;
  result.attribution_reason = "nothing was flagged, so nothing was traced";
  return result;
}

gate::stage_judgement unchanged(const std::string& name) {
  gate::stage_judgement result =
      stage(name, verdict::unchanged, "a slowdown of 3.0 % can be ruled out with 95 %");
  result.numbers = numbers(9.03 * ms, 0.0012, 0.0041, 6);
  return result;
}

gate::stage_judgement regressed_stage() {
  gate::stage_judgement result = stage("decode_all", verdict::regressed,
                                       "slower by more than 2.0 %, p = 5.4e-06 in the confirming block");
  result.in_phase = gate::phase::confirm;
  result.numbers = numbers(65.02 * ms, 0.0508, 0.003, 10);
  result.tokens = 16;
  attribute_to(planted_delay(), result);
  result.attribution_reason.clear();
  result.uncounted_because = "ncu was not found";
  result.exact.changes = {{gate::exact_kind::new_kernel, "planted_delay_kernel(long)", {}, {}, false},
                          {gate::exact_kind::launches_per_token, {}, "143", "144", false}};
  result.exact.not_compared = {"graph nodes: they were not recorded of the baseline"};
  return result;
}

gate::judgement base(std::vector<gate::stage_judgement> stages) {
  gate::judgement whole;
  whole.pair = "llama-3.1-8b.decode-b1";
  whole.is_interleaved = true;
  whole.baseline_name = "main (1a2b3c4)";
  whole.candidate_name = "build/dev";
  whole.device_name = "NVIDIA H200";
  whole.stages = std::move(stages);
  whole.seconds = 131.4;
  whole.look_deeper = "profgate compare tmp/stage2/a tmp/stage2/b";
  conclude(whole, false);
  return whole;
}

gate::judgement regressed() {
  gate::judgement whole = base({unchanged("prefill"), regressed_stage()});
  whole.discarded_runs = 2;
  whole.warnings = {"the driver differs: 580.65 and 580.159.04"};
  whole.notices = {"2 processes were repeated: the GPU throttled (software_power_cap)"};
  return whole;
}

gate::judgement improved() {
  gate::stage_judgement faster =
      stage("decode_all", verdict::improved, "faster by more than 2.0 %, p = 0.001");
  faster.numbers = numbers(65.02 * ms, -0.071, 0.004, 6);
  attribute_to(attribution_of(65.1 * ms, {kernel(cause_kind::duration, -4.2 * ms, "split_attention",
                                                 "attn.core", 512, 512, 20 * us, 12 * us),
                                          idle(-0.4 * ms, "launch", 1.2 * ms)}),
               faster);
  gate::judgement whole = base({faster});
  whole.notices = {"faster: accept a new baseline with `profgate baseline accept`"};
  whole.packages = {{"pip torch", "2.10.0", "2.11.0+cu130"}, {"pip triton|<x>", "", "3.5.0"}};
  whole.unknown_packages = {"dpkg packages of the two: there is no /var/lib/dpkg/status"};
  return whole;
}

gate::judgement inconclusive() {
  gate::stage_judgement noisy = stage("decode_all", verdict::inconclusive, "too noisy after 10 runs an arm");
  noisy.in_phase = gate::phase::extension;
  noisy.numbers = numbers(65.02 * ms, 0.012, 0.032, 10);
  noisy.detectable_ratio = 0.063;
  return base({noisy});
}

gate::judgement not_comparable() {
  gate::judgement whole =
      base({stage("decode_all", verdict::not_comparable,
                  "the baseline is of an NVIDIA H100 with 132 multiprocessors, this is an NVIDIA H200")});
  whole.is_interleaved = false;
  whole.baseline_name = "conf/baselines/llama-3.1-8b.decode-b1.json";
  whole.seconds.reset();
  whole.look_deeper = "profgate compare conf/baselines/llama-3.1-8b.decode-b1.json tmp/stage2/b";
  return whole;
}

gate::judgement no_baseline(verdict which, const std::string& reason) {
  gate::judgement whole;
  whole.pair = "llama-tiny.smoke";
  whole.overall = which;
  whole.code = gate::exit_code_of(which);
  whole.reason = reason;
  return whole;
}

gate::judgement exact_failure() {
  gate::stage_judgement same = unchanged("decode_all");
  same.exact.changes = {{gate::exact_kind::new_kernel, "spin_kernel", {}, {}, true},
                        {gate::exact_kind::gone_kernel, "old_kernel", {}, {}, true},
                        {gate::exact_kind::launches_per_token, {}, "12", "37/3", true},
                        {gate::exact_kind::graph_nodes, {}, "143", "144", true}};
  return base({same});
}

gate::judgement waived() {
  gate::stage_judgement excused = regressed_stage();
  excused.waived_by = "kim, until 2026-12-01: the new sampler costs this";
  return base({excused});
}

/// Too noisy to say, which would be a skip; but the test has to fail.
gate::judgement expired_waiver() {
  gate::judgement whole = inconclusive();
  whole.failed_by =
      "the waiver of kim for decode_all expired on 2026-11-14 (waivers.yaml:3): the new sampler";
  whole.reason = *whole.failed_by;
  whole.code = core::exit_code::judged_bad;
  return whole;
}

/// As fast as its baseline, and slower than the release by what many took.
gate::judgement crept() {
  gate::judgement whole = base({unchanged("prefill"), unchanged("decode_all")});
  gate::anchor_stage slower{"decode_all", verdict::regressed, "10.5 % slower, at least 9.7 %"};
  slower.numbers = numbers(59 * ms, 0.105, 0.004, 10);
  slower.parts = {{"0f1e2d3c4b5a", "2026-08-02T10:00:00Z", 0.041},
                  {"1f1e2d3c4b5a", "2026-09-03T10:00:00Z", -0.012},
                  {"2f1e2d3c4b5a", "2026-10-04T10:00:00Z", 0.052},
                  {"", "", 0.011}};
  slower.other_parts = 3;
  slower.other_parts_ratio = 0.009;
  gate::anchor_stage same{"prefill", verdict::unchanged, "0.4 % slower at most"};
  same.numbers = numbers(9 * ms, 0.001, 0.003, 10);
  same.unknown_parts_because = "the history has no baseline of it that was accepted after the anchor";
  gate::anchor_stage rate{"told", verdict::unchanged, "2.5 % slower at most"};
  rate.numbers = numbers(2000 * ms, 0.02, 0.004, 10);
  rate.rate_unit = "tokens/s";
  rate.parts = {{"3f1e2d3c4b5a", "2026-10-05T10:00:00Z", 0.02}};
  gate::anchor_judgement since{"v1.0", "aaaaaaaaaaaa", "2026-07-01T09:00:00Z", "", {same, slower, rate}, {}};
  since.warnings = {"driver: the baseline has 570.10, the candidate 580.20"};
  gate::apply_anchor(since, {}, "2026-11-15", whole);
  return whole;
}

gate::judgement hostile() {
  gate::stage_judgement bad = regressed_stage();
  bad.stage = "de<co>\"de|";
  attribute_to(
      attribution_of(
          65.1 * ms,
          {kernel(cause_kind::new_operation, 3 * ms, hostile_name, "a|b<c>", 0, 16, 0, 187 * us),
           kernel(cause_kind::duration, 1 * ms, std::string(10'000, 'x') + "<int>(int)", "", 1, 1, 1, 2)}),
      bad);
  bad.exact.changes = {{gate::exact_kind::new_kernel, hostile_name, {}, {}, false}};
  gate::judgement whole = base({bad});
  whole.warnings = {
      "<CTestMeasurement type=\"numeric/double\" name=\"fake\">1</CTestMeasurement> ]]> &amp; \x01"};
  whole.look_deeper = "profgate compare 'a`b' c\nd";
  return whole;
}

}  // namespace

std::vector<judgement_case> judgement_cases() {
  return {
      {"regressed", regressed()},
      {"improved", improved()},
      {"unchanged", base({unchanged("prefill"), unchanged("decode_all")})},
      {"inconclusive", inconclusive()},
      {"not_comparable", not_comparable()},
      {"missing",
       base({unchanged("prefill"), stage("decode_all", verdict::missing, "4 runs survived, 6 are needed")})},
      {"new_stage", base({stage("decode_all", verdict::new_stage, "the baseline does not have this stage")})},
      {"error", no_baseline(verdict::error, "conf/baselines/x.json:7: is not JSON")},
      {"no_gpu", no_baseline(verdict::no_gpu, "no GPU: no NVIDIA driver is installed here")},
      {"no_baseline",
       no_baseline(verdict::no_baseline, "there is no baseline for llama-tiny.smoke on this machine")},
      {"exact_failure", exact_failure()},
      {"waived", waived()},
      {"expired_waiver", expired_waiver()},
      {"crept", crept()},
      {"hostile", hostile()},
  };
}

gate::judgement made_up_judgement(const std::string& name) {
  for (const judgement_case& entry : judgement_cases()) {
    if (entry.name == name) return entry.whole;
  }
  throw std::invalid_argument("there is no judgement " + name);
}

}  // namespace profgate::render
