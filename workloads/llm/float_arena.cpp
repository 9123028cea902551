#include "llm/float_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

constexpr std::size_t floats_per_cache_line = 16;
constexpr std::size_t floats_per_huge_page = (std::size_t{2} << 20) / sizeof(float);
// Experts are a few megabytes each: in blocks of their own size, what is left at the ends would add up.
// Memory that is never touched costs nothing.
constexpr std::size_t least_block_floats = (std::size_t{64} << 20) / sizeof(float);

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

float_arena::~float_arena() {
  for (const auto& [memory, bytes] : m_blocks) munmap(memory, bytes);
}

std::span<float> float_arena::take(std::size_t count) {
  const std::size_t padded = round_up(count, floats_per_cache_line);
  if (padded > m_rest.size()) {
    const std::size_t block_floats = round_up(std::max(padded, least_block_floats), floats_per_huge_page);
    const std::size_t bytes = block_floats * sizeof(float);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw not_possible("this machine has no " + std::to_string(bytes) + " bytes of memory left");
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; without huge pages it is only slower
    m_blocks.push_back({memory, bytes});
    m_rest = {static_cast<float*>(memory), block_floats};
  }
  const auto taken = m_rest.first(count);
  m_rest = m_rest.subspan(padded);
  return taken;
}

}  // namespace profgate::llm
