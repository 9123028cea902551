#include "core/json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace profgate::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What reading `text` says, and what `look` says of a document that reads.
template <class Look>
std::string fault_of(const std::string& text, json_rules rules, Look look) {
  try {
    const json_document document(text, "d.json", "write it again", rules);
    look(document.root());
  } catch (const bad_input& wrong) {
    EXPECT_EQ(wrong.remedy(), "write it again");
    return wrong.what();
  }
  return "";
}

std::string fault_of(const std::string& text, json_rules rules = json_rules::lenient) {
  return fault_of(text, rules, [](const json_cursor&) {});
}

TEST(json, broken_syntax_is_named_with_its_line_and_column) {
  EXPECT_THAT(fault_of("{\"a\": 1,\n \"b\": NaN}"),
              AllOf(HasSubstr("d.json:2: not valid JSON at column 7"), HasSubstr("NaN")));
  EXPECT_THAT(fault_of("{\"a\": [1,\n2"), HasSubstr("d.json:2: not valid JSON at column 1: the file ends"));
  EXPECT_THAT(fault_of("{}\n{}"), HasSubstr("d.json:2: not valid JSON at column 1: something stands after"));
  EXPECT_THAT(fault_of("{\"a\": \"\xff\"}"), HasSubstr("UTF-8"));
  EXPECT_THAT(fault_of(""), HasSubstr("d.json: empty"));
}

TEST(json, a_wrong_value_is_named_with_its_path) {
  const auto fault = [](const std::string& text) {
    return fault_of(text, json_rules::lenient, [](const json_cursor& root) {
      for (const json_cursor& item : root.require("list").items()) item.require("n").integer(0, 9);
    });
  };
  EXPECT_EQ(fault(R"({"list": [{"n": 1}, {"n": 9}]})"), "");
  EXPECT_EQ(fault(R"({"list": [{"n": 1}, {"n": 10}]})"), "d.json: list[1].n is 10, but must be from 0 to 9");
  EXPECT_EQ(fault(R"({"list": [{"n": 2.5}]})"), "d.json: list[0].n must be a whole number, but is number");
  EXPECT_EQ(fault(R"({"list": [{"n": 18446744073709551615}]})"),
            "d.json: list[0].n is 18446744073709551615, but must be from 0 to 9");
  EXPECT_EQ(fault(R"({"list": [{"n": null}]})"), "d.json: list[0] lacks the required key 'n'");
  EXPECT_EQ(fault(R"({"list": [{"n": 1e999}]})"),
            "d.json: list[0].n is a number that is too large for JSON readers");
  EXPECT_EQ(fault("[]"), "d.json: the document must be an object, but is array");
}

TEST(json, strictly_read_has_no_key_twice_and_no_number_that_would_lose_digits) {
  const std::string twice = R"({"a": [0, {"b": 1, "b": 2}]})";
  EXPECT_EQ(fault_of(twice), "");
  EXPECT_EQ(fault_of(twice, json_rules::strict), "d.json: a[1].b stands there twice");
  const std::string large = R"({"a": [99999999999999999999]})";
  EXPECT_EQ(fault_of(large), "");
  EXPECT_EQ(fault_of(large, json_rules::strict),
            "d.json: a[0] is 99999999999999999999, too large for a 64-bit number");
}

TEST(json, a_hostile_depth_is_refused) {
  EXPECT_EQ(fault_of(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_THAT(fault_of(std::string(65, '[') + std::string(65, ']')), HasSubstr("64 levels deep"));
  EXPECT_THAT(fault_of(std::string(1000000, '[')), HasSubstr("64 levels deep"));
}

TEST(json, a_tree_without_errors_is_discarded_where_it_is_broken_or_too_deep) {
  EXPECT_EQ(parse_json(R"({"a": [1]})")["a"][0], 1);
  EXPECT_EQ(json_text(parse_ordered_json(R"({"b": 1, "a": 2})")), "{\n  \"b\": 1,\n  \"a\": 2\n}\n");
  for (const std::string& text :
       {std::string("{"), std::string(), std::string(65, '[') + std::string(65, ']')}) {
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
    EXPECT_TRUE(parse_ordered_json(text).is_discarded()) << text;
  }
  // Brackets within a text are none, whatever quotes it holds.
  EXPECT_FALSE(
      parse_json("[\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"]").is_discarded());
}

}  // namespace
}  // namespace profgate::core
