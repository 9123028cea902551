#include "core/escape.h"

#include <gtest/gtest.h>

#include <regex>

namespace profgate::core {
namespace {

TEST(escape_markdown, keeps_a_table_cell_in_its_cell) {
  EXPECT_EQ(escape_markdown("void k<(int)4, A|B>(T*)\n`x`"), "void k&lt;(int)4, A\\|B&gt;(T\\*) \\`x\\`");
}

TEST(escape_html, leaves_no_markup_and_no_forbidden_control_character) {
  EXPECT_EQ(escape_html("<b a=\"1\" c='2'>&\x01"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\xEF\xBF\xBD");
}

TEST(escape_regex, matches_exactly_the_text_it_was_given) {
  const std::string name = R"(void gemm<(int)32, (bool)1>(const T *, float[4])$^.|?+{}\)";
  EXPECT_TRUE(std::regex_match(name, std::regex(escape_regex(name))));
  EXPECT_FALSE(std::regex_match(name + "x", std::regex(escape_regex(name))));
}

TEST(for_terminal, leaves_nothing_that_commands_it) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(for_terminal("a\tb\nc\xC3\xA9\xE2\x82\xAC"), "a\tb\nc\xC3\xA9\xE2\x82\xAC");
  EXPECT_EQ(for_terminal("\x1B[2Jx\r\x07\x7F"), mark + "[2Jx" + mark + mark + mark);
  EXPECT_EQ(for_terminal("\xC2\x9B"
                         "31m\xC2\xA0"),
            mark + "31m\xC2\xA0");  // CSI in one character
  EXPECT_EQ(for_terminal("\x9B"
                         "31m"),
            mark + "31m");
  EXPECT_EQ(for_terminal("\xE2\x80\xAE"
                         "x\xE2\x81\xA6\xE2\x80\x94"),
            mark + "x" + mark + "\xE2\x80\x94");
}

TEST(to_valid_utf8, replaces_only_what_is_not_utf8) {
  EXPECT_EQ(to_valid_utf8("a\xC3\xA9\xFF"
                          "b"),
            "a\xC3\xA9\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(to_valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // an overlong slash
}

TEST(shorten_middle, keeps_both_ends_and_whole_characters) {
  EXPECT_EQ(shorten_middle("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten_middle("abcdefghij", 7), "ab\xE2\x80\xA6ij");
  const std::string shortened = shorten_middle("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 8);
  EXPECT_EQ(to_valid_utf8(shortened), shortened);
}

}  // namespace
}  // namespace profgate::core
