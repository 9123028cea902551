#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace profgate::llm {

/// A file mapped read-only into memory.
class mapped_file {
 public:
  /// Throws bad_input for a file that cannot be opened or is empty.
  explicit mapped_file(const std::string& path);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file();

  std::span<const std::byte> bytes() const { return m_bytes; }

 private:
  std::span<const std::byte> m_bytes;
};

}  // namespace profgate::llm
