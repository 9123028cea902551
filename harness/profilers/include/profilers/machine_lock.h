#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace profgate::profilers {

/// Held while nsys runs: two at once on one machine break each other, whoever starts them. The lock is a file
/// that every user may lock; it dies with its process and its children do not inherit it.
class machine_lock {
 public:
  /// Waits for it. `on_wait` hears once who holds it. step_failure after max_wait_ms.
  machine_lock(const std::filesystem::path& file, std::int64_t max_wait_ms,
               const std::function<void(const std::string& holder)>& on_wait);
  ~machine_lock();
  machine_lock(const machine_lock&) = delete;
  machine_lock& operator=(const machine_lock&) = delete;

  /// Not under TMPDIR: it must be the same file for everyone.
  static std::filesystem::path nsys_lock_file() { return "/tmp/profgate-nsys.lock"; }

 private:
  int m_file = -1;
};

}  // namespace profgate::profilers
