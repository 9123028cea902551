#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/figures.h"
#include "analysis/measured.h"
#include "gate/attribution.h"
#include "gate/run_set.h"

/// Two profiles (or run sets) side by side. It shows differences and judges none: single runs cannot tell a
/// change from noise.
namespace profgate::compare {

/// A kernel under an operator in one stage, or all kernels of a category.
struct side_kernel {
  std::string name{};
  std::string path{};
  std::string category{};
  double launches = 0;
  double total_ns = 0;
  std::optional<double>
      exclusive_ns{};    ///< without waits for the kernel before; of a run set its share of busy time
  std::string device{};  ///< "cuda:0"; empty: it is not known
};

struct side_operator {
  std::string name{};
  std::optional<double> calls{};  ///< of a device: its kernels; nothing: not known
  double time_ns = 0;
};

/// What one of several devices did in a stage.
struct side_device {
  std::map<std::string, analysis::measured<double>> figures{};  ///< by the keys of device_figure_rows()
  std::vector<side_kernel> categories{};
  std::vector<side_operator> operators{};
};

struct side_stage {
  std::string name{};
  std::map<std::string, analysis::measured<double>> figures{};  ///< by the keys of stage_figure_rows()
  std::vector<double> samples_ns{};                             ///< repetitions; of a run set its processes
  std::vector<side_kernel> kernels{};
  std::vector<side_kernel> categories{};
  std::string kernels_absent_reason{};  ///< where there are none
  std::vector<side_operator> operators{};
  std::string operator_time{};                   ///< "on the device", "on the host"
  std::map<std::string, side_device> devices{};  ///< by name; empty: the stage used one, or it is not told
  std::optional<double> tokens{};  ///< that one repetition decodes; nothing: its length depends on none
  double traced_occurrences = 1;   ///< that the kernels and operators are of
};

/// A figure that the program tells of itself (workload.figures), in its own unit.
struct told_figure {
  std::string name{};
  std::string unit{};
  double median = 0;
  std::vector<double> samples{};  ///< of a run set its processes; empty: a profile does not keep them
};

/// One of the two.
struct compared_side {
  std::string name{};    ///< as the caller called it
  std::string source{};  ///< "run", "run set"
  std::string pair{};
  std::string model{};
  std::string config{};
  std::string device_name{};
  std::string commit{};  ///< empty: not known
  std::string created_utc{};
  std::map<std::string, std::string> facts{};  ///< of environment, model and settings, by dotted names
  std::map<std::string, analysis::measured<double>> figures{};
  std::vector<told_figure> told{};
  std::vector<side_stage> stages{};
  std::vector<std::string> problems{};         ///< of the trace
  std::optional<bool> are_peaks_configured{};  ///< else the vendor's; nothing: it has no peaks
};

/// `file` is the name that errors carry. Throws core::bad_input where it is no valid profile.json.
compared_side side_of_profile(std::string_view profile_json, const std::string& file,
                              const std::string& name);
compared_side side_of_run_set(const gate::run_set& runs, const std::string& name);

/// A figure that is set side by side.
struct figure_row {
  std::string key{};  ///< JSON pointer into profile.json, of a stage's figure into stages[]
  analysis::shown_as shown{};
  enum class extent { any, repetition, trace };
  extent of = extent::any;  ///< what its value grows with: nothing, a repetition's tokens, all of a trace
  bool is_left_out_if_absent = false;  ///< of models that have it, and no loss of the others
  std::string unit{};                  ///< of a figure that the program tells: it stands behind each value
  std::string uncertainty_key{};       ///< pointer to its ±, a share of the value; empty: it has none
};
const std::vector<figure_row>& run_figure_rows();
const std::vector<figure_row>& stage_figure_rows();
const std::vector<figure_row>& device_figure_rows();  ///< keys: pointers into stages[].traced.devices[]

/// One start of a program differs from the next by as much, however alike its repetitions are.
inline constexpr double start_noise_ratio = 0.01;

/// By how much the times of B lie above those of A, as the gate tells it (gate/rank_statistics.h): two bounds
/// that each hold with 95 %. The spread of single repetitions says nothing of it: a median of many is far
/// better known than any of them.
struct median_shift {
  double lower_ratio = 0;
  double upper_ratio = 0;

