#include "cubin_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "cubin_image.h"

namespace profgate::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct cubin_content {
  std::map<std::string, std::string> code;
  bool is_broken = false;
};

/// From memory of exactly that size: whatever is read beside it, a sanitizer sees.
cubin_content content_of_cubin(const std::string& image) {
  const auto memory = std::make_unique<char[]>(image.size());
  image.copy(memory.get(), image.size());
  profgate::collector::cubin_kernels kernels(memory.get(), image.size());
  cubin_content content;
  std::size_t bytes = 0;
  for (profgate::collector::kernel_code one{}; kernels.next(one);) {
    for (const auto& [begin, length] :
         {std::pair(one.name, one.name_length), std::pair(one.code, one.code_bytes)}) {
      EXPECT_GE(begin, memory.get());
      EXPECT_LE(length, static_cast<std::size_t>(memory.get() + image.size() - begin));
      bytes += length;
    }
    content.code[std::string(one.name, one.name_length)] = std::string(one.code, one.code_bytes);
  }
  EXPECT_LE(bytes, image.size());
  content.is_broken = kernels.is_broken();
  return content;
}

const cubin_image two_kernels(cubin_sections{{".nv.info", "facts"},
                                             {".text._Z4gemmILi2EEvPf", "code of gemm"},
                                             {".rela.text.axpy", "moves"},
                                             {".text.axpy", ""}});

TEST(cubin_kernels, are_the_sections_of_code) {
  const cubin_content content = content_of_cubin(two_kernels.bytes());
  EXPECT_THAT(content.code, ElementsAre(Pair("_Z4gemmILi2EEvPf", "code of gemm"), Pair("axpy", "")));
  EXPECT_FALSE(content.is_broken);
}

TEST(cubin_kernels, more_sections_than_the_header_can_count_are_found) {
  cubin_image image = two_kernels;
  image.m_sections[0].sh_size = image.m_header.e_shnum;
  image.m_sections[0].sh_link = image.m_header.e_shstrndx;
  image.m_header.e_shnum = 0;
  image.m_header.e_shstrndx = SHN_XINDEX;
  EXPECT_EQ(content_of_cubin(image.bytes()).code.size(), 2U);
}

TEST(cubin_kernels, what_is_no_elf_has_none_and_is_not_broken) {
  for (const std::string image : {"", "\x7F", ".version 8.0\n.target sm_90\n.entry axpy() { ret; }"}) {
    const cubin_content content = content_of_cubin(image);
    EXPECT_THAT(content.code, IsEmpty());
    EXPECT_FALSE(content.is_broken);
  }
}

TEST(cubin_kernels, a_broken_image_is_given_up_and_told) {
  const auto is_broken = [](const auto& spoil) {
    cubin_image image = two_kernels;
    spoil(image);
    return content_of_cubin(image.bytes()).is_broken;
  };
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_ident[EI_CLASS] = ELFCLASS32; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_ident[EI_DATA] = ELFDATA2MSB; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_shentsize = 63; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { ++one.m_header.e_shnum; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_shstrndx = one.m_header.e_shnum; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_shoff = ~0ULL; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_header.e_shoff = ~0ULL - 70; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) {
    one.m_header.e_shnum = 0;
    one.m_sections[0].sh_size = ~0ULL / sizeof(Elf64_Shdr) + 2;
  })) << "a size that wraps around";
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_sections[1].sh_size = 1 << 20; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { --one.m_sections[1].sh_size; })) << "a name without an end";
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_sections[3].sh_size = ~0ULL; }));
  EXPECT_TRUE(is_broken([](cubin_image& one) { one.m_sections[3].sh_offset = ~0ULL; }));
}

TEST(cubin_kernels, sections_that_lie_over_each_other_do_not_make_it_endless) {
  cubin_image image(cubin_sections{{".text.k", std::string(1000, 'x')}});
  for (int i = 0; i < 10'000; ++i) image.m_sections.push_back(image.m_sections[2]);
  image.m_header.e_shnum = static_cast<Elf64_Half>(image.m_sections.size());
  EXPECT_TRUE(content_of_cubin(image.bytes()).is_broken);
}

TEST(cubin_kernels, of_any_damaged_image_nothing_beside_it_is_read) {
  const std::string whole = two_kernels.bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(content_of_cubin(whole.substr(0, length)).is_broken, length >= SELFMAG) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\0', '\x01', '\x7F', '\xFF'}) {
      std::string damaged = whole;
      damaged[at] = other;
      content_of_cubin(damaged);
    }
  }
}

}  // namespace
}  // namespace profgate::test
