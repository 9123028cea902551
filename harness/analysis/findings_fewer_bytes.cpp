#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ceilings.h"
#include "core/dtypes.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"

/// A stage that reads its bytes nearly as fast as the memory can gets faster by reading fewer. Most of them
/// are weights, of which each forward pass reads all that a token meets.
namespace profgate::analysis {
namespace {

/// Of the measured bandwidth. What lies farther below gains more by other means.
constexpr double near_bandwidth_ratio = 0.8;

/// Weights of half as many bits as those of the given bytes.
const char* narrower_than(double weight_bytes) {
  return weight_bytes > 2 ? "16-bit weights (BF16)" : "8-bit weights (FP8, INT8)";
}

/// How often one repetition of the stage goes through the model.
double forward_passes(const bare_facts& facts, const std::string& stage) {
  const std::map<std::string, std::int64_t>& tokens = token_counts(facts);
  const auto decoded = tokens.find("decode");
  if (stage == core::decode_all_stage && decoded != tokens.end()) return static_cast<double>(decoded->second);
  return static_cast<double>(inputs_count(facts));
}

/// Parameters that a forward pass reads, at most: several tokens meet more experts than one does.
std::optional<double> parameters_read(const bare_facts& facts, const core::workload_result& model,
                                      const std::string& stage) {
  const bool meets_active_ones = model.experts.empty() || is_pass_of_one_token(facts, stage);
  const auto& count =
      model.active_parameters && meets_active_ones ? model.active_parameters : model.parameters;
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

}  // namespace

void judge_fewer_bytes(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                       findings& result) {
  const utilisation& use = stage.bare.use;
  const measured<double>& mbu = use.mbu_over_measured_ratio;
  const core::workload_result* const model = model_of(facts.bare);
  if (model == nullptr || !use.roof || *use.roof != "memory" || !mbu || *mbu < near_bandwidth_ratio) return;
  const std::optional<double> weight_bytes = bytes_a_weight(model->model_dtype);
  const std::optional<double> parameters = parameters_read(facts.bare, *model, stage.bare.name);
  const measured<double> median_ns = median_ns_of(stage);
  if (!weight_bytes || !parameters || !median_ns) return;
  const double passes = forward_passes(facts.bare, stage.bare.name);
  const double read_bytes = std::min(*use.bytes, *parameters * *weight_bytes * passes);
  const double saved_bytes = read_bytes / 2;
  const double saved_ns =
      std::min(*median_ns, saved_bytes / *figures.bare.ceiling_bytes_per_s * core::ns_per_s);
  if (passes < 1 || saved_ns < small_opportunity_ratio * *median_ns) return;
  const bool is_decoding = stage.bare.name == core::decode_all_stage;
  const char* const unit = is_pass_of_one_token(facts.bare, stage.bare.name) ? "token"
                           : is_decoding                                     ? "step"
                                                                             : "pass";
  recommendation item = saving(
      figures, stage, saved_time::other_arithmetic, 0,
      fmt::format("Read fewer bytes: {} read {} less a {}.{}", narrower_than(*weight_bytes),
                  core::format_bytes(saved_bytes / passes), unit,
                  is_decoding ? " Speculative decoding or a larger batch: fewer a token." : ""),
      fmt::format("MBU {} of the measured bandwidth; weights in {} are {} of the {} that a {} reads",
                  core::format_share_of_ceiling(*mbu), core::long_dtype(model->model_dtype),
                  core::format_bytes(read_bytes / passes), core::format_bytes(*use.bytes / passes), unit));
  // It is the roof itself that sinks: what lies above it does not bound this.
  item.saves_at_most_ns = saved_ns;
  item.saves_at_most_ratio = figures.is_timed_by_itself ? quotient(saved_ns, figures.bare.total_median_ns)
                                                        : measured<double>(saved_ns / *median_ns);
  result.recommendations.push_back(std::move(item));
}

}  // namespace profgate::analysis
