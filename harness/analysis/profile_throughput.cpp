#include "core/stage_names.h"
#include "figure_table.h"
#include "profile_parts.h"

namespace profgate::analysis {
namespace {

void put_percentiles(const measured<distribution>& times_ns, json_object& object) {
  object.put("p50_ns", part_of(&distribution::p50)(times_ns));
  object.put("p90_ns", part_of(&distribution::p90)(times_ns));
  object.put("p99_ns", part_of(&distribution::p99)(times_ns));
}

json first_token_json(const bare_facts& facts, const bare_figures& figures) {
  json_object object;
  bare_times_table().put(figures.ttft_ns, object);
  put_percentiles(figures.ttft_percentiles_ns, object);
  if (figures.ttft_ns && !facts.ttft_leaves_out.empty()) object.put("leaves_out", facts.ttft_leaves_out);
  return object.take();
}

json further_token_json(const bare_figures& figures) {
  const measured<distribution>& tpot = figures.tpot_ns;
  json_object object;
  object.put("mean_ns", part_of(&distribution::mean)(tpot));
  put_percentiles(tpot, object);
  object.put("samples_count", tpot ? tpot->count : 0);
  object.put("method", figures.tpot_method);
  object.put("by_token_ns", figures.tpot_by_token_ns);
  return object.take();
}

json input_json(const input_figures& input) {
  json_object object;
  object.put("name", input.name);
  object.put_text("image", input.image, "the input has no image");
  for (const char* kind : {"prompt", "image", "decode"}) {
    const auto found = input.tokens.find(kind);
    object.put(std::string(kind) + "_tokens_count",
               found == input.tokens.end() ? measured<std::int64_t>::absent("the workload tells of none")
                                           : measured<std::int64_t>(found->second));
  }
  const auto put_times = [&](const char* key, const measured<sample_statistics>& times_ns) {
    if (times_ns)
      object.put(key, bare_times_table().json_of(times_ns));
    else
      object.put_null(key, times_ns.reason());
  };
  put_times(core::prefill_stage, input.prefill_ns);
  put_times("vision", input.vision_ns);
  put_times(core::decode_all_stage, input.decode_all_ns);
  return object.take();
}

}  // namespace

json workload_inputs_json(const bare_figures& figures) {
  json list = json::array();
  for (const input_figures& input : figures.inputs) list.push_back(input_json(input));
  return list;
}

json throughput_json(const run_facts& facts, const bare_figures& figures) {
  json_object object;
  object.put("total_median_ns", figures.total_median_ns);
  const auto tokens = [&](const char* kind) {
    const std::map<std::string, std::int64_t>& counts = token_counts(facts.bare);
    return counts.count(kind) > 0
               ? measured<std::int64_t>(counts.at(kind))
               : measured<std::int64_t>::absent(
                     !facts.bare.decoding_in_turns.empty()     ? facts.bare.decoding_in_turns
                     : !facts.bare.lengths_that_differ.empty() ? "it ran " + facts.bare.lengths_that_differ
                     : facts.bare.bench                        ? "the workload does not report it"
                                                               : facts.bare.bench_absent_reason);
  };
  object.put("prompt_tokens_count", tokens("prompt"));
  object.put("decode_tokens_count", tokens("decode"));
  object.put("batch_count", tokens("batch"));
  object.put_text("lengths_that_differ", facts.bare.lengths_that_differ,
                  "most of its texts are of one length");
  if (!facts.bare.decoding_in_turns.empty()) object.put("decoding_in_turns", facts.bare.decoding_in_turns);
  object.put("tokens_mean_per_s", part_of(&sample_statistics::mean)(figures.tokens_per_s));
  object.put("tokens_median_per_s", part_of(&sample_statistics::median)(figures.tokens_per_s));
  object.put("tokens_std_per_s", part_of(&sample_statistics::std)(figures.tokens_per_s));
  object.put("tokens_samples_count", figures.tokens_per_s ? figures.tokens_per_s->samples.size() : 0);
  object.put("ttft", first_token_json(facts.bare, figures));
  object.put("tpot", further_token_json(figures));
  object.put("memory_peak_bytes", figures.memory_peak_bytes);
  object.put("weight_bytes", figures.weight_bytes);
  object.put("kv_cache_bytes", figures.kv_cache_bytes);
  object.put("scratch_bytes", figures.scratch_bytes);
  object.put("energy_per_decoded_token_j", figures.energy_per_decoded_token_j);
  object.put("energy_uncertainty_ratio", figures.energy_uncertainty_ratio);
  object.put("utilisation", utilisation_table().json_of(figures.model_use));
  if (figures.vision_ns) {
    object.put("vision", bare_times_table().json_of(figures.vision_ns));
  } else {
    object.put_null("vision", figures.vision_ns.reason());
  }
  return object.take();
}

json kernels_json(const run_facts& facts, const timeline_figures& figures) {
  json_object object;
  object.put("overall", kernel_table().list_of(figures.kernels));
  if (figures.kernels_absent_reason) {
    object.put_null("total_ns", *figures.kernels_absent_reason);
  } else {
    std::int64_t total_ns = 0;
    for (const core::kernel_record& record : figures.kernels) total_ns += record.total_ns;
    object.put("total_ns", total_ns);
  }
  object.put_text("source", figures.kernels_absent_reason ? "" : figures.kernels_source,
                  "there are no kernels");
  object.put("top_share_ratio", share_of_largest(figures.kernels, facts.top_n_kernels));
  return object.take();
}

}  // namespace profgate::analysis
