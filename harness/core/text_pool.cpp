#include "core/text_pool.h"

namespace profgate::core {

std::string_view text_pool::keep(std::string_view text) {
  return *m_texts->emplace(text).first;
}

void text_pool::adopt(const text_pool& other) {
  m_adopted.push_back(other.m_texts);
  m_adopted.insert(m_adopted.end(), other.m_adopted.begin(), other.m_adopted.end());
}

}  // namespace profgate::core
