#include "child_scan.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::process {
namespace {

TEST(parse_stat_line, takes_names_apart_that_look_like_fields) {
  stat_line line;
  constexpr std::string_view hostile = "12 (a) S 1 (b\n) R 345 12 12 0";
  ASSERT_TRUE(parse_stat_line(hostile.data(), hostile.size(), line));
  EXPECT_STREQ(line.name.data(), "a) S 1 (b\n");
  EXPECT_EQ(line.state, 'R');
  EXPECT_EQ(line.parent, 345);
}

TEST(parse_stat_line, cuts_a_long_name) {
  stat_line line;
  constexpr std::string_view text = "12 (a name of more than sixteen bytes) S 1 ";
  ASSERT_TRUE(parse_stat_line(text.data(), text.size(), line));
  EXPECT_STREQ(line.name.data(), "a name of more ");
}

TEST(parse_stat_line, refuses_everything_else) {
  stat_line line;
  for (const std::string_view text :
       {"", "12", "12 (a", "12 a)", "12 (a)", "12 (a) S", "12 (a) S ", "12 (a) S x", ")(", "12 (a)S 1 "}) {
    EXPECT_FALSE(parse_stat_line(text.data(), text.size(), line)) << text;
  }
}

TEST(for_each_child, finds_living_children_only) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (;;) ::pause();
    }
    children.push_back(pid);
  }
  ::kill(children[1], SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(children[1]), &info, WEXITED | WNOWAIT);  // a zombie from here on

  std::vector<pid_t> found;
  for_each_child(
      ::getpid(),
      [](const child_entry& child, void* context) {
        EXPECT_STREQ(child.name.data(), "unit_process");
        static_cast<std::vector<pid_t>*>(context)->push_back(child.pid);
      },
      &found);
  EXPECT_EQ(found, (std::vector<pid_t>{children[0], children[2]}));

  for (const pid_t pid : children) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace
}  // namespace profgate::process
