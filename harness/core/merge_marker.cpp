#include "core/merge_marker.h"

namespace profgate::core {

bool is_merge_marker(std::string_view line) {
  for (const std::string_view marker : {"<<<<<<<", "|||||||", "=======", ">>>>>>>"}) {
    if (!line.starts_with(marker)) continue;
    const std::string_view rest = line.substr(marker.size());
    if (rest.empty() || rest.front() == ' ' || rest.front() == '\r') return true;
  }
  return false;
}

}  // namespace profgate::core
