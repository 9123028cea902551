#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/library_kernels.h"
#include "core/units.h"
#include "findings_parts.h"

/// What a kernel's grid leaves of the GPU. A wave is as many blocks as fit at once: the places. A grid with
/// fewer blocks leaves places empty, one with a few more than whole waves leaves most of the last wave empty.
/// What such a change saves is bounded by the roof alone: blocks differ in length, and a finer grid evens
/// that out, too.
namespace profgate::analysis {
namespace {

/// From here on a wave counts as full: what the rest would add is no reason of its own.
constexpr double full_wave_ratio = 0.9;
/// Of its places over all of its waves; below it an emptier last wave is no finding.
constexpr double large_tail_ratio = 0.2;
/// ncu tells waves in hundredths.
constexpr double ncu_rounds_waves_to = 0.01;
/// Of the multiprocessors: a grid for fewer leaves nearly all of the GPU idle.
constexpr double few_sms_ratio = 0.1;

/// How a grid gets more blocks: what is split depends on what the kernel does.
std::string split_further(const counted_kernel& kernel) {
  if (is_library_kernel(kernel.group.kernel_name)) return larger_product;
  const std::string& category = kernel.group.category;
  if (category == "attention") return "split it further (more splits of the keys, smaller tiles)";
  const bool is_product = category == "gemm" || category == "gemv" || category == "convolution";
  if (is_product || category.empty()) return "split it further (split-K, smaller tiles)";
  return "spread it over more and smaller blocks, or fuse it with its neighbours";
}

/// What one multiprocessor holds of a kernel's blocks, and what keeps it from holding more.
struct resident_blocks {
  double at_most;
  std::string limiters;  ///< "its registers and its shared memory"
};

/// Nothing where ncu did not tell.
std::optional<resident_blocks> blocks_an_sm(const counted_kernel& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 4> limits{
      {{"occupancy_limit_registers_blocks", "its registers"},
       {"occupancy_limit_shared_memory_blocks", "its shared memory"},
       {"occupancy_limit_warps_blocks", "the size of its blocks"},
       {"occupancy_limit_blocks_blocks", "the number of blocks"}}};
  std::optional<resident_blocks> fewest;
  for (const auto& [key, name] : limits) {
    const measured<double> blocks = metric_of(kernel, key);
    if (!blocks) return std::nullopt;
    if (fewest && *blocks > fewest->at_most) continue;
    const bool is_alike = fewest && *blocks == fewest->at_most;
    fewest = resident_blocks{*blocks, is_alike ? fewest->limiters + " and " + name : name};
  }
  return fewest;
}

std::string blocks_in_words(double count) {
  return fmt::format("{:.0f} {}", count, count == 1 ? "block" : "blocks");
}

double blocks_in_grid(const counted_kernel& kernel) {
  const auto& [x, y, z] = kernel.group.grid;
  return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
}

/// How many waves of blocks a grid makes.
struct wave_count {
  double waves;
  bool is_exact;  ///< else as ncu rounds it
};

/// Nothing where ncu did not tell.
std::optional<wave_count> waves_of(const counted_kernel& kernel) {
  const measured<double> rounded = metric_of(kernel, "waves_ratio");
  if (!rounded) return std::nullopt;
  const std::optional<resident_blocks> resident = blocks_an_sm(kernel);
  if (!resident || resident->at_most <= 0 || kernel.multiprocessors.value_or(0) <= 0)
    return wave_count{*rounded, false};
  const double waves =
      blocks_in_grid(kernel) / (resident->at_most * static_cast<double>(*kernel.multiprocessors));
  // Where they are farther apart, something else (clusters, barriers) limits what an SM holds.
  return std::abs(waves - *rounded) <= ncu_rounds_waves_to ? wave_count{waves, true}
                                                           : wave_count{*rounded, false};
}

/// How many of the multiprocessors get a block, for blocks go to empty ones first; 1 where nobody tells.
double used_sms_ratio(const counted_kernel& kernel) {
  if (kernel.multiprocessors && *kernel.multiprocessors > 0)
    return std::min(1.0, blocks_in_grid(kernel) / static_cast<double>(*kernel.multiprocessors));
  const measured<double> waves = metric_of(kernel, "waves_ratio");
  const std::optional<resident_blocks> resident = blocks_an_sm(kernel);
  return waves && resident ? std::min(1.0, *waves * resident->at_most) : 1;
}

/// Each of its blocks sees all positions up to its own: the last rows' take longest. Names tell, as those of
/// kernels do that compute attention for a whole prompt.
bool is_causal(const counted_kernel& kernel) {
  return kernel.group.category == "attention" && kernel.group.kernel_name.find("causal") != std::string::npos;
}

/// Of a wave, or of several: with no more digits than are known. Of a few blocks ncu's waves are 0.
std::string wave_percent(double ratio, bool is_exact) {
  if (is_exact) return core::format_percent(ratio);
  return ratio < ncu_rounds_waves_to ? "less than 1 %" : fmt::format("{:.0f} %", 100 * ratio);
}

}  // namespace

bool is_library_kernel(std::string_view kernel_name) {
  return !core::library_of_kernel(kernel_name).empty();
}

measured<double> metric_of(const counted_kernel& kernel, const std::string& key) {
  const auto found = kernel.metrics.find(key);
  return found != kernel.metrics.end() ? found->second : measured<double>::absent("ncu did not count it");
}

std::string occupancy_limiter(const counted_kernel& kernel) {
  const std::optional<resident_blocks> resident = blocks_an_sm(kernel);
  return resident ? resident->limiters : "";
}

double taken_places_ratio(const counted_kernel& kernel) {
  const std::optional<wave_count> count = waves_of(kernel);
  return count && count->waves > 0 ? count->waves / std::ceil(count->waves) : 1;
}

bool leaves_most_sms_idle(const counted_kernel& kernel) {
  return used_sms_ratio(kernel) <= few_sms_ratio;
}

std::string advice_on_empty_places(const counted_kernel& kernel) {
  const std::optional<wave_count> count = waves_of(kernel);
  if (!count || count->waves >= full_wave_ratio) return "";
  const double sms_ratio = used_sms_ratio(kernel);
  if (sms_ratio < full_wave_ratio)
    return kernel.multiprocessors
               ? fmt::format("its grid of {} uses {:.0f} of {} SMs: {}",
                             blocks_in_words(blocks_in_grid(kernel)), blocks_in_grid(kernel),
                             *kernel.multiprocessors, split_further(kernel))
               : fmt::format("its grid has blocks for {} of the SMs: {}", wave_percent(sms_ratio, false),
                             split_further(kernel));
  return fmt::format("its grid fills {} of one wave: {}", wave_percent(count->waves, count->is_exact),
                     split_further(kernel));
}

std::string advice_on_last_wave(const counted_kernel& kernel) {
  const std::optional<wave_count> count = waves_of(kernel);
  if (!count || count->waves <= 1) return "";
  const std::string last_percent = wave_percent(count->waves - std::floor(count->waves), count->is_exact);
  const double empty_ratio = 1 - taken_places_ratio(kernel);
  if (empty_ratio < large_tail_ratio) return "";
  if (is_causal(kernel))
    return fmt::format(
        "its last wave is {} full, and its blocks differ in length, for later rows see more keys: start the "
        "longest first, so that short ones fill the end, or {}",
        last_percent, split_further(kernel));
  return fmt::format(
      "its last wave is {} full, and blocks of equal length leave {} of the GPU's places empty: {}, or fit "
      "its grid to whole waves",
      last_percent, wave_percent(empty_ratio, count->is_exact), split_further(kernel));
}

std::string advice_on_single_wave(const counted_kernel& kernel) {
  const std::optional<wave_count> count = waves_of(kernel);
  if (!count || count->waves >= 1) return "";
  // More blocks of the same size would only queue up behind these.
  const std::optional<resident_blocks> resident = blocks_an_sm(kernel);
  const std::string remedy =
      "smaller blocks, of which more fit, and more splits, or more loads in flight for each";
  if (!resident) return fmt::format("few warps are active, in less than one wave of blocks: {}", remedy);
  return fmt::format(
      "few warps are active: an SM holds {} at most (limited by {}), and its grid fits at once: {}",
      blocks_in_words(resident->at_most), resident->limiters, remedy);
}

std::string launch_in_words(const counted_kernel& kernel) {
  const auto& [grid_x, grid_y, grid_z] = kernel.group.grid;
  const auto& [block_x, block_y, block_z] = kernel.group.block;
  std::string words =
      fmt::format("grid ({}, {}, {}), block ({}, {}, {})", grid_x, grid_y, grid_z, block_x, block_y, block_z);
  if (const measured<double> registers = metric_of(kernel, "registers_per_thread_count"))
    words += fmt::format(", {:.0f} registers a thread", *registers);
  if (const std::optional<resident_blocks> resident = blocks_an_sm(kernel))
    words += fmt::format(", at most {} an SM", blocks_in_words(resident->at_most));
  return words;
}

std::string waves_words(double waves) {
  // ncu's hundredths, as far as a reader needs them: "1.45", "9.9", "123".
  std::string number = waves < 10 ? fmt::format("{:.2f}", waves) : fmt::format("{:.3g}", waves);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number + (number == "1" ? " wave" : " waves");
}

}  // namespace profgate::analysis
