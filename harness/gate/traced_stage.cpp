#include "gate/traced_stage.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "busy_time.h"
#include "gate/kernel_names.h"

namespace profgate::gate {
namespace {

using sums_by_name = std::map<std::pair<std::string_view, std::string_view>, operation_sum>;

std::string category_of(const operation& one) {
  if (!one.category.empty()) return std::string(one.category);
  return one.is_copy ? "copy" : category_of_name(one.name);
}

void add_operations(const stage_trace& trace, const stage_times& times, sums_by_name& sums) {
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    const operation& one = trace.operations[i];
    const std::int64_t at_ns =
        std::max<std::int64_t>(one.start_ns - trace.start_ns, 0);  // it may begin before it
    const auto [found, is_new] = sums.try_emplace({one.name, one.path});
    operation_sum& sum = found->second;
    if (is_new) {
      sum.name = one.name;
      sum.operator_path = one.path;
      sum.category = category_of(one);
      sum.first_at_ns = at_ns;
    }
    sum.first_at_ns = std::min(sum.first_at_ns, at_ns);
    sum.launches += 1;
    sum.total_ns += one.end_ns - one.start_ns;
    sum.shared_units += times.share_units[i];
  }
}

}  // namespace

traced_stage sum_up(const std::vector<stage_trace>& occurrences) {
  traced_stage stage;
  stage.times.emplace();
  sums_by_name sums;
  for (const stage_trace& trace : occurrences) {
    const stage_times times = share_time(trace);
    stage.times->occurrences += 1;
    stage.times->time_ns += times.total_ns;
    for (std::size_t cause = 0; cause < idle_cause_count; ++cause)
      stage.times->idle.by_cause_ns[cause] += times.idle.by_cause_ns[cause];
    add_operations(trace, times, sums);
  }
  for (auto& [key, sum] : sums) stage.operations.push_back(std::move(sum));
  return stage;
}

}  // namespace profgate::gate
