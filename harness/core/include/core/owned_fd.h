#pragma once

#include <unistd.h>

#include <utility>

namespace profgate::core {

/// Closes the descriptor it holds. Programs under workloads/ and the collector close theirs by hand: neither
/// may include the harness.
class owned_fd {
 public:
  owned_fd() = default;
  explicit owned_fd(int fd) : m_fd(fd) {}
  ~owned_fd() { reset(); }
  owned_fd(owned_fd&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  owned_fd& operator=(owned_fd&& other) noexcept {
    if (this != &other) {
      reset();
      m_fd = std::exchange(other.m_fd, -1);
    }
    return *this;
  }

  int get() const { return m_fd; }
  bool is_open() const { return m_fd >= 0; }
  /// The caller closes it.
  int release() { return std::exchange(m_fd, -1); }
  void reset() {
    if (m_fd >= 0) ::close(std::exchange(m_fd, -1));
  }

 private:
  int m_fd = -1;
};

}  // namespace profgate::core
