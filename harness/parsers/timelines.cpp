#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "collector/timeline_format.h"
#include "core/error.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

bool is_embedded(const std::filesystem::path& file) {
  std::array<char, sizeof collector::file_magic> magic{};
  std::ifstream in(file, std::ios::binary);
  in.read(magic.data(), magic.size());
  return std::equal(magic.begin(), magic.end(), collector::file_magic);
}

core::timeline read_timeline(const std::filesystem::path& file) {
  return is_embedded(file) ? read_embedded_timeline(file) : read_nsys_sqlite(file);
}

template <typename record>
void append(std::vector<record>& all, std::vector<record>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

core::timeline read_timelines(const std::vector<std::filesystem::path>& files) {
  if (files.empty()) {
    throw core::bad_input("no timeline file to read", "run the timeline step again");
  }
  core::timeline all = read_timeline(files.front());
  for (auto file = files.begin() + 1; file != files.end(); ++file) {
    core::timeline more = read_timeline(*file);
    if (more.tool != all.tool) {
      throw core::bad_input(file->string(), 0,
                            fmt::format("recorded by {}, the others by {}", more.tool, all.tool),
                            "read the files of one capture only");
    }
    append(all.ranges, more.ranges);
    append(all.kernels, more.kernels);
    append(all.copies, more.copies);
    append(all.calls, more.calls);
    append(all.opaque_graphs, more.opaque_graphs);
    append(all.doubts, more.doubts);
    all.texts.adopt(more.texts);
    all.shapes.adopt(more.shapes);
    all.dropped_records += more.dropped_records;
    if (!more.kernels_absent_reason) all.kernels_absent_reason.reset();
  }
  return all;
}

}  // namespace profgate::parsers
