#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

/// What the records of a timeline share: texts and kernel shapes, each kept once.
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

/// What was launched, apart from when and where it ran: a trace of half a million kernels has a few dozen.
struct kernel_shape {
  std::string_view name{};               ///< demangled, whole
  std::string_view mangled_name{};       ///< empty where the tool does not tell it
  std::array<std::uint32_t, 3> grid{};   ///< blocks; zero where the tool does not tell it
  std::array<std::uint32_t, 3> block{};  ///< threads
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;          ///< a block's, static and dynamic
  std::array<std::uint32_t, 3> cluster{};  ///< blocks; zero: none, or the tool does not tell it
  std::uint32_t dynamic_shared_bytes = 0;  ///< of shared_bytes, what the launch asked for
  std::uint32_t local_bytes = 0;           ///< a thread's local memory: spilled registers, arrays

  bool operator==(const kernel_shape&) const = default;
  static const kernel_shape unknown;
};
inline const kernel_shape kernel_shape::unknown{};

/// Keeps each shape once; what it returns stays valid as long as it or a copy of it lives. Names must come
/// from one text pool: the same text in two places makes two shapes.
class kernel_shapes {
 public:
  const kernel_shape* keep(const kernel_shape& shape);

  /// The other's shapes live on with this one's.
  void adopt(const kernel_shapes& other);

 private:
  struct shape_hash {
    std::size_t operator()(const kernel_shape& shape) const;
  };
  using shape_set = std::unordered_set<kernel_shape, shape_hash>;  // its nodes never move
  std::shared_ptr<shape_set> m_shapes = std::make_shared<shape_set>();
  std::vector<std::shared_ptr<shape_set>> m_adopted;
};

}  // namespace profgate::core
