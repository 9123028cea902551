#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace profgate::llm::cuda {

/// Memory of the GPU, freed with its owner.
class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t bytes);
  device_memory(device_memory&& other) noexcept : m_bytes(std::exchange(other.m_bytes, nullptr)) {}
  device_memory& operator=(device_memory&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~device_memory();

  std::byte* bytes() const { return m_bytes; }

 private:
  std::byte* m_bytes = nullptr;
};

/// Hands out pieces of one block of memory, one after the other. Without a block it only counts, so the code
/// that places arrays also says beforehand how much they need; its pieces are addresses that are never used.
class memory_layout {
 public:
  memory_layout() = default;
  explicit memory_layout(std::byte* base) : m_base(base) {}

  template <typename Element>
  Element* take(std::int64_t count) {
    auto* piece = reinterpret_cast<Element*>(m_base + m_taken);
    m_taken += (static_cast<std::size_t>(count) * sizeof(Element) + alignment - 1) / alignment * alignment;
    return piece;
  }
  std::size_t bytes_taken() const { return m_taken; }

 private:
  static constexpr std::size_t alignment = 256;

  std::byte* m_base = reinterpret_cast<std::byte*>(alignment);
  std::size_t m_taken = 0;
};

}  // namespace profgate::llm::cuda
