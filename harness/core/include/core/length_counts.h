#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace profgate::core {

/// How many texts have each length, in tokens or in decode steps. Figures of a text are those of the length
/// that most have.
class length_counts {
 public:
  void add(std::int64_t length, std::int64_t texts = 1) {
    m_texts_of[length] += texts;
    m_texts += texts;
  }
  std::int64_t texts() const { return m_texts; }
  std::int64_t texts_of(std::int64_t length) const {
    const auto found = m_texts_of.find(length);
    return found == m_texts_of.end() ? 0 : found->second;
  }

  /// The length of more than half of all texts; nothing: they differ.
  std::optional<std::int64_t> of_most() const {
    const auto most = std::find_if(m_texts_of.begin(), m_texts_of.end(),
                                   [&](const auto& each) { return 2 * each.second > m_texts; });
    return most == m_texts_of.end() ? std::nullopt : std::optional(most->first);
  }
  bool differ() const { return m_texts > 0 && !of_most(); }

  /// Those of other texts than these.
  length_counts without(std::int64_t length) const {
    length_counts others = *this;
    others.m_texts -= texts_of(length);
    others.m_texts_of.erase(length);
    return others;
  }

  std::int64_t shortest() const { return m_texts_of.begin()->first; }  ///< of some
  std::int64_t longest() const { return m_texts_of.rbegin()->first; }  ///< of some
  /// "4", "4 to 16", of some.
  std::string range() const {
    return shortest() == longest() ? fmt::format("{}", shortest())
                                   : fmt::format("{} to {}", shortest(), longest());
  }

 private:
  std::map<std::int64_t, std::int64_t> m_texts_of;
  std::int64_t m_texts = 0;
};

}  // namespace profgate::core
