#include <fmt/format.h>

#include <cmath>

#include "profile_parts.h"

namespace profgate::analysis {
namespace {

json samples_json(const std::vector<double>& samples_ns) {
  json values = json::array();
  for (const double sample_ns : samples_ns)
    values.push_back(static_cast<std::int64_t>(std::llround(sample_ns)));
  return values;
}

void put_bare(const measured<sample_statistics>& time_ns, json_object& object) {
  if (!time_ns) {
    for (const char* key : {"mean_ns", "std_ns", "cv_ratio", "median_ns", "min_ns", "max_ns"}) {
      object.put_null(key, time_ns.reason());
    }
    object.put("samples_count", 0);
    object.put("samples_ns", json::array());
    return;
  }
  object.put("mean_ns", time_ns->mean);
  object.put("std_ns", time_ns->std);
  object.put("cv_ratio", time_ns->cv);
  object.put("median_ns", time_ns->median);
  object.put("min_ns", time_ns->min);
  object.put("max_ns", time_ns->max);
  object.put("samples_count", time_ns->samples.size());
  object.put("samples_ns", samples_json(time_ns->samples));
}

json bare_json(const measured<sample_statistics>& time_ns) {
  json_object object;
  put_bare(time_ns, object);
  return object.take();
}

void put_percentiles(const measured<distribution>& times_ns, json_object& object) {
  const auto part = [&](double distribution::*member) {
    return times_ns ? measured<double>((*times_ns).*member) : measured<double>::absent(times_ns.reason());
  };
  object.put("p50_ns", part(&distribution::p50));
  object.put("p90_ns", part(&distribution::p90));
  object.put("p99_ns", part(&distribution::p99));
}

json first_token_json(const bare_figures& figures) {
  json_object object;
  put_bare(figures.ttft_ns, object);
  put_percentiles(figures.ttft_percentiles_ns, object);
  return object.take();
}

json further_token_json(const bare_figures& figures) {
  const measured<distribution>& tpot = figures.tpot_ns;
  json_object object;
  object.put("mean_ns", tpot ? measured<double>(tpot->mean) : measured<double>::absent(tpot.reason()));
  put_percentiles(tpot, object);
  object.put("samples_count", tpot ? tpot->count : 0);
  object.put("method", figures.tpot_method);
  return object.take();
}

json utilisation_json(const utilisation& use) {
  json_object object;
  object.put("work_flops", use.flops);
  object.put("work_bytes", use.bytes);
  object.put("achieved_flops_per_s", use.flops_per_s);
  object.put("achieved_bytes_per_s", use.bytes_per_s);
  object.put("mfu_over_measured_ratio", use.mfu_over_measured_ratio);
  object.put("mfu_over_vendor_ratio", use.mfu_over_vendor_ratio);
  object.put("mbu_over_measured_ratio", use.mbu_over_measured_ratio);
  object.put("mbu_over_vendor_ratio", use.mbu_over_vendor_ratio);
  object.put("roof_ns", use.roof_ns);
  object.put("roof", use.roof);
  return object.take();
}

json operator_json(const operator_figures& figures) {
  json_object object;
  const core::operator_record& record = figures.record;
  const measured<std::int64_t> total_ns = or_absent(record.total_ns, figures.total_absent_reason);
  object.put("op_name", record.op_name);
  object.put("calls_count", record.calls);
  object.put("total_ns", total_ns);
  object.put("mean_ns",
             total_ns ? measured<double>(static_cast<double>(*total_ns) / static_cast<double>(record.calls))
                      : measured<double>::absent(total_ns.reason()));
  object.put("exclusive_ns", figures.exclusive_ns);
  object.put("share_ratio", figures.share_ratio);
  object.put("cuda_ns", or_absent(record.cuda_ns, figures.cuda_absent_reason));
  object.put("cuda_exclusive_ns", figures.cuda_exclusive_ns);
  object.put("cuda_own_ns", figures.cuda_own_ns);
  object.put("cuda_share_ratio", figures.cuda_share_ratio);
  return object.take();
}

json kernel_list(const std::vector<core::kernel_record>& records) {
  json kernels = json::array();
  for (const core::kernel_record& record : records) {
    json_object object;
    object.put("kernel_name", record.kernel_name);
    object.put("device", record.device);
    object.put("total_ns", record.total_ns);
    object.put("own_ns", or_absent(record.own_ns, "the source does not tell it"));
    object.put("calls_count", record.calls);
    const auto calls = static_cast<double>(std::max<std::int64_t>(record.calls, 1));
    object.put("mean_ns", record.mean_ns.value_or(static_cast<double>(record.total_ns) / calls));
    kernels.push_back(object.take());
  }
  return kernels;
}

void put_size(const char* key, const std::array<std::uint32_t, 3>& extent, json_object& object) {
  if (extent[0] == 0) {
    object.put_null(key, "the tool does not tell it");
  } else {
    object.put(key, json::array({extent[0], extent[1], extent[2]}));
  }
}

json group_list(const std::vector<core::kernel_group>& groups) {
  json list = json::array();
  for (const core::kernel_group& group : groups) {
    json_object object;
    object.put("kernel_name", group.kernel_name);
    object.put_text("op_name", group.op, "it was launched under no operator");
    object.put("category", group.category);
    object.put("device", fmt::format("cuda:{}", group.device));
    put_size("grid_blocks_count", group.grid, object);
    put_size("block_threads_count", group.block, object);
    object.put("total_ns", group.total_ns);
    object.put("own_ns", or_absent(group.own_ns, "the source does not tell it"));
    object.put("calls_count", group.calls);
    list.push_back(object.take());
  }
  return list;
}

json category_list(const std::vector<category_figures>& categories) {
  json list = json::array();
  for (const category_figures& category : categories) {
    json_object object;
    object.put("category", category.category);
    object.put("total_ns", category.total_ns);
    object.put("own_ns", category.own_ns);
    object.put("calls_count", category.calls);
    object.put("share_ratio", category.share_ratio);
    list.push_back(object.take());
  }
  return list;
}

json activity_json(const traced_activity& activity) {
  json_object object;
  object.put("busy_ns", activity.busy_ns);
  object.put("devices_count", activity.devices);
  object.put("kernels_count", activity.kernels);
  object.put("launches_count", activity.launches);
  object.put("gap_ns", activity.gap_ns());
  object.put("gap_launch_ns", activity.gap_launch_ns);
  object.put("gap_synchronisation_ns", activity.gap_synchronisation_ns);
  object.put("gap_copy_ns", activity.gap_copy_ns);
  object.put("gap_other_ns", activity.gap_other_ns);
  object.put("copies_count", activity.copies);
  object.put("copy_ns", activity.copy_ns);
  object.put("copy_bytes", activity.copy_bytes);
  return object.take();
}

json idle_json(const idle_figures& idle) {
  json_object object;
  object.put("busy_ns", idle.busy_ns);
  object.put("idle_ns", idle.idle_ns);
  object.put("idle_ratio", idle.idle_ratio);
  object.put("launch_ns", idle.launch_ns);
  object.put("synchronisation_ns", idle.synchronisation_ns);
  object.put("copy_ns", idle.copy_ns);
  object.put("other_ns", idle.other_ns);
  return object.take();
}

json steps_json(const traced_steps& steps) {
  json_object object;
  object.put("calls_count", steps.calls);
  object.put("total_ns", steps.total_ns);
  object.put("mean_ns", static_cast<double>(steps.total_ns) / static_cast<double>(steps.calls));
  return object.take();
}

json traced_json(const traced_stage& stage) {
  json_object object;
  object.put("capture", stage.capture);
  object.put("tool", stage.tool);
  object.put("tool_version", stage.tool_version);
  object.put("occurrences_count", stage.occurrences);
  object.put("duration_ns", stage.duration_ns);
  object.put("uncovered_ns", stage.uncovered_ns);
  if (stage.steps) {
    object.put("decode_steps", steps_json(*stage.steps));
  } else {
    object.put_null("decode_steps", stage.steps.reason());
  }
  object.put("operators_by_device", stage.operators_by_device);
  object.put("kernel_ns", stage.kernel_ns);
  object.put("kernel_own_ns", stage.kernel_own_ns);
  object.put("device_idle_ratio", stage.device_idle_ratio);
  if (stage.activity) {
    object.put("activity", activity_json(*stage.activity));
  } else {
    object.put_null("activity", stage.activity.reason());
  }
  return object.take();
}

}  // namespace

json stage_json(const stage_figures& stage) {
  json_object object;
  object.put("name", stage.bare.name);
  object.put("bare", bare_json(stage.bare.time_ns));
  object.put("share_ratio", stage.bare.share_ratio);
  object.put("utilisation", utilisation_json(stage.bare.use));
  if (stage.bare.telemetry) {
    object.put("telemetry", telemetry_json(*stage.bare.telemetry));
  } else {
    object.put_null("telemetry", stage.bare.telemetry.reason());
  }
  if (stage.traced) {
    object.put("traced", traced_json(*stage.traced));
  } else {
    object.put_null("traced", stage.traced.reason());
  }
  object.put("overhead_ratio", stage.overhead_ratio);
  object.put("launches_per_token_count", stage.launches_per_token);
  object.put("kernels_per_token_count", stage.kernels_per_token);
  if (stage.idle) {
    object.put("idle", idle_json(*stage.idle));
  } else {
    object.put_null("idle", stage.idle.reason());
  }
  json operators = json::array();
  json kernels = json::array();
  json groups = json::array();
  json categories = json::array();
  if (stage.traced) {
    for (const operator_figures& figures : stage.traced->operators) {
      operators.push_back(operator_json(figures));
    }
    kernels = kernel_list(stage.traced->kernels);
    groups = group_list(stage.traced->kernel_groups);
    categories = category_list(stage.traced->categories);
  }
  object.put("operators", std::move(operators));
  object.put("kernels", std::move(kernels));
  if (stage.counters) {
    object.put("counters", stage_counters_json(*stage.counters));
  } else {
    object.put_null("counters", stage.counters.reason());
  }
  object.put("kernel_groups", std::move(groups));
  object.put("categories", std::move(categories));
  return object.take();
}

json throughput_json(const run_facts& facts, const bare_figures& figures) {
  json_object object;
  object.put("total_mean_ns", figures.total_mean_ns);
  const auto tokens = [&](const char* kind) {
    const bool known = facts.bare.bench && facts.bare.bench->tokens.count(kind) > 0;
    return known ? measured<std::int64_t>(facts.bare.bench->tokens.at(kind))
                 : measured<std::int64_t>::absent(facts.bare.bench ? "the workload does not report it"
                                                                   : facts.bare.bench_absent_reason);
  };
  object.put("prompt_tokens_count", tokens("prompt"));
  object.put("decode_tokens_count", tokens("decode"));
  object.put("batch_count", tokens("batch"));
  const auto rate = [&](double sample_statistics::*member) {
    return figures.tokens_per_s ? measured<double>((*figures.tokens_per_s).*member)
                                : measured<double>::absent(figures.tokens_per_s.reason());
  };
  object.put("tokens_mean_per_s", rate(&sample_statistics::mean));
  object.put("tokens_std_per_s", figures.tokens_per_s
                                     ? figures.tokens_per_s->std
                                     : measured<double>::absent(figures.tokens_per_s.reason()));
  object.put("ttft", first_token_json(figures));
  object.put("tpot", further_token_json(figures));
  object.put("memory_peak_bytes", figures.memory_peak_bytes);
  object.put("weight_bytes", figures.weight_bytes);
  object.put("kv_cache_bytes", figures.kv_cache_bytes);
  object.put("scratch_bytes", figures.scratch_bytes);
  object.put("energy_per_decoded_token_j", figures.energy_per_decoded_token_j);
  object.put("energy_uncertainty_ratio", figures.energy_uncertainty_ratio);
  object.put("utilisation", utilisation_json(figures.model_use));
  if (figures.vision_ns) {
    object.put("vision", bare_json(figures.vision_ns));
  } else {
    object.put_null("vision", figures.vision_ns.reason());
  }
  return object.take();
}

json kernels_json(const timeline_figures& figures) {
  json_object object;
  object.put("overall", kernel_list(figures.kernels));
  if (figures.kernels_absent_reason) {
    object.put_null("total_ns", *figures.kernels_absent_reason);
  } else {
    std::int64_t total_ns = 0;
    for (const core::kernel_record& record : figures.kernels) total_ns += record.total_ns;
    object.put("total_ns", total_ns);
  }
  return object.take();
}

}  // namespace profgate::analysis
