#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/facts.h"
#include "analysis/timeline_analysis.h"
#include "core/records.h"

/// The closed loop: from the timeline to what ncu shall count.
namespace profgate::analysis {

/// run.top_n_kernels and run.top_kernels_share_ratio.
struct selection_limits {
  std::size_t top_n = 20;
  double share_ratio = 1;  ///< of the stage's GPU time: kernels beyond it are left out; 1: none are
};

/// What is to be counted of one stage.
struct kernel_selection {
  std::string stage;
  std::vector<core::kernel_group> groups;  ///< largest total first
  std::int64_t stage_ns = 0;               ///< own time of all groups of the stage
  std::int64_t selected_ns = 0;
  std::size_t groups_in_stage = 0;
  /// Where it is made of several stages: which one each of `groups` belongs to, from 0. Empty: all to one.
  std::vector<std::size_t> stage_of_group{};

  double share_ratio() const {
    return stage_ns > 0 ? static_cast<double>(selected_ns) / static_cast<double>(stage_ns) : 0;
  }
};

/// All groups of the `top_n` kernels with the largest total time, or of as many as make up the wanted share
/// of the stage's GPU time, whichever is fewer.
kernel_selection select_kernels(const std::string& stage, const std::vector<core::kernel_group>& groups,
                                const selection_limits& limits);

/// What a launch looks like to ncu, which knows no operator while it filters.
struct launch_configuration {
  std::string kernel_name;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  bool is_in_stage = true;  ///< false: ncu sees it, and nobody wants it

  bool operator<(const launch_configuration& other) const {
    return std::tie(kernel_name, grid, block, is_in_stage) <
           std::tie(other.kernel_name, other.grid, other.block, other.is_in_stage);
  }
};

/// Launches of a stage in the order in which the host made them, which is that of ncu.
struct launch_order {
  std::vector<launch_configuration> configurations;  ///< each once
  std::vector<std::uint32_t> launches;               ///< indices into `configurations`
  /// Of each kernel its names as the linker knows them: ncu filters by these, since it simplifies the others.
  std::map<std::string, std::vector<std::string>> mangled_names;
  /// Kernels that the first instance of a range launches far more often than any later one: a compiler that
  /// tunes (torch.compile) tries them for some milliseconds, which is another number of launches at each
  /// start.
  std::set<std::string> tuned_kernels;
};

/// Kernels as a filter finds them: by the linker's names, where those of all are known, else by their own.
struct kernel_spellings {
  bool are_mangled = false;
  std::vector<std::vector<std::string>> by_kernel{};  ///< in the order asked for
};
kernel_spellings spellings_of(const std::vector<std::string>& kernels, const launch_order& order);

/// From the capture that is gated on the stage, else the first that holds it; empty where none does.
launch_order order_of_launches(const std::vector<capture>& captures, const std::string& stage,
                               const std::string& nvtx_domain);

enum class counted_launches { all, inside_ranges };

/// The launches of a program, for an ncu that no range holds back or that only counts inside of these. Of
/// several processes the one that launches most inside of them. Empty where there are none of the ranges.
launch_order order_of_program(const core::timeline& timeline, const std::vector<std::string>& ranges,
                              const std::string& nvtx_domain, counted_launches which);
/// The same of the first capture that has any of the ranges.
launch_order order_of_program(const std::vector<capture>& captures, const std::vector<std::string>& ranges,
                              const std::string& nvtx_domain, counted_launches which);

struct plan_limits {
  std::int64_t launches_per_kernel = 3;  ///< of each group
  std::int64_t windows = 1;              ///< at most
  std::int64_t launches = 100;           ///< of all windows, at most
};

/// A stretch of the stage's launches of the selected kernels: ncu's --launch-skip and --launch-count.
struct launch_window {
  std::int64_t skip = 0;
  std::int64_t count = 0;
};

/// Where in the stage to count: one window, as near as possible to its middle, so that a kernel whose cost
/// grows with the context is seen at its mean. It is as short as it can be with every group in it often
/// enough, the first launch of a kernel not counted: that one pays for loading. Where the limit is too small
/// for all, launches of the rarest kernels give way first. Kernels that lie too far apart for that, as those
/// of an image's encoder and of the decoder behind it, get further windows, each where most of what is still
/// missing lies; some of each stage rather than all of one.
///
/// ncu counts skipped and profiled launches inside of the NVTX filter and among the kernels that match by
/// name, seen on an H200. Its other means do not do: --filter-mode per-launch-config forgets the kernel's
/// name, and --kernel-id counts invocations from a start that depends on the warm-up.
std::vector<launch_window> plan_windows(const kernel_selection& selection, const launch_order& order,
                                        const plan_limits& limits);

/// One stage of ncu/selection.json.
struct planned_stage {
  kernel_selection selection;
  std::vector<launch_window> windows;
  std::string seeding_reason;  ///< why nothing was selected and the stage's first launches are counted
};

/// ncu/selection.json. `notes`: what else a reader must know.
std::string selection_json(const std::vector<planned_stage>& stages, const selection_limits& limits,
                           const std::vector<std::string>& notes);

}  // namespace profgate::analysis
