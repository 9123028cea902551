#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stage_rules.h"
#include "config/config.h"
#include "profilers/capture.h"

/// A run's settings (config.yaml) as what measuring and analysis take.
namespace profgate::runs {

/// The stages in the order in which tools are run on them: the configured gate's first, whose files get the
/// plain names.
std::vector<std::string> stages_gate_first(const config::resolved& config);

/// workload.stages, each with the ranges that it stands for.
std::vector<analysis::stage_rule> stage_rules_of(const config::resolved& config);

/// Of those that an expression describes: it, by the stage's name.
std::map<std::string, std::string> stage_expressions_of(const config::resolved& config);

/// Those that an adapter times by events among the device's work: it does not wait for the device.
std::vector<std::string> device_timed_stages(const config::resolved& config);

/// Those with sync: true.
std::vector<std::string> synchronised_stages(const config::resolved& config);
/// The ranges of these stages, as the collector is told of them; bad_input where one is an expression.
std::vector<profilers::range_name> named_ranges(const config::resolved& config,
                                                const std::vector<std::string>& stages);

/// Which part of a run nsys was told to record, where no range gates it: "from 1 s, for 1 s"; empty: all.
std::string recorded_part_of(const config::resolved& config);

/// An adapter names a model's modules by their paths.
analysis::layers layers_of(const config::resolved& config);

/// hardware.*; nothing where no figure of the vendor's is known.
std::optional<analysis::hardware_peaks> peaks_of(const config::resolved& config);

/// What the model was fed; `seen` by an adapter, named as a result names them, comes before the settings.
std::vector<analysis::named_value> inputs_of(const config::resolved& config,
                                             const std::map<std::string, std::int64_t>& seen,
                                             bool is_mean_decode = false);

/// categories.kernels and categories.operators.
analysis::category_rules category_rules_of(const config::resolved& config);

/// Settings that are not their defaults, secrets redacted; without what the report tells anyhow, the model's
/// shape and the hardware's peaks, and without the pages of patterns that sort kernels into categories.
std::vector<analysis::changed_setting> changed_settings_of(const config::resolved& config);

}  // namespace profgate::runs
