#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace profgate::test {

using cubin_sections = std::vector<std::pair<std::string, std::string>>;  ///< names and contents

/// A cubin by hand, as nvcc lays one out: the header, each section's bytes, then the table of sections.
/// The first section is empty, the second holds the names.
class cubin_image {
 public:
  explicit cubin_image(const cubin_sections& sections) {
    m_header.e_shentsize = sizeof(Elf64_Shdr);
    m_header.e_shnum = static_cast<Elf64_Half>(sections.size() + 2);
    m_header.e_shstrndx = 1;
    m_header.e_machine = EM_CUDA;
    std::memcpy(m_header.e_ident, ELFMAG, SELFMAG);
    m_header.e_ident[EI_CLASS] = ELFCLASS64;
    m_header.e_ident[EI_DATA] = ELFDATA2LSB;
    std::string names(1, '\0');
    m_sections.emplace_back();
    m_sections.emplace_back();
    for (const auto& [name, content] : sections) {
      Elf64_Shdr& section = m_sections.emplace_back();
      section.sh_name = static_cast<Elf64_Word>(names.size());
      section.sh_type = SHT_PROGBITS;
      section.sh_offset = sizeof m_header + m_contents.size();
      section.sh_size = content.size();
      names += name + '\0';
      m_contents += content;
    }
    m_sections[1].sh_type = SHT_STRTAB;
    m_sections[1].sh_offset = sizeof m_header + m_contents.size();
    m_sections[1].sh_size = names.size();
    m_contents += names;
    m_header.e_shoff = sizeof m_header + m_contents.size();
  }

  std::string bytes() const {
    std::string image(reinterpret_cast<const char*>(&m_header), sizeof m_header);
    image += m_contents;
    return image.append(reinterpret_cast<const char*>(m_sections.data()),
                        m_sections.size() * sizeof m_sections[0]);
  }

  // To be spoiled.
  Elf64_Ehdr m_header{};
  std::vector<Elf64_Shdr> m_sections;

 private:
  std::string m_contents;
};

}  // namespace profgate::test
