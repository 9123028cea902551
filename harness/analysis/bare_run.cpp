#include "analysis/bare_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "analysis/texts.h"
#include "ceilings.h"
#include "core/stage_names.h"
#include "core/units.h"

namespace profgate::analysis {
namespace {

constexpr const char* vision_stage = "vision";

/// What everything that is said of a stage's time rests on: one repetition that was held up moves a mean, and
/// with it every share and every saving.
measured<double> median_of(const measured<sample_statistics>& statistics) {
  return statistics ? measured<double>(statistics->median) : measured<double>::absent(statistics.reason());
}

measured<double> sum(const std::vector<measured<double>>& parts, const std::string& reason_if_empty) {
  if (parts.empty()) return measured<double>::absent(reason_if_empty);
  double total = 0;
  for (const measured<double>& part : parts) {
    if (!part) return part;
    total += *part;
  }
  return total;
}

/// What a stage counts for among all: one repetition of each, where the workload repeats all of them alike; a
/// program goes through its ranges as often as it does.
measured<double> weight_ns(const bare_facts& facts, const bare_stage& stage) {
  if (facts.bench || !stage.time_ns) return median_of(stage.time_ns);
  return stage.time_ns->mean * static_cast<double>(stage.time_ns->samples.size());
}

/// The configured stages in their order, then what the result has beyond them.
std::vector<std::string> stage_names(const bare_facts& facts) {
  std::vector<std::string> names = facts.stages;
  if (!facts.bench && !facts.process_wall_ns.empty()) {
    std::erase_if(names, [&](const std::string& name) { return !facts.stage_samples_ns.contains(name); });
    return names.empty() ? std::vector<std::string>{core::whole_process_stage} : names;
  }
  if (facts.bench) {
    for (const auto& [stage, samples] : facts.bench->samples_ns) {
      const bool known = std::find(names.begin(), names.end(), stage) != names.end();
      if (!known && stage != vision_stage) names.push_back(stage);
    }
  }
  return names;
}

measured<sample_statistics> stage_time(const bare_facts& facts, const std::string& stage) {
  const auto ranges = facts.stage_samples_ns.find(stage);
  if (!facts.bench && ranges != facts.stage_samples_ns.end())
    return describe(to_doubles(ranges->second), "no range of the stage was closed");
  if (stage == core::whole_process_stage && !facts.bench) {
    return describe(to_doubles(facts.process_wall_ns), "the process was not timed");
  }
  if (!facts.bench) return measured<sample_statistics>::absent(facts.bench_absent_reason);
  const auto found = facts.bench->samples_ns.find(stage);
  const std::vector<std::int64_t> none;
  return describe(to_doubles(found == facts.bench->samples_ns.end() ? none : found->second),
                  fmt::format("the workload's result has no samples of stage '{}'", stage));
}

std::string time_source(const bare_facts& facts, const std::string& stage) {
  if (facts.bench) return "the program's result file";
  if (const auto told = facts.stage_sources.find(stage); told != facts.stage_sources.end())
    return told->second;
  if (facts.stage_samples_ns.contains(stage)) return nvtx_ranges_source;
  return stage == core::whole_process_stage && !facts.process_wall_ns.empty() ? "the whole process" : "";
}

measured<double> range_cost_ns(const bare_facts& facts, const std::string& stage) {
  using figure = measured<double>;
  const std::string source = time_source(facts, stage);
  const bool is_of_ranges =
      source == nvtx_ranges_source || source == synchronised_ranges_source || source == adapter_ranges_source;
  if (!is_of_ranges) return figure::absent("its time is not that of ranges");
  return facts.range_cost_ns > 0 ? figure(facts.range_cost_ns)
                                 : figure::absent("the collector did not try it");
}

/// Why nobody tells what work the stage does.
std::string why_no_work(const bare_facts& facts, const std::string& stage) {
  if (facts.bench) return fmt::format("the workload does not say what work stage '{}' does", stage);
  if (facts.counted && stage == core::prefill_stage && token_counts(facts).contains("chunks"))
    return "a prefill is a chunk of a prompt, and the model's shape tells the work of a whole one";
  if (facts.counted) return fmt::format("the model's shape does not tell what work stage '{}' does", stage);
  if (facts.process_wall_ns.empty()) return facts.bench_absent_reason;  // it failed, or nobody saw it run
  return "nobody tells its FLOPs and bytes; " + facts.how_to_tell_work;
}

utilisation stage_utilisation(const bare_facts& facts, const bare_figures& figures, const bare_stage& stage) {
  utilisation use;
  const core::workload_result* const model = model_of(facts);
  const std::string reason = why_no_work(facts, stage.name);
  core::stage_work work;
  if (model != nullptr) {
    const auto found = model->work.find(stage.name);
    if (found != model->work.end()) work = found->second;
  }
  use.flops = or_absent(work.flops, reason);
  use.bytes = or_absent(work.bytes, reason);
  if (use.flops || use.bytes) use.source = facts.bench ? "the workload" : "the model's shape";
  use.are_peaks_configured = facts.peaks && !facts.peaks->is_of_vendor();
  set_rates(facts, figures, median_of(stage.time_ns), use);
  return use;
}

std::optional<std::int64_t> token_count(const bare_facts& facts, const char* kind) {
  const std::map<std::string, std::int64_t>& tokens = token_counts(facts);
  const auto found = tokens.find(kind);
  return found == tokens.end() ? std::nullopt : std::optional(found->second);
}

/// Steps are [repetitions, tokens].
measured<std::vector<double>> median_by_token(const std::vector<std::int64_t>& steps_ns,
                                              std::int64_t tokens) {
  constexpr std::size_t most_values = 1024;
  using list = measured<std::vector<double>>;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(tokens, 0));
  if (steps_ns.empty()) return list::absent("no decode step was timed by itself");
  if (count == 0 || steps_ns.size() % count != 0)
    return list::absent("the number of timed steps is no multiple of the decoded tokens");
  std::vector<double> medians_ns;
  for (std::size_t token = 0; token < count; ++token) {
    std::vector<double> samples_ns;
    for (std::size_t i = token; i < steps_ns.size(); i += count)
      samples_ns.push_back(static_cast<double>(steps_ns[i]));
    medians_ns.push_back(describe(std::move(samples_ns), "")->median);
  }
  if (count <= most_values) return medians_ns;
  std::vector<double> means_ns(most_values);
  for (std::size_t i = 0; i < most_values; ++i) {
    const std::size_t begin = i * count / most_values;
    const std::size_t end = (i + 1) * count / most_values;
    for (std::size_t token = begin; token < end; ++token)
      means_ns[i] += medians_ns[token] / static_cast<double>(end - begin);
  }
  return means_ns;
}

/// Of a program whose tokens were seen to come. A rate is that of a text, as that of a repetition is
/// elsewhere.
void set_step_figures(const bare_facts& facts, double batch, bare_figures& result) {
  const std::vector<double> steps_ns = to_doubles(facts.further_token_ns);
  const std::vector<std::int64_t> texts = tokens_of_texts(facts);
  std::vector<double> text_rates;
  auto step_ns = steps_ns.begin();
  for (const std::int64_t tokens : texts) {
    const auto end = step_ns + tokens;
    const double text_ns = std::accumulate(step_ns, end, 0.0);
    if (text_ns > 0)
      text_rates.push_back(static_cast<double>(end - step_ns) * batch * core::ns_per_s / text_ns);
    step_ns = end;
  }
  result.tokens_per_s = describe(std::move(text_rates), "no decode step was seen");
  result.tpot_method = from_step_to_step;
  result.tpot_ns = describe_distribution(steps_ns, "no decode step was seen");
  const bool are_alike = std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
  result.tpot_by_token_ns = are_alike && !texts.empty()
                                ? median_by_token(facts.further_token_ns, texts.front())
                                : measured<std::vector<double>>::absent("its texts differ in length");
}

/// Of several inputs, that of each: a repetition's prefill is all of theirs.
measured<sample_statistics> first_token_time(const bare_facts& facts) {
  if (!facts.first_token_ns.empty()) return describe(to_doubles(facts.first_token_ns), "");
  if (!facts.decoding_in_turns.empty()) return measured<sample_statistics>::absent(facts.decoding_in_turns);
  if (!facts.first_token_absent_reason.empty())
    return measured<sample_statistics>::absent(facts.first_token_absent_reason);
  if (!facts.adapter_silence.empty())
    return measured<sample_statistics>::absent(
        "the PyTorch adapter never reported in, so nobody saw when tokens came");
  if (is_seen_without_decoding(facts))
    return measured<sample_statistics>::absent(
        "no decode step was seen, so nothing tells whether the model makes tokens");
  if (!facts.bench && !facts.has_adapter && facts.stage_samples_ns.contains(core::prefill_stage))
    return measured<sample_statistics>::absent(
        "a range called 'prefill' does not tell when a token came: an adapter does (--adapter pytorch), or a "
        "result JSON of the program's own (workloads/README.md)");
  if (inputs_count(facts) < 2) return stage_time(facts, core::prefill_stage);
  std::vector<double> all_ns;
  for (const core::workload_input& input : facts.bench->inputs) {
    const auto prefill = input.samples_ns.find(core::prefill_stage);
    if (prefill == input.samples_ns.end()) continue;
    all_ns.insert(all_ns.end(), prefill->second.begin(), prefill->second.end());
  }
  return describe(std::move(all_ns), "the workload's result has no samples of stage 'prefill'");
}

void set_inputs(const bare_facts& facts, bare_figures& result) {
  if (!facts.bench) return;
  const std::vector<core::workload_input>& inputs = facts.bench->inputs;
  if (inputs.size() < 2 && (inputs.empty() || inputs.front().image.empty())) return;
  for (const core::workload_input& input : inputs) {
    const auto time_of = [&](const std::string& stage, const std::string& reason) {
      const auto found = input.samples_ns.find(stage);
      return found == input.samples_ns.end() ? measured<sample_statistics>::absent(reason)
                                             : describe(to_doubles(found->second), reason);
    };
    const std::string missing = "the workload does not tell it of this input";
    result.inputs.push_back({input.name, input.image, input.tokens, time_of(core::prefill_stage, missing),
                             time_of(vision_stage, "the input has no image"),
                             time_of(core::decode_all_stage, missing)});
  }
}

void set_token_figures(const bare_facts& facts, bare_figures& result) {
  result.ttft_ns = first_token_time(facts);
  result.ttft_percentiles_ns = result.ttft_ns ? describe_distribution(result.ttft_ns->samples, "")
                                              : measured<distribution>::absent(result.ttft_ns.reason());
  const measured<sample_statistics> decode = stage_time(facts, core::decode_all_stage);
  const std::optional<std::int64_t> tokens = token_count(facts, "decode");
  const auto batch = static_cast<double>(token_count(facts, "batch").value_or(1));
  const std::string no_tokens = !facts.decoding_in_turns.empty() ? facts.decoding_in_turns
                                : decode ? "the workload does not say how many tokens it decoded"
                                         : decode.reason();
  std::vector<double> rates;
  std::vector<double> quotients_ns;
  if (decode && tokens && *tokens > 0) {
    const auto count = static_cast<double>(*tokens);
    for (const double duration_ns : decode->samples) {
      if (duration_ns <= 0) continue;
      rates.push_back(count * batch * core::ns_per_s / duration_ns);
      quotients_ns.push_back(duration_ns / count);
    }
  }
  result.tokens_per_s = describe(std::move(rates), no_tokens);
  if (!facts.further_token_ns.empty()) {
    set_step_figures(facts, batch, result);
    return;
  }
  const bool has_steps = facts.bench && !facts.bench->decode_step_ns.empty();
  result.tpot_by_token_ns = median_by_token(
      has_steps ? facts.bench->decode_step_ns : std::vector<std::int64_t>{}, tokens ? *tokens : 0);
  result.tpot_method =
      has_steps ? "every decode step was timed" : "decode time over decoded tokens, one value a repetition";
  result.tpot_ns = describe_distribution(
      has_steps ? to_doubles(facts.bench->decode_step_ns) : std::move(quotients_ns), no_tokens);
}

void set_memory(const bare_facts& facts, bare_figures& result) {
  const core::workload_result bench = facts.bench.value_or(core::workload_result{});
  result.memory_peak_bytes =
      or_absent(bench.memory_peak_bytes ? bench.memory_peak_bytes : facts.peak_rss_bytes,
                "neither the workload nor the process runner reported it");
  const std::string missing = facts.bench ? "the workload does not report it" : facts.bench_absent_reason;
  result.weight_bytes = or_absent(bench.weight_bytes, missing);
  result.kv_cache_bytes = or_absent(bench.kv_cache_bytes, missing);
  result.scratch_bytes = or_absent(bench.scratch_bytes, missing);
}

void set_energy(const bare_facts& facts, bare_figures& result) {
  const measured<telemetry_figures> decode = stage_telemetry(facts, core::decode_all_stage);
  result.energy_per_decoded_token_j = energy_per_decoded_token_j(facts, decode);
  result.energy_uncertainty_ratio =
      decode ? decode->energy_uncertainty_ratio : measured<double>::absent(decode.reason());
}

}  // namespace

