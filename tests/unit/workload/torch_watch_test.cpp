#include "workload/torch_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace profgate::workload {
namespace {

namespace fs = std::filesystem;

/// A child's child that has mapped a file of that name, as one that imported a library has; until it is told
/// to end.
class process_with_library {
 public:
  explicit process_with_library(const std::string& name) : m_file(fs::path(::testing::TempDir()) / name) {
    std::ofstream(m_file) << "x";
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    EXPECT_EQ(::pipe(m_end.data()), 0);
    m_child = ::fork();
    if (m_child == 0) {
      ::close(m_end[1]);
      const pid_t below = ::fork();
      if (below == 0) {
        const int file = ::open(m_file.c_str(), O_RDONLY);
        void* const mapped = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0);
        const char byte = mapped == MAP_FAILED ? 'n' : 'y';
        if (::write(ready[1], &byte, 1) == 1) wait_for_end();
        ::_exit(0);
      }
      ::waitpid(below, nullptr, 0);
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~process_with_library() {
    ::close(m_end[1]);
    ::waitpid(m_child, nullptr, 0);
    ::close(m_end[0]);
    fs::remove(m_file);
  }
  process_with_library(const process_with_library&) = delete;
  process_with_library& operator=(const process_with_library&) = delete;

 private:
  void wait_for_end() const {
    char byte = 0;
    while (::read(m_end[0], &byte, 1) > 0) {
    }
  }

  fs::path m_file;
  std::array<int, 2> m_end{};
  pid_t m_child = -1;
};

TEST(torch_watch, sees_a_process_below_this_one_that_has_imported_torch_and_keeps_it_in_mind) {
  torch_watch watch;
  watch.look();
  EXPECT_FALSE(watch.has_seen_torch()) << "nothing runs";
  {
    const process_with_library running("libtorch_python.so");
    watch.look();
    EXPECT_TRUE(watch.has_seen_torch());
  }
  watch.look();
  EXPECT_TRUE(watch.has_seen_torch()) << "it has ended";
}

TEST(torch_watch, takes_no_other_library_for_it) {
  const process_with_library running("libtorch_cpu.so");  // a program in C++ has it
  torch_watch watch;
  watch.look();
  EXPECT_FALSE(watch.has_seen_torch());
}

}  // namespace
}  // namespace profgate::workload
