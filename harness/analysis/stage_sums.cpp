#include "stage_sums.h"

#include <algorithm>

#include "core/stage_names.h"

namespace profgate::analysis {

void stage_sums::add_range(const inner_range& inner) {
  const std::int64_t duration_ns = *inner.range->end_ns - inner.range->start_ns;
  if (inner.range->name == core::decode_step_range) {
    steps.calls += 1;
    steps.total_ns += duration_ns;
    return;
  }
  operator_sums& sum = operators[inner.range->name];
  // A function that calls itself is one call, as long as the outermost.
  const bool is_in_itself =
      inner.range->style == core::range_style::push_pop &&
      std::any_of(inner.enclosing.begin(), inner.enclosing.end(),
                  [&](const core::range_record* around) { return around->name == inner.range->name; });
  if (!is_in_itself) {
    sum.total_ns += duration_ns;
    sum.calls += 1;
  }
  if (inner.range->style == core::range_style::start_end) {
    sum.has_start_end = true;
    return;
  }
  sum.self_ns += inner.self_ns;
  if (!inner.on_stage_thread) return;
  sum.on_stage_thread = true;
  sum.self_on_stage_thread_ns += inner.self_ns;
  if (inner.is_outermost) covered_ns += duration_ns;
}

std::string_view stage_sums::add_kernel(const core::kernel_execution& kernel,
                                        const std::vector<const core::range_record*>& enclosing,
                                        std::int64_t exclusive_ns, const graph_attribution::path& replayed,
                                        std::uint32_t shared) {
  const std::int64_t duration_ns = kernel.end_ns - kernel.start_ns;
  std::string_view innermost;
  operator_sums* inner = nullptr;
  // False: the name stands further out already, for all that is inside of it.
  const auto add_to = [&](std::string_view name, bool is_in_itself) {
    inner = &operators[name];
    innermost = name;
    if (is_in_itself) return false;
    inner->cuda_ns += duration_ns;
    inner->cuda_whole_exclusive_ns += exclusive_ns;
    return true;
  };
  for (std::size_t level = 0; level < replayed.size(); ++level) {
    const auto own = replayed.begin() + static_cast<std::ptrdiff_t>(level);
    if (add_to(*own, std::find(replayed.begin(), own, *own) != own) && level >= shared)
      inner->replayed_calls += 1;
  }
  if (replayed.empty()) {
    for (auto own = enclosing.begin(); own != enclosing.end(); ++own) {
      const auto has_its_name = [&](const core::range_record* range) { return range->name == (*own)->name; };
      if ((*own)->name != core::decode_step_range)
        add_to((*own)->name, std::any_of(enclosing.begin(), own, has_its_name));
    }
  }
  if (inner != nullptr) {
    inner->cuda_self_ns += duration_ns;
    inner->cuda_exclusive_ns += exclusive_ns;
  }
  if (kernel.thread_id == 0 && replayed.empty()) unlaunched_kernels += 1;
  kernels.add(kernel, innermost, exclusive_ns);
  place_sums& place = place_of(kernel.process_id, kernel.device);
  place.kernels += 1;
  place.kernel_ns += duration_ns;
  place.exclusive_ns += exclusive_ns;
  // What one call launched comes one after the other: 0 is no call's id.
  const std::uint64_t launch = std::uint64_t{kernel.process_id} << 32 | kernel.correlation;
  if (kernel.correlation == 0 || launch != m_last_launch) {
    place.launches += 1;
    place.launch_call_ns += kernel.call_ns;
  }
  m_last_launch = launch;
  return innermost;
}

void stage_sums::add_copy(const core::copy_execution& copy,
                          const std::vector<const core::range_record*>& enclosing,
                          const graph_attribution::path& replayed) {
  std::vector<std::string_view> names(replayed.begin(), replayed.end());
  if (replayed.empty())
    for (const core::range_record* range : enclosing) names.push_back(range->name);
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) == name)
      operator_copies_ns[*name] += copy.end_ns - copy.start_ns;
  place_sums& place = place_of(copy.process_id, copy.device);
  place.copies += 1;
  place.copy_ns += copy.end_ns - copy.start_ns;
  place.copy_bytes += copy.bytes;
  if (!copy.is_pageable) return;
  place.pageable_copies += 1;
  place.pageable_ns += copy.end_ns - copy.start_ns;
}

place_sums& stage_sums::place_of(std::uint32_t process_id, int device) {
  const std::pair<std::uint32_t, int> where{process_id, device};
  if (m_last_sums == nullptr || where != m_last_place) {
    m_last_place = where;
    m_last_sums = &places[where];
  }
  return *m_last_sums;
}

}  // namespace profgate::analysis
