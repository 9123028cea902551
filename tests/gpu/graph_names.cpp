// Operators of replayed kernels by the ranges of their capture, against the workload's graph map.
//   graph_names <timeline file> <result.json>
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "analysis/stage_operations.h"
#include "parsers/workload_result.h"
#include "profilers/backends.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  using namespace profgate;
  const auto told = parsers::read_workload_result(argv[2]);
  core::timeline timeline = profilers::read_timelines({argv[1]});
  fmt::print("{} nodes made, {} kernels, {} maps of {} nodes\n", timeline.graph_nodes.size(),
             timeline.kernels.size(), told.graph_maps.size(),
             told.graph_maps.empty() ? 0 : told.graph_maps[0].nodes.size());
  const auto by_ranges = analysis::label_operations(timeline, "decode_all", {"LLM", nullptr, nullptr});
  core::timeline without = profilers::read_timelines({argv[1]});
  without.graph_nodes.clear();
  const auto by_map = analysis::label_operations(without, "decode_all", {"LLM", &told.graph_maps, nullptr});
  std::size_t equal = 0;
  std::size_t all = 0;
  std::map<std::string, int> different;
  for (std::size_t o = 0; o < by_map.occurrences.size(); ++o)
    for (std::size_t i = 0; i < by_map.occurrences[o].operations.size(); ++i) {
      const auto& a = by_ranges.occurrences.at(o).operations.at(i);
      const auto& b = by_map.occurrences[o].operations[i];
      ++all;
      if (a.path == b.path && !a.path.empty()) {
        ++equal;
      } else {
        ++different[fmt::format("{}: ranges '{}', map '{}'", a.name.substr(0, 40), a.path, b.path)];
      }
    }
  fmt::print("{} of {} operations equal, {} unmatched\n", equal, all, by_map.unmatched);
  for (const auto& [text, count] : different) fmt::print("  {} times {}\n", count, text);
  return equal == all && all > 0 ? 0 : 1;
}
