#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

template <typename record>
void append(std::vector<record>& all, std::vector<record>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

void append_timeline(core::timeline& all, core::timeline more, const std::filesystem::path& file_of_more) {
  if (more.tool != all.tool) {
    throw core::bad_input(file_of_more.string(), 0,
                          fmt::format("recorded by {}, the others by {}", more.tool, all.tool),
                          "read the files of one capture only");
  }
  all.process_names.merge(more.process_names);
  append(all.ranges, more.ranges);
  append(all.kernels, more.kernels);
  append(all.copies, more.copies);
  append(all.calls, more.calls);
  append(all.opaque_graphs, more.opaque_graphs);
  append(all.graph_nodes, more.graph_nodes);
  append(all.doubts, more.doubts);
  for (const std::string& name : more.gpu_names)
    if (std::find(all.gpu_names.begin(), all.gpu_names.end(), name) == all.gpu_names.end())
      all.gpu_names.push_back(name);
  if (!all.recorded_utc || (more.recorded_utc && *more.recorded_utc < *all.recorded_utc))
    all.recorded_utc = more.recorded_utc;  // texts of that form sort as their times do
  // Ranks load the same code; where they do not, neither their order nor their number makes a difference.
  for (const auto& [kernel, hash] : more.code_hashes) all.code_hashes[kernel] |= hash;
  all.texts.adopt(more.texts);
  all.shapes.adopt(more.shapes);
  all.dropped_records += more.dropped_records;
  if (!more.kernels_absent_reason) all.kernels_absent_reason.reset();
}

}  // namespace profgate::parsers
