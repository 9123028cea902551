#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "range_sweep.h"

namespace profgate::analysis {

/// "attn/attn.qkv": the names of ranges, the outermost first.
std::string path_through(const std::vector<const core::range_record*>& ranges);

/// The paths of all kernels and copies, by the ranges around their launches.
class path_finder : public sweep_visitor {
 public:
  path_finder(const core::timeline& timeline, core::text_pool& texts)
      : kernel_paths(timeline.kernels.size()),
        copy_paths(timeline.copies.size()),
        kernel_host_ranges(timeline.kernels.size()),
        copy_host_ranges(timeline.copies.size()),
        kernel_layers(timeline.kernels.size(), core::no_layer),
        copy_layers(timeline.copies.size(), core::no_layer),
        m_texts(texts) {}

  void on_range(const inner_range&) override {}

  void on_operation(const launched_operation& launched) override;

  std::vector<std::string_view> kernel_paths;
  std::vector<std::string_view> copy_paths;
  std::vector<std::string_view>
      kernel_host_ranges;  ///< where a graph's replay was asked for, not its capture
  std::vector<std::string_view> copy_host_ranges;
  std::vector<std::int32_t> kernel_layers;
  std::vector<std::int32_t> copy_layers;

 private:
  core::text_pool& m_texts;
  std::vector<const core::range_record*> m_last_ranges;
  std::string_view m_last_path;
  std::int32_t m_last_layer = core::no_layer;
};

}  // namespace profgate::analysis
