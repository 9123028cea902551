#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "analysis/profile.h"
#include "analysis/timeline_strip.h"
#include "core/error.h"
#include "core/json.h"
#include "core/units.h"
#include "figure_table.h"
#include "profile_parts.h"

namespace profgate::analysis {
namespace {

const char* name_of(core::step_state state) {
  switch (state) {
    case core::step_state::ok:
      return "ok";
    case core::step_state::skipped:
      return "skipped";
    case core::step_state::failed:
      return "failed";
  }
  return "failed";
}

json text_list(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(core::to_valid_utf8(text));
  return list;
}

json run_json(const run_facts& facts) {
  json_object object;
  object.put("run_id", facts.run_id);
  object.put("created_utc", facts.created_utc);
  object.put("pair", facts.pair);
  object.put("model", facts.model);
  object.put("config", facts.config);
  object.put("device", facts.device);
  object.put("mode", facts.mode);
  object.put("config_hash", facts.config_hash);
  object.put("nvtx_domain", facts.nvtx_domain);
  object.put("stages", text_list(facts.bare.stages));
  object.put("top_n_kernels_count", facts.top_n_kernels);
  return object.take();
}

json model_json(const run_facts& facts) {
  const std::string missing =
      facts.bare.bench ? "the workload does not report it" : facts.bare.bench_absent_reason;
  const core::workload_result bench =
      facts.bare.bench ? *facts.bare.bench : facts.bare.counted.value_or(core::workload_result{});
  json_object object;
  object.put_text("name", bench.model_name.empty() ? facts.model : bench.model_name, missing);
  object.put_text("variant", facts.model_variant, "the model's configuration names none");
  object.put_text("architecture", bench.model_architecture, missing);
  object.put_text("dtype", bench.model_dtype, missing);
  object.put_text("weights", bench.model_weights, missing);
  object.put("parameters_count", or_absent(bench.parameters, missing));
  object.put("active_parameters_count", or_absent(bench.active_parameters, missing));
  object.put_text("device_name", bench.device_name, missing);
  object.put("dims", json(bench.model_dims));
  object.put("work_assumptions", text_list(bench.work_assumptions));
  return object.take();
}

/// How all of the counters were taken.
json counter_settings_json(const counter_facts& facts) {
  json_object object;
  const std::string& reason = facts.absent_reason;
  object.put_text("cache_control", facts.launches.empty() ? "" : facts.cache_control, reason);
  object.put_text("clock_control", facts.launches.empty() ? "" : facts.clock_control, reason);
  object.put_text("replay_mode", facts.launches.empty() ? "" : facts.replay_mode, reason);
  return object.take();
}

json correctness_json(const run_facts& facts, const run_figures& figures) {
  const std::string missing =
      facts.bare.bench ? "the workload does not report it" : facts.bare.bench_absent_reason;
  const core::workload_result bench = facts.bare.bench.value_or(core::workload_result{});
  json_object object;
  object.put("logits_hash", or_absent(bench.logits_hash, missing));
  object.put("reference_name", or_absent(bench.reference_name, missing));
  object.put("reference_distance_ratio", or_absent(bench.reference_distance, missing));
  object.put("reference_cosine_ratio", or_absent(bench.reference_cosine, missing));
  object.put("traced_logits_agree", figures.traced_logits_agree);
  return object.take();
}

/// `values` are not in it: stage1/process_samples.json has them.
json program_figure_json(const program_figure& figure) {
  const measured<sample_statistics> values = describe(figure.values, "the program told none");
  json_object object;
  object.put("name", figure.name);
  object.put("unit", figure.unit);
  object.put("source", figure.source);
  object.put("values_count", figure.values.size());
  object.put("mean", part_of(&sample_statistics::mean)(values));
  object.put("median", part_of(&sample_statistics::median)(values));
  object.put("min", part_of(&sample_statistics::min)(values));
  object.put("max", part_of(&sample_statistics::max)(values));
  return object.take();
}

json step_json(const step_facts& step) {
  json_object object;
  object.put("name", step.name);
  object.put("state", name_of(step.state));
  object.put_text("reason", step.reason, "the step ended well");
  object.put_text("remedy", step.remedy, "none is known or needed");
  const measured<double> duration_s = or_absent(step.duration_s, "the step's duration was not recorded");
  object.put("duration_ns", duration_s ? measured<std::int64_t>(static_cast<std::int64_t>(
                                             std::llround(*duration_s * core::ns_per_s)))
                                       : measured<std::int64_t>::absent(duration_s.reason()));
  object.put_text("tool", step.tool, "the step used no tool of its own");
  object.put_text("tool_version", step.tool_version, "no tool, or it did not say");
  object.put("notes", text_list(step.notes));
  return object.take();
}

template <class T, class F>
json list_of(const std::vector<T>& items, F to_json) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

json artifact_json(const artifact_facts& artifact) {
  json_object object;
  object.put("path", artifact.path);
  object.put("title", artifact.title);
  object.put("size_bytes", artifact.size_bytes);
  return object.take();
}

json run_input_json(const named_value& input) {
  json_object object;
  object.put("name", input.name);
  object.put("value", input.value);
  return object.take();
}

json changed_setting_json(const changed_setting& setting) {
  json_object object;
  object.put("key", setting.key);
  object.put("value", setting.value);
  object.put("default", setting.default_value);
  return object.take();
}

json environment_json(const std::string& text) {
  json environment = core::parse_ordered_json(text);
  if (!environment.is_object()) {
    throw core::bad_input("env.json", 0, "is not a JSON object",
                          "run the pair again: prepare writes env.json");
  }
  require_reasons(text, "env.json");
  return environment;
}

}  // namespace

json ceilings_json(const run_facts& facts, const bare_figures& figures) {
  json_object object;
  object.put("measured_flops_per_s", figures.ceiling_flops_per_s);
  object.put("measured_bytes_per_s", figures.ceiling_bytes_per_s);
  object.put_text("measured_method", facts.bare.bench ? facts.bare.bench->ceiling_method : "",
                  ceilings_absent_reason(facts.bare));
  object.put("vendor_flops_per_s", figures.vendor_flops_per_s);
  object.put("vendor_bytes_per_s", figures.vendor_bytes_per_s);
  object.put_text("vendor_source", facts.bare.peaks ? facts.bare.peaks->source : "",
                  peaks_source_absent_reason(facts.bare));
  return object.take();
}

json strip_json(const timeline_strip& strip) {
  json_object object;
  object.put("what", strip.what);
  object.put("capture", strip.capture);
  object.put("duration_ns", strip.duration_ns);
  object.put("earlier_count", strip.earlier);
  object.put("occurrences_count", strip.occurrences);
  object.put("rows", list_of(strip.rows, [](const strip_row& row) {
               json_object entry;
               entry.put("kind", row.kind);
               entry.put("label", row.label);
               entry.put("is_further_lane", row.is_further_lane);
               json starts_ns = json::array();
               json durations_ns = json::array();
               json names = json::array();
               json own_ns = json::array();
               json counts = json::array();
               bool has_together = false;
               for (const strip_span& span : row.spans) {
                 starts_ns.push_back(span.start_ns);
                 durations_ns.push_back(span.duration_ns);
                 names.push_back(span.name);
                 own_ns.push_back(span.own_ns);
                 counts.push_back(span.count);
                 has_together = has_together || span.own_ns < span.duration_ns;
               }
               entry.put("starts_ns", std::move(starts_ns));
               entry.put("durations_ns", std::move(durations_ns));
               entry.put("names", std::move(names));
               if (has_together) {
                 entry.put("own_ns", std::move(own_ns));
                 entry.put("counts", std::move(counts));
               }
               return entry.take();
             }));
  return object.take();
}

json timeline_json(const run_facts& facts, const run_figures& run) {
  const timeline_figures& figures = run.timeline;
  json captures = list_of(figures.captures, [](const capture_figures& capture) {
    json_object object;
    object.put("name", capture.name);
    object.put("gate", or_absent(capture.gate, capture.part.empty() ? "the whole run was traced"
                                                                    : "no range was waited for"));
    if (!capture.part.empty()) object.put("part", capture.part);
    object.put("tool", capture.tool);
    object.put("tool_version", capture.tool_version);
    object.put_text("gpu_names", fmt::format("{}", fmt::join(capture.gpu_names, ", ")),
                    "the recording does not tell it");
    object.put_text("recorded_utc", capture.recorded_utc.value_or(""), "the recording does not tell it");
    object.put("ranges_count", capture.ranges);
    object.put("open_ranges_count", capture.open_ranges);
    object.put("kernels_count", capture.kernels);
    object.put("dropped_records_count", capture.dropped_records);
    object.put("opaque_graphs_count", capture.opaque_graphs);
    return object.take();
  });
  json_object object;
  object.put("captures", std::move(captures));
  object.put("problems", text_list(figures.problems));
  object.put("strips", list_of(find_strips(facts, run.kernel_names), strip_json));
  return object.take();
}

json findings_json(const findings& findings) {
  json_object object;
  object.put("summary", text_list(findings.summary));
  object.put("takeaways", list_of(findings.takeaways, [](const takeaway& item) {
               json_object entry;
               entry.put_text("stage", item.stage, "it is about the whole run");
               entry.put("text", item.text);
               entry.put("evidence", item.evidence);
               return entry.take();
             }));
  object.put("recommendations", list_of(findings.recommendations, [](const recommendation& item) {
               json_object entry;
               entry.put_text("stage", item.stage, "it is about the whole run");
               entry.put("text", item.text);
               entry.put("evidence", item.evidence);
               entry.put("saves_at_most_ns", item.saves_at_most_ns);
               entry.put("saves_at_most_ratio", item.saves_at_most_ratio);
               entry.put_text("saves_at_most_ratio_of", item.ratio_of, "no saving is known");
               entry.put("is_about_measuring", item.from == saved_time::none);
               entry.put("adds_up", item.saves_at_most_ns
                                        ? measured<bool>(item.adds_up)
                                        : measured<bool>::absent(item.saves_at_most_ns.reason()));
               entry.put("changes_arithmetic", item.from == saved_time::other_arithmetic);
               entry.put_text("kernel_name", item.kernel_name, "it is not about one kernel");
               entry.put_text("op_name", item.op_name, "it is not about one operator");
               if (!item.neighbours.empty()) entry.put("neighbours", text_list(item.neighbours));
               return entry.take();
             }));
  object.put("stage_savings", list_of(findings.stage_savings, [](const stage_saving& together) {
               json_object entry;
               entry.put("stage", together.stage);
               entry.put("saves_at_most_ns", together.saves_at_most_ns);
               entry.put("saves_at_most_ratio", together.saves_at_most_ratio);
               entry.put("saves_at_most_ratio_of", together.ratio_of);
               entry.put("ends_at_roof", together.ends_at_roof);
               entry.put("leaves_some_out", together.leaves_some_out);
               return entry.take();
             }));
  return object.take();
}

std::string profile_json(const run_facts& facts) {
  const run_figures figures = analyze_run(facts);
  json_object document;
  document.put("schema_version", std::string(profile_schema_version));
  document.put("run", run_json(facts));
  document.put("model", model_json(facts));
  document.put("findings", findings_json(find(facts, figures)));
  document.put("throughput", throughput_json(facts, figures.bare));
  if (!figures.bare.inputs.empty()) document.put("workload_inputs", workload_inputs_json(figures.bare));
  if (!facts.bare.figures.empty())
    document.put("program_figures", list_of(facts.bare.figures, program_figure_json));
  document.put("stages", stage_table().list_of(figures.stages));
  document.put("kernels", kernels_json(facts, figures.timeline));
  document.put("counters", counter_settings_json(facts.counters));
  document.put("regions", regions_json(facts, figures.timeline));
  document.put("ceilings", ceilings_json(facts, figures.bare));
  document.put("correctness", correctness_json(facts, figures));
  document.put("timeline", timeline_json(facts, figures));
  document.put("steps", list_of(facts.steps, step_json));
  document.put("artifacts", list_of(facts.artifacts, artifact_json));
  document.put("inputs", list_of(facts.inputs, run_input_json));
  document.put("changed_settings", list_of(facts.changed_settings, changed_setting_json));
  document.put("environment", environment_json(facts.env_json));
  return core::json_text(document.take());
}

std::string with_artifacts(const std::string& profile, const std::string& file,
                           const std::vector<artifact_facts>& artifacts) {
  nlohmann::ordered_json document = core::parse_ordered_json(profile);
  if (!document.is_object() || !document.contains("artifacts")) {
    throw core::bad_input(file, 0, "is no profile.json", "run the pair's report step again");
  }
  document["artifacts"] = list_of(artifacts, artifact_json);
  return core::json_text(document);
}

}  // namespace profgate::analysis
