#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// One kernel of a module; both lie inside of its image. A device function that was not inlined may stand
/// among the kernels.
struct kernel_code {
  const char* name;  ///< mangled; no zero at its end
  std::size_t name_length;
  const char* code;
  std::size_t code_bytes;
};

/// The kernels of a cubin, which is an ELF file whose section .text.<mangled name> is a kernel's machine
/// code. Nothing in the image is believed: a program may load modules from anywhere.
class cubin_kernels {
 public:
  /// What is no ELF file (PTX) has no kernels.
  cubin_kernels(const void* image, std::size_t bytes);

  /// False: there are no more.
  bool next(kernel_code& kernel);
  /// It was given up before its end: some sections do not lie inside of it, or lie over each other.
  bool is_broken() const { return m_is_broken; }

 private:
  bool find_sections();
  bool lies_inside(std::uint64_t offset, std::uint64_t bytes) const;
  Elf64_Shdr section(std::uint64_t index) const;

  const char* m_image;
  std::size_t m_bytes;
  std::uint64_t m_sections_offset = 0;
  std::uint64_t m_section_count = 0;
  std::uint64_t m_next_section = 0;
  const char* m_names = nullptr;  ///< of sections
  std::size_t m_names_bytes = 0;
  std::size_t m_unread_bytes;  ///< sections that lie over each other would make a small image endless
  bool m_is_broken = false;
};

}  // namespace profgate::collector
