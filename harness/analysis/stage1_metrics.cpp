#include "analysis/bare_run.h"
#include "analysis/json_object.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "figure_table.h"

namespace profgate::analysis {
namespace {

/// {mean, std, n} of one quantity, divided by `divisor`.
json mean_and_std(const measured<sample_statistics>& statistics, double divisor) {
  json_object object;
  if (statistics) {
    object.put("mean", statistics->mean / divisor);
    object.put("std", quotient(statistics->std, divisor));
    object.put("n", statistics->samples.size());
  } else {
    object.put_null("mean", statistics.reason());
    object.put_null("std", statistics.reason());
    object.put("n", 0);
  }
  return object.take();
}

json mean_and_std_ms(const measured<sample_statistics>& statistics) {
  return mean_and_std(statistics, core::ns_per_ms);
}

/// Every repetition decodes the same number of tokens, so the spread is known to be zero.
json token_statistics(const bare_facts& facts, const bare_figures& figures) {
  json_object object;
  const std::map<std::string, std::int64_t>& tokens = token_counts(facts);
  if (figures.tokens_per_s && tokens.contains("decode")) {
    const std::int64_t batch = tokens.count("batch") > 0 ? tokens.at("batch") : 1;
    object.put("mean", tokens.at("decode") * batch);
    object.put("std", 0);
    object.put("n", figures.tokens_per_s->samples.size());
  } else {
    const std::string reason =
        figures.tokens_per_s ? "it ran " + facts.lengths_that_differ : figures.tokens_per_s.reason();
    object.put_null("mean", reason);
    object.put_null("std", reason);
    object.put("n", 0);
  }
  return object.take();
}

measured<sample_statistics> time_of(const bare_figures& figures, const std::string& stage) {
  for (const bare_stage& candidate : figures.stages) {
    if (candidate.name == stage) return candidate.time_ns;
  }
  return measured<sample_statistics>::absent("the workload has no stage '" + stage + "'");
}

json aggregates(const bare_facts& facts, const bare_figures& figures) {
  json_object object;
  object.put("prefill_ms", mean_and_std_ms(time_of(figures, core::prefill_stage)));
  object.put("decode_ms", mean_and_std_ms(time_of(figures, core::decode_all_stage)));
  object.put("tokens", token_statistics(facts, figures));
  object.put("tokens_per_s", mean_and_std(figures.tokens_per_s, 1.0));
  json stages = json::object();
  for (const bare_stage& stage : figures.stages) stages[stage.name] = mean_and_std_ms(stage.time_ns);
  object.put("stage_ms", std::move(stages));
  if (figures.vision_ns) {
    object.put("vision_ms", mean_and_std_ms(figures.vision_ns));
  } else {
    object.put_null("vision_ms", figures.vision_ns.reason());
  }
  return object.take();
}

json ratios_of_ceilings(const measured<double>& over_measured, const measured<double>& over_vendor) {
  json_object object;
  object.put("over_measured_ceiling_ratio", over_measured);
  object.put("over_vendor_peak_ratio", over_vendor);
  return object.take();
}

void put_percentiles_ms(const measured<distribution>& times_ns, json_object& object) {
  const auto part = [&](auto distribution::*member) {
    return quotient(
        times_ns ? measured<double>((*times_ns).*member) : measured<double>::absent(times_ns.reason()),
        core::ns_per_ms);
  };
  object.put("p50", part(&distribution::p50));
  object.put("p90", part(&distribution::p90));
  object.put("p99", part(&distribution::p99));
}

json first_token_time_ms(const bare_facts& facts, const bare_figures& figures) {
  json_object object;
  const measured<sample_statistics>& ttft = figures.ttft_ns;
  object.put("mean",
             ttft ? measured<double>(ttft->mean / core::ns_per_ms) : measured<double>::absent(ttft.reason()));
  object.put("std", ttft ? quotient(ttft->std, core::ns_per_ms) : measured<double>::absent(ttft.reason()));
  put_percentiles_ms(figures.ttft_percentiles_ns, object);
  object.put("n", ttft ? ttft->samples.size() : 0);
  if (ttft && !facts.ttft_leaves_out.empty()) object.put("leaves_out", facts.ttft_leaves_out);
  return object.take();
}

json token_time_ms(const bare_figures& figures) {
  json_object object;
  const measured<distribution>& tpot = figures.tpot_ns;
  object.put("mean",
             tpot ? measured<double>(tpot->mean / core::ns_per_ms) : measured<double>::absent(tpot.reason()));
  put_percentiles_ms(tpot, object);
  object.put("n", tpot ? tpot->count : 0);
  object.put("method", figures.tpot_method);
  return object.take();
}

void put_ceilings(const bare_facts& facts, const bare_figures& figures, json_object& document) {
  document.put("peak_tflops", quotient(figures.vendor_flops_per_s, flops_per_tflop));
  document.put("peak_bytes_per_s", figures.vendor_bytes_per_s);
  document.put_text("peak_source", facts.peaks ? facts.peaks->source : "", peaks_source_absent_reason(facts));
  document.put("measured_ceiling_tflops", quotient(figures.ceiling_flops_per_s, flops_per_tflop));
  document.put("measured_ceiling_bytes_per_s", figures.ceiling_bytes_per_s);
  document.put_text("measured_ceiling_method", facts.bench ? facts.bench->ceiling_method : "",
                    ceilings_absent_reason(facts));
}

void put_telemetry(const bare_figures& figures, json_object& document) {
  json_object stages;
  for (const bare_stage& stage : figures.stages) {
    stages.put(stage.name, telemetry_table().json_of(stage.telemetry));
  }
  document.put("telemetry", stages.take());
  document.put("energy_per_decoded_token_j", figures.energy_per_decoded_token_j);
  document.put("energy_uncertainty_ratio", figures.energy_uncertainty_ratio);
}

void put_model(const bare_facts& facts, json_object& document) {
  if (!facts.bench || facts.bench->model_dims.empty()) {
    document.put_null("model_dims",
                      facts.bench ? "the workload reports no dimensions" : facts.bench_absent_reason);
  } else {
    document.put("model_dims", json(facts.bench->model_dims));
  }
}

void put_correctness(const bare_facts& facts, json_object& document) {
  const std::string missing =
      facts.bench ? "the workload did not report it" : "no result: " + facts.bench_absent_reason;
  const core::workload_result bench = facts.bench.value_or(core::workload_result{});
  document.put("logits_hash", or_absent(bench.logits_hash, missing));
  document.put("reference_name", or_absent(bench.reference_name, missing));
  document.put("reference_distance_ratio", or_absent(bench.reference_distance, missing));
  document.put("reference_cosine_ratio", or_absent(bench.reference_cosine, missing));
}

json samples_ms(const bare_figures& figures) {
  json samples = json::object();
  for (const bare_stage& stage : figures.stages) {
    json values = json::array();
    if (stage.time_ns) {
      for (const double sample_ns : stage.time_ns->samples) values.push_back(sample_ns / core::ns_per_ms);
    }
    samples[stage.name] = std::move(values);
  }
  return samples;
}

}  // namespace

std::string stage1_metrics_json(const bare_facts& facts) {
  const bare_figures figures = analyze_bare(facts);
  json_object document;
  document.put("schema_version", "1.1");
  document.put("aggregates", aggregates(facts, figures));
  document.put("ttft_ms", first_token_time_ms(facts, figures));
  document.put("tpot_ms", token_time_ms(figures));
  document.put("mfu_model_level", ratios_of_ceilings(figures.model_use.mfu_over_measured_ratio,
                                                     figures.model_use.mfu_over_vendor_ratio));
  document.put("mbu_model_level", ratios_of_ceilings(figures.model_use.mbu_over_measured_ratio,
                                                     figures.model_use.mbu_over_vendor_ratio));
  json mfu = json::object();
  json mbu = json::object();
  for (const bare_stage& stage : figures.stages) {
    mfu[stage.name] = ratios_of_ceilings(stage.use.mfu_over_measured_ratio, stage.use.mfu_over_vendor_ratio);
    mbu[stage.name] = ratios_of_ceilings(stage.use.mbu_over_measured_ratio, stage.use.mbu_over_vendor_ratio);
  }
  document.put("mfu_per_stage", std::move(mfu));
  document.put("mbu_per_stage", std::move(mbu));
  put_model(facts, document);
  put_ceilings(facts, figures, document);
  document.put("memory_peak_bytes", figures.memory_peak_bytes);
  document.put("weight_bytes", figures.weight_bytes);
  document.put("kv_cache_bytes", figures.kv_cache_bytes);
  document.put("scratch_bytes", figures.scratch_bytes);
  put_telemetry(figures, document);
  put_correctness(facts, document);
  document.put("samples_ms", samples_ms(figures));
  return core::json_text(document.take());
}

}  // namespace profgate::analysis
