#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>
#include <vector>

#include "artifacts/files.h"
#include "artifacts/retention.h"
#include "small_disk.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class atomic_file : public folder_test {};

TEST_F(atomic_file, replaces_the_whole_file_and_leaves_nothing_else) {
  const auto path = folder() / "a.json";
  write_file_atomically(path, "a longer first text");
  write_file_atomically(path, std::string_view("se\0cond", 7));
  EXPECT_EQ(read_file(path), std::string("se\0cond", 7));
  EXPECT_EQ(entries_in(folder()), 1U);
}

TEST_F(atomic_file, a_failing_write_keeps_the_old_file_and_no_temporary_one) {
  const auto path = folder() / "a.json";
  write_file_atomically(path, "old");
  // A limit on file sizes makes write() fail on any machine, for any user.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { write_file_atomically(path, std::string(100000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, AllOf(StartsWith("3: cannot write"), HasSubstr("a.json"), HasSubstr("too large")));
  EXPECT_EQ(get(path), "old");
  EXPECT_EQ(entries_in(folder()), 1U);
}

TEST_F(atomic_file, a_full_disk_keeps_the_old_file_and_says_what_to_do) {
  const auto answer = on_mounted_disk(folder(), "size=64k", false, [&] {
    const auto path = folder() / "a.json";
    write_file_atomically(path, "old");
    const std::string error = error_of([&] { write_file_atomically(path, std::string(1 << 20, 'x')); });
    return get(path) + ", " + std::to_string(entries_in(folder())) + " file; " + error;
  });
  if (!answer) GTEST_SKIP() << "this machine does not let the test mount a small disk";
  EXPECT_THAT(*answer, AllOf(StartsWith("old, 1 file; 3: cannot write"), HasSubstr("the disk is full"),
                             HasSubstr("profgate clean")));
}

TEST_F(atomic_file, a_read_only_folder_is_bad_input) {
  const auto answer = on_mounted_disk(
      folder(), "", true, [&] { return error_of([&] { write_file_atomically(folder() / "a.json", "x"); }); });
  if (!answer) GTEST_SKIP() << "this machine does not let the test mount a read-only disk";
  EXPECT_THAT(*answer, AllOf(StartsWith("2: "), HasSubstr("read-only"), HasSubstr("artifacts.stage2_dir")));
}

TEST_F(atomic_file, says_what_is_missing_or_in_the_way) {
  EXPECT_THAT(error_of([&] { write_file_atomically(folder() / "none" / "a", "x"); }),
              AllOf(StartsWith("2: "), HasSubstr("does not exist")));
  std::filesystem::create_directories(folder() / "taken" / "inner");
  EXPECT_THAT(error_of([&] { write_file_atomically(folder() / "taken", "x"); }),
              AllOf(StartsWith("2: "), HasSubstr("in the way")));
  EXPECT_THAT(error_of([&] { read_file(folder() / "none"); }), AllOf(StartsWith("2: "), HasSubstr("none")));
  EXPECT_THAT(error_of([&] { read_file(folder() / "taken"); }), StartsWith("2: "));
}

TEST_F(atomic_file, readers_and_writers_at_once_never_see_half_a_file) {
  const auto path = folder() / "a";
  write_file_atomically(path, std::string(50000, '0'));
  std::vector<std::thread> writers;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 10; ++i) write_file_atomically(path, std::string(50000, letter));
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read_file(path);
    ASSERT_EQ(seen, std::string(50000, seen.front()));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(entries_in(folder()), 1U);
}

TEST_F(atomic_file, reads_a_compressed_file_under_its_plain_name) {
  const auto path = folder() / "a.csv";
  const std::string text(300000, 'x');
  put(path, text);
  compress_file(path);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(file_exists(path));
  EXPECT_EQ(read_file(path), text);
  EXPECT_THAT(error_of([&] { read_file(path, 1000); }), AllOf(StartsWith("2: "), HasSubstr("larger than")));
}

TEST_F(atomic_file, refuses_a_file_larger_than_its_reader_expects) {
  put(folder() / "a", std::string(1001, 'x'));
  EXPECT_THAT(error_of([&] { read_file(folder() / "a", 1000); }), HasSubstr("larger than 1.00 kB"));
  EXPECT_EQ(read_file(folder() / "a", 1001).size(), 1001U);
}

TEST_F(atomic_file, refuses_a_damaged_compressed_file) {
  const auto path = folder() / "a";
  put(path, std::string(300000, 'x') + "y");
  compress_file(path);
  const std::string sound = get(folder() / "a.gz");
  put(folder() / "a.gz", sound.substr(0, sound.size() - 9));
  EXPECT_THAT(error_of([&] { read_file(path); }), AllOf(StartsWith("2: "), HasSubstr("a.gz")));
  put(folder() / "a.gz", "plain text");
  EXPECT_THAT(error_of([&] { read_file(path); }), HasSubstr("not a sound gzip file"));
}

}  // namespace
}  // namespace profgate::artifacts
