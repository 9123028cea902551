#include "operation_paths.h"

#include "nesting.h"

namespace profgate::analysis {

std::string path_through(const std::vector<const core::range_record*>& ranges) {
  std::string path;
  for (const core::range_record* range : ranges) {
    if (!path.empty()) path += '/';
    path += range->name;
  }
  return path;
}

void path_finder::on_operation(const launched_operation& launched) {
  if (launched.enclosing.empty()) return;
  // What comes one after the other was mostly launched inside the same ranges.
  if (launched.enclosing != m_last_ranges) {
    m_last_ranges = launched.enclosing;
    m_last_path = m_texts.keep(path_through(launched.enclosing));
    m_last_layer = innermost_layer(launched.enclosing);
  }
  const std::string_view innermost = launched.enclosing.back()->name;
  if (launched.which.what == operation_id::kernel) {
    kernel_paths[launched.which.index] = m_last_path;
    kernel_host_ranges[launched.which.index] = innermost;
    kernel_layers[launched.which.index] = m_last_layer;
  }
  if (launched.which.what == operation_id::copy) {
    copy_paths[launched.which.index] = m_last_path;
    copy_host_ranges[launched.which.index] = innermost;
    copy_layers[launched.which.index] = m_last_layer;
  }
}

}  // namespace profgate::analysis