  /// No shift at all lies between the bounds.
  bool may_be_none() const { return lower_ratio <= 0 && upper_ratio >= 0; }
  bool may_be_noise() const { return lower_ratio <= start_noise_ratio && upper_ratio >= -start_noise_ratio; }
};

/// Nothing where there are too few samples for bounds. Both in the same unit, above zero.
std::optional<median_shift> shift_between(const std::vector<double>& a, const std::vector<double>& b);

struct compared_figure {
  figure_row what{};
  analysis::measured<double> a{};
  analysis::measured<double> b{};
  std::optional<median_shift> shift{};  ///< of a figure that has samples of its own
  analysis::measured<double> a_uncertainty_ratio{};
  analysis::measured<double> b_uncertainty_ratio{};

  /// Else it is made of what stages took.
  bool is_told() const { return what.key.starts_with("/program_figures/"); }
  /// The two, each with its ±, reach into one another: nobody knows whether they differ.
  bool is_within_uncertainty() const;
};

/// The same work in both; empty names: only the other has it.
struct compared_kernel {
  std::string a_name{};
  std::string b_name{};
  std::string path{};
  std::string category{};
  std::string device{};  ///< where a side used several: "cuda:0", "cuda:0 and cuda:2"
  gate::matched_by match = gate::matched_by::nothing;
  double a_launches = 0;
  double b_launches = 0;
  double a_ns = 0;
  double b_ns = 0;
};

struct compared_operator {
  std::string name{};
  std::string device{};  ///< as a kernel's
  std::optional<side_operator> a{};
  std::optional<side_operator> b{};
};

/// What a stage's figures are divided by before they are set side by side.
struct stage_unit {
  double repetition = 1;
  double trace = 1;
};

struct compared_stage {
  std::string name{};
  std::string per{};  ///< "token", "occurrence"; empty: all of it, which is the same length in both
  stage_unit a_unit{};
  stage_unit b_unit{};
  bool in_a = true;
  bool in_b = true;
  bool is_same_run = false;
  std::vector<compared_figure> figures{};
  std::optional<median_shift> shift{};     ///< of its times; nothing: too few of them
  bool by_device = false;                  ///< a side used several: each is compared with its like
  bool by_category = false;                ///< of two models nothing else is the same
  bool is_exclusive_time = true;           ///< else with waits for the kernel before
  std::vector<compared_kernel> kernels{};  ///< largest difference first; they add up to all kernel time
  std::string kernels_absent_reason{};
  std::vector<compared_operator> operators{};  ///< largest difference first
  std::string a_operator_time{};
  std::string b_operator_time{};
};

struct differing_fact {
  std::string name{};
  std::optional<std::string> a{};  ///< nothing: it is not recorded there
  std::optional<std::string> b{};
};

struct profile_comparison {
  compared_side a{};
  compared_side b{};
  bool is_cross_device = false;
  bool is_cross_model = false;
  bool is_same_run = false;           ///< or one and its copy
  bool is_other_work = false;         ///< another model, configuration or input: no difference is good or bad
  std::vector<std::string> labels{};  ///< what to know before reading, one sentence each
  std::vector<differing_fact> differs{};
  std::vector<std::pair<std::string, std::string>> same{};
  std::vector<compared_figure> figures{};
  std::vector<compared_stage> stages{};
};

/// A stage's figure and kernel of the one side as they are set beside the other's.
double in_unit(double value, figure_row::extent of, const stage_unit& unit);
/// With every figure, kernel and operator in the stage's units.
compared_stage in_units(compared_stage stage);

profile_comparison compare_sides(const compared_side& a, const compared_side& b);

}  // namespace profgate::compare
