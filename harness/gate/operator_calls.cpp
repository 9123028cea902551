#include "gate/operator_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/units.h"

namespace profgate::gate {
namespace {

std::string whole_path(const analysis::operation& stretch) {
  return stretch.path.empty() ? std::string(stretch.name) : fmt::format("{}/{}", stretch.path, stretch.name);
}

std::optional<double> calls_in(const stage_structure& structure, const std::string& name,
                               const std::string& path) {
  const auto found = structure.calls.find({name, path});
  if (found == structure.calls.end()) return std::nullopt;
  return static_cast<double>(found->second);
}

std::string counted_calls(double calls) {
  return fmt::format("{:.0f} call{}", calls, calls == 1 ? "" : "s");
}

void add_calls(const analysis::stage_trace& occurrence, const std::string& stage, operator_calls& calls) {
  const std::string outside = stage + " outside of operators";
  std::vector<std::string> open;  // whole paths, each inside of the one before
  for (const analysis::operation& stretch : occurrence.operations) {
    if (stretch.category != "host") continue;
    const std::string path = whole_path(stretch);
    while (!open.empty() && open.back() != path && !path.starts_with(open.back() + "/")) open.pop_back();
    if (stretch.name == outside) continue;               // is nobody's call
    if (!open.empty() && open.back() == path) continue;  // goes on after what interrupted it
    calls[{std::string(stretch.name), std::string(stretch.path)}] += 1;
    open.push_back(path);
  }
}

}  // namespace

operator_calls calls_of(const std::vector<const analysis::stage_trace*>& occurrences,
                        const std::string& stage) {
  operator_calls calls;
  for (const analysis::stage_trace* occurrence : occurrences) add_calls(*occurrence, stage, calls);
  const auto count = static_cast<std::int64_t>(occurrences.size());
  for (auto& [op, sum] : calls) sum = std::max<std::int64_t>(1, (sum + count / 2) / count);
  return calls;
}

void count_calls(const stage_structure& baseline, const stage_structure& candidate, attribution& result) {
  for (cause& one : result.causes) {
    if (!is_of_host(one)) continue;
    if (one.kind != cause_kind::new_operation)
      one.baseline_calls = calls_in(baseline, one.baseline_name.empty() ? one.name : one.baseline_name,
                                    one.baseline_path.empty() ? one.path : one.baseline_path);
    if (one.kind != cause_kind::gone_operation) one.candidate_calls = calls_in(candidate, one.name, one.path);
    if (one.kind != cause_kind::launches && one.kind != cause_kind::duration) continue;
    // How many stretches there are is no evidence of anything.
    std::erase_if(one.changes, [](const std::string& change) {
      return change == "more launches" || change == "fewer launches";
    });
    one.kind = cause_kind::duration;
    if (!one.baseline_calls || !one.candidate_calls || *one.baseline_calls == *one.candidate_calls) continue;
    const bool is_more = *one.candidate_calls > *one.baseline_calls;
    if (is_more != (one.delta_ns > 0)) continue;
    one.kind = cause_kind::launches;
    one.changes.emplace_back(is_more ? "more launches" : "fewer launches");
  }
}

bool is_of_host(const cause& one) {
  return one.category == "host";
}

host_words words_of_host(const cause& one) {
  const double was_ns = one.baseline_launches * one.baseline_each_ns;
  const double is_ns = one.candidate_launches * one.candidate_each_ns;
  const bool more = one.delta_ns > 0;
  const auto alone = [](double whole_ns, const std::optional<double>& calls) {
    return calls ? fmt::format("{}, {} each", counted_calls(*calls), core::format_duration(whole_ns / *calls))
                 : core::format_duration(whole_ns) + " in all";
  };
  if (one.kind == cause_kind::new_operation) return {"new", alone(is_ns, one.candidate_calls)};
  if (one.kind == cause_kind::gone_operation) return {"gone", alone(was_ns, one.baseline_calls)};
  const std::string what = more ? "slower" : "faster";
  if (!one.baseline_calls || !one.candidate_calls) return {what, times_text(was_ns, is_ns) + " in all"};
  const std::string each = times_text(was_ns / *one.baseline_calls, is_ns / *one.candidate_calls);
  if (one.kind == cause_kind::launches)
    return {more ? "called more often" : "called less often",
            fmt::format("{:.0f} → {:.0f} times, {} each", *one.baseline_calls, *one.candidate_calls, each)};
  const bool are_as_many = *one.baseline_calls == *one.candidate_calls;
  return {what, fmt::format("own time {} a call, {}{}", each,
                            are_as_many ? "" : fmt::format("{:.0f} → ", *one.baseline_calls),
                            counted_calls(*one.candidate_calls))};
}

}  // namespace profgate::gate
