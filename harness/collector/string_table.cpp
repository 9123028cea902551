#include "string_table.h"

#include <cstdlib>
#include <cstring>

#include "collector/fnv1a.h"

namespace profgate::collector {
namespace {

std::uint32_t hash_of(const char* text, std::size_t length) {
  return static_cast<std::uint32_t>(fnv1a64(text, length));
}

}  // namespace

bool string_table::make_room() {
  if ((m_count + 1) * std::size_t{2} <= m_slot_count) return true;
  const std::size_t slot_count = m_slot_count == 0 ? 256 : m_slot_count * 2;
  auto* slots = static_cast<known_string*>(std::calloc(slot_count, sizeof(known_string)));
  if (slots == nullptr) return false;
  for (std::size_t i = 0; i < m_slot_count; ++i) {
    if (m_slots[i].id == 0) continue;
    std::size_t slot = m_slots[i].hash & (slot_count - 1);
    while (slots[slot].id != 0) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = m_slots[i];
  }
  std::free(m_slots);
  m_slots = slots;
  m_slot_count = slot_count;
  return true;
}

string_table::known_string* string_table::slot_of(const char* text, std::size_t length) {
  if (!make_room()) return nullptr;
  const std::uint32_t hash = hash_of(text, length);
  std::size_t slot = hash & (m_slot_count - 1);
  for (; m_slots[slot].id != 0; slot = (slot + 1) & (m_slot_count - 1)) {
    const known_string& known = m_slots[slot];
    if (known.hash == hash && known.length == length && std::memcmp(known.text, text, length) == 0) break;
  }
  return m_slots + slot;
}

void string_table::keep(known_string& slot, const char* text, std::size_t length) {
  ++m_count;
  slot = {text, static_cast<std::uint32_t>(length), hash_of(text, length), m_count};
}

}  // namespace profgate::collector
