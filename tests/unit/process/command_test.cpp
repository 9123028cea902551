#include "process/command.h"

#include <gtest/gtest.h>

#include "support.h"

namespace profgate::process {
namespace {

TEST(quote_for_display, leaves_plain_words_alone) {
  EXPECT_EQ(quote_for_display({"nsys", "profile", "--trace=cuda,nvtx", "-o", "/a/b_c.d"}),
            "nsys profile --trace=cuda,nvtx -o /a/b_c.d");
}

TEST(quote_for_display, quotes_what_a_shell_would_read) {
  EXPECT_EQ(quote_for_display({"a b", "", "it's", "$x", "regex:^(k|l)$", "~"}),
            R"('a b' '' 'it'\''s' '$x' 'regex:^(k|l)$' '~')");
  EXPECT_EQ(quote_for_display({"A=b", "C=d"}), "'A=b' C=d");
}

TEST(quote_for_display, spells_control_characters_out) {
  EXPECT_EQ(quote_for_display({"a\nb\x1B[31m'\\"}), R"($'a\nb\033[31m\'\\')");
}

TEST(quote_for_display, survives_a_real_shell) {
  const auto bash = find_program("bash", "/usr/local/bin:/usr/bin:/bin");
  if (!bash) GTEST_SKIP() << "no bash on this machine";
  const std::vector<std::string> words{"a b", "",  "it's \"$HOME\"", "`id`", "\\", "*", "t\tn\n\x01",
                                       "é",   "!x"};
  std::vector<std::string> argv{PROFGATE_MISBEHAVE, "say"};
  argv.insert(argv.end(), words.begin(), words.end());
  std::string expected;
  for (const std::string& word : words) expected += word + "\n";
  const command what{{bash->string(), "-c", quote_for_display(argv)}, {}, {}, {}};
  EXPECT_EQ(output_of(what), expected);
}

TEST(find_program, takes_the_first_executable_file) {
  EXPECT_EQ(find_program("sh", "/nowhere:/bin:/usr/bin"), std::filesystem::path("/bin/sh"));
  EXPECT_EQ(find_program("no-such-tool", "/bin:/usr/bin"), std::nullopt);
  EXPECT_EQ(find_program("", "/bin"), std::nullopt);
  EXPECT_EQ(find_program("sh", ""), std::nullopt);
}

TEST(find_program, does_not_look_where_we_happen_to_stand) {
  const temp_dir directory;
  std::filesystem::create_symlink("/bin/sh", directory / "here");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  EXPECT_EQ(find_program("here", ":.::relative:"), std::nullopt);
  EXPECT_NE(find_program("here", directory.path().string()), std::nullopt);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace profgate::process
