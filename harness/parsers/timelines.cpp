#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/stage_names.h"
#include "gpu_numbers.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

template <typename record>
void append(std::vector<record>& all, std::vector<record>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// One number for each of the names, the same for all processes: the number that it is, or a free one.
std::map<std::string_view, int> numbers_of_gpus(const core::timeline& timeline) {
  std::map<std::string_view, int> numbers;
  std::set<int> taken;
  for (const auto& [process, gpus] : timeline.visible_gpus) {
    for (const std::string& gpu : gpus) {
      int number = -1;
      const auto [end, error] = std::from_chars(gpu.data(), gpu.data() + gpu.size(), number);
      const bool is_number = error == std::errc{} && end == gpu.data() + gpu.size() && number >= 0;
      numbers.emplace(gpu, is_number ? number : -1);
      if (is_number) taken.insert(number);
    }
  }
  int next = 0;
  for (auto& [gpu, number] : numbers) {
    if (number >= 0) continue;
    while (taken.contains(next)) ++next;
    number = next++;
  }
  return numbers;
}

}  // namespace

void tell_gpus_apart(core::timeline& timeline) {
  if (timeline.visible_gpus.empty()) return;
  const std::map<std::string_view, int> numbers = numbers_of_gpus(timeline);
  gpu_numbers gpus;
  const auto add = [&](const auto& works) {
    for (const auto& work : works) {
      const auto visible = timeline.visible_gpus.find(work.process_id);
      if (visible == timeline.visible_gpus.end()) {
        gpus.add(work.process_id, work.device, work.device);  // it sees them all
      } else if (static_cast<std::size_t>(work.device) < visible->second.size()) {
        gpus.add(work.process_id, work.device,
                 numbers.at(visible->second[static_cast<std::size_t>(work.device)]));
      }
    }
  };
  add(timeline.kernels);
  add(timeline.copies);
  if (!gpus.is_ambiguous()) return;
  for (core::kernel_execution& kernel : timeline.kernels)
    kernel.device = gpus.number(kernel.process_id, kernel.device);
  for (core::copy_execution& copy : timeline.copies) copy.device = gpus.number(copy.process_id, copy.device);
}

void append_timeline(core::timeline& all, core::timeline more, const std::filesystem::path& file_of_more) {
  if (more.tool != all.tool) {
    throw core::bad_input(file_of_more.string(), 0,
                          fmt::format("recorded by {}, the others by {}", more.tool, all.tool),
                          "read the files of one capture only");
  }
  all.process_names.merge(more.process_names);
  all.visible_gpus.merge(more.visible_gpus);
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

void rename_raised_calls(core::timeline& timeline) {
  // Process, thread and domain: ranges of others may lie around the mark as well, and did not raise.
  using place = std::tuple<std::uint32_t, std::uint32_t, std::string_view>;
  const auto place_of = [](const core::range_record& range) {
    return place(range.process_id, range.thread_id, range.domain);
  };
  std::map<place, std::vector<core::range_record*>> by_thread;
  for (const core::range_record& range : timeline.ranges)
    if (range.name == core::raised_range) by_thread[place_of(range)];
  if (by_thread.empty()) return;
  for (core::range_record& range : timeline.ranges) {
    if (range.style != core::range_style::push_pop || !range.end_ns) continue;
    const auto thread = by_thread.find(place_of(range));
    if (thread != by_thread.end()) thread->second.push_back(&range);
  }
  for (auto& [thread, ranges] : by_thread) {
    std::sort(ranges.begin(), ranges.end(), [](const auto* a, const auto* b) {
      return std::pair(a->start_ns, -*a->end_ns) < std::pair(b->start_ns, -*b->end_ns);
    });
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (ranges[i]->name != core::raised_range) continue;
      std::size_t outer = i;
      while (outer > 0 && *ranges[outer - 1]->end_ns < *ranges[i]->end_ns) --outer;
      if (outer > 0) ranges[outer - 1]->name = ranges[i]->name;
    }
  }
}

}  // namespace profgate::parsers
