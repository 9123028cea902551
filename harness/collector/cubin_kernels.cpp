#include "cubin_kernels.h"

#include <cstring>

namespace profgate::collector {
namespace {

constexpr char code_prefix[] = ".text.";
constexpr std::size_t prefix_length = sizeof code_prefix - 1;

}  // namespace

cubin_kernels::cubin_kernels(const void* image, std::size_t bytes)
    : m_image(static_cast<const char*>(image)), m_bytes(bytes), m_unread_bytes(bytes) {
  if (bytes < SELFMAG || std::memcmp(image, ELFMAG, SELFMAG) != 0) return;
  if (find_sections()) return;
  m_is_broken = true;
  m_section_count = 0;
}

bool cubin_kernels::lies_inside(std::uint64_t offset, std::uint64_t bytes) const {
  return offset <= m_bytes && bytes <= m_bytes - offset;
}

Elf64_Shdr cubin_kernels::section(std::uint64_t index) const {
  Elf64_Shdr head;
  std::memcpy(&head, m_image + m_sections_offset + index * sizeof head, sizeof head);
  return head;
}

bool cubin_kernels::find_sections() {
  Elf64_Ehdr head;
  if (m_bytes < sizeof head) return false;
  std::memcpy(&head, m_image, sizeof head);
  const bool is_known = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_ident[EI_DATA] == ELFDATA2LSB &&
                        head.e_shentsize == sizeof(Elf64_Shdr);
  if (!is_known || !lies_inside(head.e_shoff, sizeof(Elf64_Shdr))) return false;
  m_sections_offset = head.e_shoff;
  // Numbers that do not fit into the header stand in the first section.
  const Elf64_Shdr first = section(0);
  m_section_count = head.e_shnum == 0 ? first.sh_size : head.e_shnum;
  const std::uint64_t names = head.e_shstrndx == SHN_XINDEX ? first.sh_link : head.e_shstrndx;
  if (m_section_count > (m_bytes - m_sections_offset) / sizeof(Elf64_Shdr) || names >= m_section_count)
    return false;
  const Elf64_Shdr table = section(names);
  if (!lies_inside(table.sh_offset, table.sh_size)) return false;
  m_names = m_image + table.sh_offset;
  m_names_bytes = table.sh_size;
  return true;
}

bool cubin_kernels::next(kernel_code& kernel) {
  while (m_next_section < m_section_count) {
    const Elf64_Shdr head = section(m_next_section++);
    if (head.sh_type != SHT_PROGBITS || head.sh_name >= m_names_bytes) continue;
    const char* const name = m_names + head.sh_name;
    const std::size_t rest = m_names_bytes - head.sh_name;
    if (rest <= prefix_length || std::memcmp(name, code_prefix, prefix_length) != 0) continue;
    const auto* const end = static_cast<const char*>(std::memchr(name, '\0', rest));
    const std::size_t name_bytes = end == nullptr ? 0 : static_cast<std::size_t>(end - name);
    if (name_bytes <= prefix_length || !lies_inside(head.sh_offset, head.sh_size) ||
        name_bytes > m_unread_bytes || head.sh_size > m_unread_bytes - name_bytes) {
      m_is_broken = true;
      m_section_count = 0;
      return false;
    }
    m_unread_bytes -= name_bytes + head.sh_size;
    kernel = {name + prefix_length, name_bytes - prefix_length, m_image + head.sh_offset, head.sh_size};
    return true;
  }
  return false;
}

}  // namespace profgate::collector
