#include "file_mapping.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "temp_folder.h"

namespace {

/// What was asked of the file system: from where, how many bytes.
std::vector<std::pair<off_t, off_t>>& fallocated() {
  static std::vector<std::pair<off_t, off_t>> calls;
  return calls;
}

}  // namespace

/// In the place of the system's, which it calls.
extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
  static auto* const next = reinterpret_cast<int (*)(int, off_t, off_t)>(dlsym(RTLD_NEXT, "posix_fallocate"));
  fallocated().emplace_back(offset, bytes);
  return next(file, offset, bytes);
}

namespace profgate::test {
namespace {

TEST(file_mapping, asks_the_file_system_for_each_byte_once) {
  const temp_folder folder;
  setenv("PROFGATE_COLLECTOR_OUTPUT", (folder / "out").c_str(), 1);
  profgate::collector::file_mapping mapping;
  ASSERT_TRUE(mapping.create_from_environment(200'000));
  unsetenv("PROFGATE_COLLECTOR_OUTPUT");
  for (std::size_t end = 200'000; end < 9'000'000; end += 60'000) {
    ASSERT_TRUE(mapping.promise(end));
    ASSERT_GE(std::filesystem::file_size(folder / "out"), end);
  }
  off_t end = 0;
  for (const auto& [offset, bytes] : fallocated()) {
    EXPECT_EQ(offset, end);
    end = offset + bytes;
  }
  EXPECT_GT(fallocated().size(), 5U);
  EXPECT_EQ(end, static_cast<off_t>(mapping.promised_bytes()));
  char* const base = mapping.base();
  mapping.close_file();
  profgate::collector::file_mapping::unmap(base, mapping.max_bytes());
}

}  // namespace
}  // namespace profgate::test
