#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace profgate::core {

/// Keeps each text once. Views into it stay valid as long as the pool or a copy of it lives: a timeline of
/// half a million kernels has a few dozen names.
class text_pool {
 public:
  std::string_view keep(std::string_view text);

  /// The other pool's texts live on with this one's.
  void adopt(const text_pool& other);

 private:
  using text_set = std::unordered_set<std::string>;  // its nodes never move
  std::shared_ptr<text_set> m_texts = std::make_shared<text_set>();
  std::vector<std::shared_ptr<text_set>> m_adopted;
};

}  // namespace profgate::core
