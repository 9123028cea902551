#include "core/last_words.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(last_words, are_the_last_line_that_says_something) {
  EXPECT_EQ(read_last_words("first\nno GPU \r\n\n").reason, "no GPU");
  EXPECT_EQ(read_last_words("10 %\r100 %\rno GPU").reason, "no GPU") << "progress writes over itself";
  EXPECT_EQ(read_last_words(" \n").reason, "");
  EXPECT_EQ(read_last_words("Error {\r\n  Text: \"none (of 2)\" \r\n  }\r\n};\r\n\n").reason,
            "Text: \"none (of 2)\"")
      << "brackets that an error's dump ends with";
  EXPECT_EQ(read_last_words("{\n}\n").reason, "");
  EXPECT_EQ(read_last_words("no GPU\n").remedy, "");
}

TEST(last_words, have_the_remedy_apart) {
  const last_words said = read_last_words("first\nno GPU\n  to fix it: plug one in\n");
  EXPECT_EQ(said.reason, "no GPU");
  EXPECT_EQ(said.remedy, "plug one in");
  EXPECT_EQ(read_last_words("  to fix it: plug one in\n").reason, "");
}

TEST(last_words, stand_behind_how_it_ended_and_before_the_place_of_all) {
  EXPECT_EQ(ended_saying("exit code 1", "no GPU"), "exit code 1: no GPU");
  EXPECT_EQ(ended_saying("exit code 1", ""), "exit code 1");
  EXPECT_EQ(remedy_or_look("plug one in", "see log.txt"), "plug one in (see log.txt)");
  EXPECT_EQ(remedy_or_look("", "see log.txt"), "see log.txt");
}

}  // namespace
}  // namespace profgate::core
