#include "core/slips.h"

#include <algorithm>
#include <numeric>

namespace profgate::core {
namespace {

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  std::iota(previous.begin(), previous.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t forgiven = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance <= forgiven && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_shown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most_shown ? text + ", …" : text;
}

bool is_merge_marker(std::string_view line) {
  for (const std::string_view marker : {"<<<<<<<", "|||||||", "=======", ">>>>>>>"}) {
    if (!line.starts_with(marker)) continue;
    const std::string_view rest = line.substr(marker.size());
    if (rest.empty() || rest.front() == ' ' || rest.front() == '\r') return true;
  }
  return false;
}

}  // namespace profgate::core
