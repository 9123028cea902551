#include "ceilings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/dtypes.h"
#include "core/units.h"

namespace profgate::analysis {
namespace {

std::string named(const hardware_peaks& peaks) {
  return peaks.name.empty() ? "the configured hardware" : fmt::format("hardware '{}'", peaks.name);
}

measured<double> vendor_peak(const bare_facts& facts) {
  using figure = measured<double>;
  if (!facts.peaks) return figure::absent("no vendor peak is configured for this hardware");
  const core::workload_result* const model = model_of(facts);
  if (model == nullptr)
    return figure::absent("the model's dtype is not known, neither by a result file nor by its shape");
  const std::string dtype = core::short_dtype(model->model_dtype);
  for (const auto& [name, tflops] : facts.peaks->peak_tflops) {
    if (core::short_dtype(name) == dtype) return tflops * flops_per_tflop;
  }
  return figure::absent(
      fmt::format("{} has no peak for dtype '{}'", named(*facts.peaks), model->model_dtype));
}

measured<double> vendor_bandwidth(const bare_facts& facts) {
  if (!facts.peaks) return measured<double>::absent("no vendor bandwidth is configured for this hardware");
  return or_absent(facts.peaks->memory_bandwidth_bytes_per_s,
                   fmt::format("{} has no bandwidth", named(*facts.peaks)));
}

void set_roof(const bare_figures& figures, utilisation& use) {
  const measured<double> compute_s = quotient(use.flops, figures.ceiling_flops_per_s);
  const measured<double> memory_s = quotient(use.bytes, figures.ceiling_bytes_per_s);
  if (!compute_s || !memory_s) {
    const std::string& reason = compute_s ? memory_s.reason() : compute_s.reason();
    use.roof_ns = measured<double>::absent(reason);
    use.roof = measured<std::string>::absent(reason);
    return;
  }
  use.roof_ns = std::max(*compute_s, *memory_s) * core::ns_per_s;
  use.roof = std::string(*memory_s >= *compute_s ? "memory" : "compute");
}

/// Why the memory's bandwidth bounds nothing of this work; empty: it may. A model that fits the last cache is
/// read from memory once, and from the cache ever after.
void leave_memory_out(const std::string& reason, const bare_figures& figures, utilisation& use) {
  use.mbu_over_measured_ratio = use.mbu_over_vendor_ratio = measured<double>::absent(reason);
  const measured<double> compute_s = quotient(use.flops, figures.ceiling_flops_per_s);
  if (!compute_s) return;  // then there is no roof, and its reason stands
  use.roof_ns = *compute_s * core::ns_per_s;
  use.roof = std::string("compute");
}

/// What a model has in memory, its weights and its keys and values: passes over it read no others. Nothing
/// where nobody tells.
std::optional<double> different_bytes(const bare_facts& facts) {
  if (facts.bench) {
    if (!facts.bench->weight_bytes) return std::nullopt;
    return static_cast<double>(*facts.bench->weight_bytes + facts.bench->kv_cache_bytes.value_or(0));
  }
  if (!facts.counted || !facts.counted->parameters) return std::nullopt;
  const core::workload_result& model = *facts.counted;
  const auto dim = [&](const char* name) {
    const auto found = model.model_dims.find(name);
    return found == model.model_dims.end() ? 0.0 : found->second;
  };
  const auto tokens = [&](const char* kind) {
    const auto found = model.tokens.find(kind);
    return found == model.tokens.end() ? 0.0 : static_cast<double>(found->second);
  };
  const double keys_and_values = 2 * dim("num_hidden_layers") * dim("num_key_value_heads") * dim("head_dim") *
                                 tokens("batch") * (tokens("prompt") + tokens("decode"));
  const double value_bytes = core::long_dtype(model.model_dtype) == "float32" ? 4 : 2;
  return (static_cast<double>(*model.parameters) + keys_and_values) * value_bytes;
}

}  // namespace

bool fits_cache(const bare_facts& facts, const measured<double>& moved_bytes) {
  if (!facts.last_level_cache_bytes || !moved_bytes) return false;
  const double bytes = std::min(*moved_bytes, different_bytes(facts).value_or(*moved_bytes));
  return bytes <= static_cast<double>(*facts.last_level_cache_bytes);
}

const core::workload_result* model_of(const bare_facts& facts) {
  if (facts.bench) return &*facts.bench;
  return facts.counted ? &*facts.counted : nullptr;
}

std::string peaks_source_absent_reason(const bare_facts& facts) {
  return facts.peaks ? "the peaks are those of the settings hardware.*"
                     : "no vendor peak is configured for this hardware";
}

std::string ceilings_absent_reason(const bare_facts& facts) {
  if (!facts.bench && facts.process_wall_ns.empty()) return facts.bench_absent_reason;
  if (!facts.bench) return "no ceiling was measured: only a program's result file can tell one";
  const std::string measured_none = "the workload measured no ceiling";
  const std::string& reason = facts.bench->ceilings_reason;
  return reason.empty() ? measured_none : measured_none + ": " + reason;
}

void set_ceilings(const bare_facts& facts, bare_figures& result) {
  result.vendor_flops_per_s = vendor_peak(facts);
  result.vendor_bytes_per_s = vendor_bandwidth(facts);
  const std::string reason = ceilings_absent_reason(facts);
  if (!facts.bench) {
    result.ceiling_flops_per_s = measured<double>::absent(reason);
    result.ceiling_bytes_per_s = measured<double>::absent(reason);
    return;
  }
  result.ceiling_flops_per_s = or_absent(facts.bench->ceiling_flops_per_s, reason);
  result.ceiling_bytes_per_s = or_absent(facts.bench->ceiling_bytes_per_s, reason);
}

void set_rates(const bare_facts& facts, const bare_figures& figures, const measured<double>& duration_ns,
               utilisation& use) {
  const measured<double> duration_s = quotient(duration_ns, core::ns_per_s);
  use.flops_per_s = quotient(use.flops, duration_s);
  use.bytes_per_s = quotient(use.bytes, duration_s);
  use.mfu_over_measured_ratio = quotient(use.flops_per_s, figures.ceiling_flops_per_s);
  use.mfu_over_vendor_ratio = quotient(use.flops_per_s, figures.vendor_flops_per_s);
  use.mbu_over_measured_ratio = quotient(use.bytes_per_s, figures.ceiling_bytes_per_s);
  use.mbu_over_vendor_ratio = quotient(use.bytes_per_s, figures.vendor_bytes_per_s);
  set_roof(figures, use);
  if (fits_cache(facts, use.bytes)) {
    const auto cache_bytes = static_cast<double>(*facts.last_level_cache_bytes);
    leave_memory_out(fmt::format("what it reads fits the {} cache: the memory ceiling does not apply",
                                 core::format_bytes(cache_bytes)),
                     figures, use);
  }
}

}  // namespace profgate::analysis
