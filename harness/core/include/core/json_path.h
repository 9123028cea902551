#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace profgate::core {

/// A place in a document as people write it: keys, and [] for all elements of a list or [3] for one of them,
/// such as "results[].latency".
class json_path {
 public:
  /// bad_input, with `where` it stands, where it is no path.
  json_path(const std::string& text, const std::string& where);

  /// The values that it leads to, in their order; a step that is not there is a bad_input with its path.
  std::vector<json_cursor> values_in(const json_document& document, std::size_t max_values) const;

 private:
  struct step {
    std::string key;                     ///< empty: an element of a list
    std::optional<std::size_t> index{};  ///< of it; nothing: all of them
  };
  std::vector<step> m_steps;
};

}  // namespace profgate::core
