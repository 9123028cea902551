#pragma once

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// Which texts have which ids: open addressing, a power of two of slots. The texts themselves lie in the
/// recording. Not locked: its owner is.
class string_table {
 public:
  struct known_string {
    const char* text;
    std::uint32_t length;
    std::uint32_t hash;
    std::uint32_t id;  ///< 0: the slot is free
  };

  /// The slot of this text, or the free one where it belongs; nothing if memory ran out.
  known_string* slot_of(const char* text, std::size_t length);
  /// Fills a free slot that slot_of() gave for this text.
  void keep(known_string& slot, const char* text, std::size_t length);
  std::uint32_t next_id() const { return m_count + 1; }

  known_string* begin() { return m_slots; }
  known_string* end() { return m_slots + m_slot_count; }

 private:
  bool make_room();

  known_string* m_slots = nullptr;
  std::size_t m_slot_count = 0;
  std::uint32_t m_count = 0;
};

}  // namespace profgate::collector