void set_work(const bare_facts& facts, const bare_figures& figures, const measured<double>& flops,
              const measured<double>& bytes, const std::string& source, bare_stage& stage) {
  stage.use.flops = flops;
  stage.use.bytes = bytes;
  stage.use.source = source;
  set_rates(facts, figures, median_of(stage.time_ns), stage.use);
}

const std::map<std::string, std::int64_t>& token_counts(const bare_facts& facts) {
  return facts.bench ? facts.bench->tokens : facts.seen_tokens;
}

bool is_seen_without_decoding(const bare_facts& facts) {
  return facts.has_adapter && facts.adapter_silence.empty() && !facts.bench && facts.first_token_ns.empty() &&
         !facts.stage_samples_ns.contains(core::decode_all_stage);
}

std::int64_t inputs_count(const bare_facts& facts) {
  return facts.bench ? std::max<std::int64_t>(1, static_cast<std::int64_t>(facts.bench->inputs.size())) : 1;
}

bare_stage untimed_stage(const bare_facts& facts, const bare_figures& figures, const std::string& name,
                         const std::string& reason) {
  bare_stage stage;
  stage.name = name;
  stage.time_ns = measured<sample_statistics>::absent(reason);
  stage.share_ratio = measured<double>::absent(reason);
  stage.telemetry = measured<telemetry_figures>::absent(reason);
  stage.use = stage_utilisation(facts, figures, stage);
  return stage;
}

