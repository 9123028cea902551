#include "gate/stage_structure.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/stage_windows.h"

namespace profgate::gate {

std::int64_t operation_facts::launch_count() const {
  std::int64_t count = 0;
  for (const auto& [configuration, launched] : launches) count += launched;
  return count;
}

std::vector<operation_facts> facts_of(const std::vector<analysis::operation>& asked_for,
                                      const std::map<std::string_view, std::uint64_t>& code_hashes) {
  std::map<std::pair<std::string_view, std::string_view>, operation_facts> all;
  for (const analysis::operation& one : asked_for) {
    operation_facts& facts = all[{one.name, one.path}];
    if (facts.name.empty()) {
      facts.name = one.name;
      facts.path = one.path;
      const auto code = one.shape == nullptr ? code_hashes.end() : code_hashes.find(one.shape->mangled_name);
      if (code != code_hashes.end()) facts.code = fmt::format("{:016x}", code->second);
    }
    launch_configuration configuration;
    if (one.shape != nullptr)
      configuration = {one.shape->grid,
                       one.shape->block,
                       one.shape->registers_per_thread,
                       one.shape->shared_bytes,
                       one.shape->dynamic_shared_bytes,
                       one.shape->local_bytes,
                       one.shape->cluster};
    facts.launches[configuration] += 1;
    facts.bytes += one.bytes;
  }
  std::vector<operation_facts> sorted;
  for (auto& [key, facts] : all) sorted.push_back(std::move(facts));
  return sorted;
}

stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens) {
  stage_structure structure;
  structure.tokens = tokens;
  const std::vector<analysis::stage_window> windows =
      analysis::find_windows(timeline, {std::string(stage)}, domain);
  if (timeline.kernels_absent_reason) structure.kernels_absent_reason = *timeline.kernels_absent_reason;
  if (windows.empty()) structure.kernels_absent_reason = "the stage does not occur in the trace";
  if (!structure.kernels_absent_reason.empty()) return structure;
  // What counts is what it asks for, whenever the device gets round to it.
  const analysis::stage_window& last = analysis::telling_window(timeline, windows);
  const auto is_inside = [&](std::uint32_t process_id, std::int64_t at_ns) {
    return process_id == last.process_id && last.start_ns <= at_ns && at_ns <= last.end_ns;
  };
  const auto is_asked_for = [&](const auto& one) { return is_inside(one.process_id, one.launched_ns); };
  for (const core::opaque_graph& graph : timeline.opaque_graphs) {
    if (!is_asked_for(graph)) continue;
    structure.kernels_absent_reason = "kernels of a graph were not seen, the graph as a whole was";
    return structure;
  }
  std::set<std::uint64_t> calls;
  std::set<std::uint64_t> nodes;
  structure.kernels.emplace();
  bool knows_calls = true;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (!is_asked_for(kernel)) continue;
    structure.kernels->insert(std::string(kernel.shape->name));
    knows_calls = knows_calls && kernel.correlation != 0;
    calls.insert(kernel.correlation);
    if (kernel.graph_node != 0) nodes.insert(kernel.graph_node);
  }
  if (knows_calls) structure.launches = static_cast<std::int64_t>(calls.size());
  structure.graph_nodes = static_cast<std::int64_t>(nodes.size());
  std::set<std::uint64_t> copies;
  for (const core::copy_execution& copy : timeline.copies) {
    if (copy.graph_node != 0 && is_asked_for(copy)) copies.insert(copy.graph_node);
  }
  structure.graph_copies = static_cast<std::int64_t>(copies.size());
  structure.synchronisations.emplace();
  for (const core::host_call& call : timeline.calls) {
    if (is_inside(call.process_id, call.start_ns) && analysis::is_synchronisation(call))
      (*structure.synchronisations)[std::string(call.name)] += 1;
  }
  return structure;
}

}  // namespace profgate::gate
