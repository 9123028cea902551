#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/owned_fd.h"

namespace profgate::core {

/// How somebody waits for a lock that names its holder.
struct lock_wait {
  std::int64_t max_wait_ms = 0;
  std::function<void(const std::string& holder)>
      on_wait{};                 ///< hears once who holds it, in a line; may be empty
  std::string what_is_in_use{};  ///< "nsys", in the message after max_wait_ms
  std::string remedy{};
};

/// <PROFGATE_LOCK_DIR, else /tmp>/profgate-<name>.lock, for what all users of a machine share: its GPUs, and
/// nsys, of which two at once break each other. Everyone must be able to lock it, so it cannot lie in a
/// folder of one's own. It stays empty, and nothing in it is believed: all that another user can do is to
/// hold it, and then the kernel tells who does. All other locks lie in the project.
std::filesystem::path shared_lock_file(const std::string& name);

/// An exclusive lock on a file or folder, held as long as this object lives. The kernel drops it with the
/// process, however that ends, and children do not inherit it. A locked file is never removed: that would let
/// two holders in. What the file system refuses is std::filesystem::filesystem_error, except where said
/// otherwise.
class file_lock {
 public:
  /// Waits for `file`, which is made where it is missing.
  static file_lock of_file(const std::filesystem::path& file);

  /// Waits for a folder that exists. Nothing is left in it: a folder that lies in git stays clean.
  static file_lock of_folder(const std::filesystem::path& folder);

  /// Nothing where somebody else holds `file`.
  static std::optional<file_lock> try_file(const std::filesystem::path& file);

  /// Waits for a file that every user may lock, whoever made it, and tells who holds it. step_failure
  /// where it cannot be opened, and after max_wait_ms.
  static file_lock among_users(const std::filesystem::path& file, const lock_wait& wait);

  /// Who holds such a file right now; nothing: nobody does, or nobody who can be seen from here.
  static std::optional<std::string> holder_among_users(const std::filesystem::path& file);

  /// For process::hold_until_children_end().
  int descriptor() const { return m_fd.get(); }

 private:
  explicit file_lock(owned_fd locked) : m_fd(std::move(locked)) {}

  owned_fd m_fd;  ///< closing it unlocks
};

}  // namespace profgate::core
