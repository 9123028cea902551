// One policy for every CSV file, of nsys and of ncu.
#include <functional>

#include "file_fixture.h"
#include "parsers/ncu.h"
#include "parsers/nsys_csv.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct csv_kind {
  const char* tool;
  std::string text;  ///< two lines, then one with the kernel's name
  std::function<std::string(const std::filesystem::path&)> name_in;
};

const std::vector<csv_kind>& kinds() {
  static const std::vector<csv_kind> all{
      {"nsys", "Total Time (ns),Instances,Avg (ns),Name\n5,1,5.0,first\n7,1,7.0,k\n",
       [](const auto& file) { return parsers::read_kernel_sum_csv(file).at(1).kernel_name; }},
      {"ncu",
       "\"ID\",\"Device\",\"Block Size\",\"Grid Size\",\"Kernel Name\"\n\"\",\"\",\"\",\"\",\"\"\n"
       "\"0\",\"0\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"k\"\n",
       [](const auto& file) { return parsers::read_ncu_counters(file).at(0).kernel_name; }}};
  return all;
}

std::string as_utf16(const std::string& text, bool is_big_endian) {
  std::string wide;
  for (const char c : text) wide += is_big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return wide;
}

class csv_encoding : public file_test {
 protected:
  std::string words(const csv_kind& kind, const std::string& text) {
    try {
      kind.name_in(write(text));
    } catch (const core::bad_input& problem) {
      return std::string(problem.what()) + "; " + problem.remedy();
    }
    return "";
  }
};

TEST_F(csv_encoding, takes_utf8_with_and_without_a_mark) {
  for (const csv_kind& kind : kinds()) {
    EXPECT_EQ(kind.name_in(write(kind.text)), "k") << kind.tool;
    EXPECT_EQ(kind.name_in(write("\xEF\xBB\xBF" + kind.text)), "k") << kind.tool;
    std::string greek = kind.text;
    greek.replace(greek.rfind('k'), 1, "\u03ba");
    EXPECT_EQ(kind.name_in(write(greek)), "\u03ba") << kind.tool;
  }
}

TEST_F(csv_encoding, refuses_utf16_and_says_how_to_convert_it) {
  for (const csv_kind& kind : kinds()) {
    for (const std::string& text :
         {"\xFF\xFE" + as_utf16(kind.text, false), "\xFE\xFF" + as_utf16(kind.text, true),
          as_utf16(kind.text, false), as_utf16(kind.text, true)}) {
      EXPECT_THAT(words(kind, text), AllOf(HasSubstr("input:1: column 1: is UTF-16"), HasSubstr("iconv")))
          << kind.tool;
    }
  }
}

TEST_F(csv_encoding, refuses_other_bytes_with_line_and_column) {
  for (const csv_kind& kind : kinds()) {
    std::string latin = kind.text;
    const std::size_t at = latin.rfind('k');
    const std::string column = std::to_string(at - latin.rfind('\n', at));
    latin[at] = '\xE9';
    EXPECT_THAT(words(kind, latin), HasSubstr("input:3: column " + column + " is no UTF-8 text"))
        << kind.tool;
    latin[at] = '\0';
    EXPECT_THAT(words(kind, latin), HasSubstr("input:3: column " + column + " is no UTF-8 text"))
        << kind.tool;
  }
}

}  // namespace
}  // namespace profgate::test
