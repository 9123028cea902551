#include "core/pools.h"

#include <functional>

#include "core/hash_mix.h"

namespace profgate::core {

std::string_view text_pool::keep(std::string_view text) {
  return *m_texts->emplace(text).first;
}

void text_pool::adopt(const text_pool& other) {
  m_adopted.push_back(other.m_texts);
  m_adopted.insert(m_adopted.end(), other.m_adopted.begin(), other.m_adopted.end());
}

std::size_t kernel_shapes::shape_hash::operator()(const kernel_shape& shape) const {
  hash_mix mix;
  mix.add(std::hash<const void*>()(shape.name.data()));
  for (const std::uint32_t size : shape.grid) mix.add(size);
  for (const std::uint32_t size : shape.block) mix.add(size);
  return mix.value();
}

const kernel_shape* kernel_shapes::keep(const kernel_shape& shape) {
  return &*m_shapes->insert(shape).first;
}

void kernel_shapes::adopt(const kernel_shapes& other) {
  m_adopted.push_back(other.m_shapes);
  m_adopted.insert(m_adopted.end(), other.m_adopted.begin(), other.m_adopted.end());
}

}  // namespace profgate::core
