#include "core/json_path.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace profgate::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> numbers(const std::string& path, const std::string& text) {
  const json_document document(text, "out.json", "write it again");
  std::vector<double> values;
  for (const json_cursor& place : json_path(path, "here").values_in(document, 4))
    values.push_back(place.number());
  return values;
}

std::string fault(const std::string& path, const std::string& text) {
  try {
    numbers(path, text);
  } catch (const bad_input& refused) {
    return refused.what();
  }
  return "";
}

TEST(json_path, leads_through_keys_and_elements) {
  EXPECT_THAT(numbers("latency", R"({"latency": 1.5})"), ElementsAre(1.5));
  EXPECT_THAT(numbers("a.b[]", R"({"a": {"b": [1, 2]}})"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("a[].b", R"({"a": [{"b": 1}, {"b": 2}]})"), ElementsAre(1, 2));
  EXPECT_THAT(numbers("a[1].b", R"({"a": [{"b": 1}, {"b": 2}]})"), ElementsAre(2));
  EXPECT_THAT(numbers("[][]", "[[1], [], [2, 3]]"), ElementsAre(1, 2, 3));
}

TEST(json_path, that_leads_nowhere_is_told_with_the_place) {
  EXPECT_THAT(fault("a[].b", R"({"a": [{"b": 1}, {"c": 2}]})"),
              AllOf(HasSubstr("out.json"), HasSubstr("a[1] lacks the required key 'b'")));
  EXPECT_THAT(fault("a[2]", R"({"a": [1, 2]})"), HasSubstr("a has 2 elements, none at [2]"));
  EXPECT_THAT(fault("a[]", R"({"a": 1})"), HasSubstr("a must be an array"));
  EXPECT_THAT(fault("a", R"({"a": "fast"})"), HasSubstr("a must be a number, but is string"));
}

TEST(json_path, takes_no_more_values_than_it_may) {
  EXPECT_THAT(fault("[]", "[1, 2, 3, 4, 5]"), HasSubstr("more values than the 4"));
  EXPECT_THAT(fault("[][]", "[[1, 2, 3], [4, 5]]"), HasSubstr("more values than the 4"));
}

TEST(json_path, that_is_none_is_refused_with_where_it_stands) {
  for (const char* wrong : {"", ".", "a.", ".a", "a..b", "a[", "a]", "a[x]", "a[-1]", "a[1"}) {
    EXPECT_THAT(fault(wrong, "{}"), AllOf(HasSubstr("here"), HasSubstr("no path"))) << wrong;
  }
}

}  // namespace
}  // namespace profgate::core
