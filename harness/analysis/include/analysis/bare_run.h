#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/measured.h"
#include "analysis/statistics.h"
#include "analysis/telemetry.h"

/// Figures of the bare run: how long, how fast, and how near to what the machine can do.
namespace profgate::analysis {

constexpr double flops_per_tflop = 1e12;

/// How near a piece of work came to the machine's two ceilings.
struct utilisation {
  measured<double> flops;
  measured<double> bytes;
  measured<double> flops_per_s;
  measured<double> bytes_per_s;
  measured<double> mfu_over_measured_ratio;  ///< FLOP/s over the ceiling that the workload measured itself
  measured<double> mfu_over_vendor_ratio;    ///< FLOP/s over the dense peak of the dtype, the vendor's
  measured<double> mbu_over_measured_ratio;
  measured<double> mbu_over_vendor_ratio;
  /// The least time the work can take here: max(flops / ceiling, bytes / ceiling), measured ceilings.
  measured<double> roof_ns;
  measured<std::string> roof;         ///< "compute" or "memory": which of the two it is
  std::string source{};               ///< who says what the work is; empty: nobody
  bool are_peaks_configured = false;  ///< the peaks are no vendor's: somebody set them
};

struct bare_stage {
  std::string name;
  measured<sample_statistics> time_ns;
  std::string time_source{};     ///< where the times come from, in a few words; empty: there are none
  measured<double> share_ratio;  ///< of the sum of all stages' means; of ranges, of all their occurrences
  utilisation use;
  measured<telemetry_figures> telemetry;
  std::optional<core::expert_use> experts{};  ///< of a model with experts, where the workload tells
  measured<double> range_cost_ns = measured<double>::absent("it was not timed");  ///< in each of its times
  /// Of each process that warms up, its first occurrences, which are not among its times.
  std::vector<std::vector<std::int64_t>> warm_up_ns{};
  std::string other_lengths{};  ///< which others are not, in words; empty: none
};

/// All first occurrences that are not among its times, together; of several processes, which warm up at the
/// same time, those of the one that takes longest.
double warm_up_ns(const bare_stage& stage);

/// One of several inputs that a repetition runs, or one with an image.
struct input_figures {
  std::string name;
  std::string image;  ///< in words; empty: none
  std::map<std::string, std::int64_t> tokens;
  measured<sample_statistics> prefill_ns;
  measured<sample_statistics> vision_ns;  ///< a part of prefill_ns
  measured<sample_statistics> decode_all_ns;
};

/// How tokens are timed of a program that does not time itself.
inline constexpr const char* from_step_to_step = "from each decode step to the next";

struct bare_figures {
  std::vector<bare_stage> stages;
  measured<sample_statistics> vision_ns;  ///< a part of prefill, so never one of `stages`
  std::vector<input_figures> inputs{};    ///< empty: one prompt of text, or nobody tells
  measured<double> total_median_ns;       ///< all stages that run inside of no other
  measured<sample_statistics> ttft_ns;    ///< time to the first token
  measured<distribution> ttft_percentiles_ns;
  measured<distribution> tpot_ns;  ///< time of each further token
  std::string tpot_method;         ///< how tpot_ns was obtained, from_step_to_step or other words
  /// Each further token's, the median over the repetitions; of more than 1024 tokens the mean of neighbours.
  measured<std::vector<double>> tpot_by_token_ns;
  measured<sample_statistics> tokens_per_s;  ///< decoded tokens of the batch over decode time
  utilisation model_use;                     ///< all stages together
  measured<double> vendor_flops_per_s;
  measured<double> vendor_bytes_per_s;
  measured<double> ceiling_flops_per_s;
  measured<double> ceiling_bytes_per_s;
  measured<std::int64_t> memory_peak_bytes;
  measured<std::int64_t> weight_bytes;
  measured<std::int64_t> kv_cache_bytes;
  measured<std::int64_t> scratch_bytes;
  measured<double> energy_per_decoded_token_j;
  measured<double> energy_uncertainty_ratio;  ///< of the figure above
};

bare_figures analyze_bare(const bare_facts& facts);

/// Sums over all stages, and the stages' shares in them. `nested`: stages that run inside of others, whose
/// time has theirs already.
void sum_up_stages(const bare_facts& facts, const std::set<std::string>& nested, bare_figures& figures);

/// For a stage of which nobody says what work it does: `flops` and `bytes` of one repetition, as `source` has
/// them.
void set_work(const bare_facts& facts, const bare_figures& figures, const measured<double>& flops,
              const measured<double>& bytes, const std::string& source, bare_stage& stage);

/// "batch", "prompt", "decode": what the workload says of itself, or a program was seen to be fed and to
/// make.
const std::map<std::string, std::int64_t>& token_counts(const bare_facts& facts);

/// An adapter saw the model's calls and no decode step among them. One that takes token ids may be an
/// encoder: its calls look like prefills, and no first token comes of them.
bool is_seen_without_decoding(const bare_facts& facts);

/// How often a repetition goes through each stage: once for each input.
std::int64_t inputs_count(const bare_facts& facts);

/// Why there is no word of the vendor's on the peaks, where there is none.
std::string peaks_source_absent_reason(const bare_facts& facts);

/// Why there is no ceiling that the workload measured, where there is none.
std::string ceilings_absent_reason(const bare_facts& facts);

/// Of a stage that only a trace can know: `reason` says why it was not timed.
bare_stage untimed_stage(const bare_facts& facts, const bare_figures& figures, const std::string& name,
                         const std::string& reason);

/// stage1/metrics.json (R17), pretty printed.
std::string stage1_metrics_json(const bare_facts& facts);

}  // namespace profgate::analysis
