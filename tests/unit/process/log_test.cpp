#include <gtest/gtest.h>

#include "output_sink.h"
#include "support.h"

namespace profgate::process {
namespace {

/// The log of `total` bytes of the alphabet that come `piece` at a time, with room for 20: half of it head,
/// half of it tail.
std::string log_of(std::size_t total, std::size_t piece) {
  const temp_dir directory;
  bounded_log log(directory / "log", false, 20);
  for (std::size_t at = 0; at < total; at += piece) {
    std::string bytes;
    for (std::size_t i = at; i < std::min(total, at + piece); ++i) bytes += static_cast<char>('a' + i % 26);
    log.write(bytes);
  }
  log.finish();
  EXPECT_EQ(log.truncated(), total > 20);
  return read_file(directory / "log");
}

TEST(bounded_log, is_whole_up_to_its_limit) {
  for (const std::size_t piece : {1U, 3U, 7U, 20U, 26U}) {
    EXPECT_EQ(log_of(20, piece), "abcdefghijklmnopqrst") << piece;
    EXPECT_EQ(log_of(13, piece), "abcdefghijklm") << piece;
  }
}

TEST(bounded_log, keeps_both_ends_whatever_the_pieces) {
  for (const std::size_t piece : {1U, 3U, 7U, 9U, 10U, 11U, 25U, 26U}) {
    EXPECT_EQ(log_of(26, piece), "abcdefghij\n[... 6 bytes left out here ...]\nqrstuvwxyz") << piece;
    EXPECT_EQ(log_of(52, piece), "abcdefghij\n[... 32 bytes left out here ...]\nqrstuvwxyz") << piece;
  }
}

TEST(bounded_log, of_no_bytes_keeps_none) {
  const temp_dir directory;
  bounded_log log(directory / "log", false, 0);
  log.write("abc");
  log.finish();
  EXPECT_EQ(read_file(directory / "log"), "\n[... 3 bytes left out here ...]\n");
}

}  // namespace
}  // namespace profgate::process
