#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace profgate::artifacts {

/// SHA-256 (FIPS 180-4) over bytes that come in pieces.
class sha256 {
 public:
  void update(std::string_view bytes);
  /// 64 hexadecimal digits. Ends the computation: no update may follow.
  std::string hex_digest();

 private:
  void compress(const unsigned char* block);  // [64]

  std::array<std::uint32_t, 8> m_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> m_block{};
  std::size_t m_block_used = 0;
  std::uint64_t m_total_bytes = 0;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace profgate::artifacts