double warm_up_ns(const bare_stage& stage) {
  double longest_ns = 0;
  for (const std::vector<std::int64_t>& process : stage.warm_up_ns)
    longest_ns = std::max(longest_ns, std::accumulate(process.begin(), process.end(), 0.0));
  return longest_ns;
}

void sum_up_stages(const bare_facts& facts, const std::set<std::string>& nested, bare_figures& figures) {
  const std::string no_stages = "the workload has no stages";
  std::vector<measured<double>> medians_ns;
  std::vector<measured<double>> weights_ns;
  std::vector<measured<double>> flops;
  std::vector<measured<double>> bytes;
  for (const bare_stage& stage : figures.stages) {
    if (nested.contains(stage.name)) continue;
    medians_ns.push_back(median_of(stage.time_ns));
    weights_ns.push_back(weight_ns(facts, stage));
    flops.push_back(stage.use.flops);
    bytes.push_back(stage.use.bytes);
  }
  const std::map<std::string, std::int64_t>& counts = token_counts(facts);
  if (counts.contains("chunks"))
    medians_ns = {measured<double>::absent(
        fmt::format("a text has {} prefills, one a chunk of its prompt", counts.at("chunks")))};
  figures.total_median_ns = facts.lengths_that_differ.empty()
                                ? sum(medians_ns, no_stages)
                                : measured<double>::absent("it ran " + facts.lengths_that_differ +
                                                           ": no stage's median is the same text's");
  const measured<double> total_weight_ns = sum(weights_ns, no_stages);
  for (bare_stage& stage : figures.stages)
    stage.share_ratio = quotient(weight_ns(facts, stage), total_weight_ns);
  figures.model_use.flops = sum(flops, no_stages);
  figures.model_use.bytes = sum(bytes, no_stages);
  if (!figures.stages.empty()) figures.model_use.source = figures.stages.front().use.source;
  set_rates(facts, figures, figures.total_median_ns, figures.model_use);
}

bare_figures analyze_bare(const bare_facts& facts) {
  bare_figures result;
  set_ceilings(facts, result);
  for (const std::string& name : stage_names(facts)) {
    bare_stage stage{name, stage_time(facts, name),     time_source(facts, name), {},
                     {},   stage_telemetry(facts, name)};
    stage.use = stage_utilisation(facts, result, stage);
    stage.range_cost_ns = range_cost_ns(facts, name);
    if (const auto cold = facts.warm_up_ns.find(name); cold != facts.warm_up_ns.end())
      stage.warm_up_ns = cold->second;
    if (name == core::decode_all_stage) stage.other_lengths = facts.other_lengths;
    if (facts.bench && facts.bench->experts.contains(name)) stage.experts = facts.bench->experts.at(name);
    result.stages.push_back(std::move(stage));
  }
  sum_up_stages(facts, {}, result);
  result.vision_ns = facts.bench && facts.bench->samples_ns.count(vision_stage) > 0
                         ? stage_time(facts, vision_stage)
                         : measured<sample_statistics>::absent("the workload reports no vision time");
  set_inputs(facts, result);
  set_token_figures(facts, result);
  set_memory(facts, result);
  set_energy(facts, result);
  return result;
}

}  // namespace profgate::analysis
