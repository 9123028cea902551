#include "llm/safetensors.h"

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

safetensors_index parse_content(const std::string& content) {
  return parse_safetensors(std::as_bytes(std::span(content.data(), content.size())), "m.safetensors");
}

void expect_content_refused(const std::string& words, const std::string& content) {
  expect_bad_input(words, [&] { parse_content(content); });
  EXPECT_THAT(failure_of([&] { parse_content(content); }).what(), ::testing::StartsWith("m.safetensors: "));
}

std::string one_tensor(const std::string& description, std::size_t data_bytes = 8) {
  return safetensors_text(R"({"a":)" + description + "}", std::string(data_bytes, '\0'));
}

TEST(safetensors, finds_tensors_by_name) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const auto index = parse_content(safetensors_text(header, std::string(12, '\0')));
  ASSERT_EQ(index.size(), 2U);
  EXPECT_EQ(index.at("b").dtype, tensor_dtype::bf16);
  EXPECT_EQ(index.at("b").dims, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(index.at("b").begin, 8 + header.size() + 8);
  EXPECT_EQ(index.at("b").end, 8 + header.size() + 12);
}

TEST(safetensors, refuses_a_file_that_ends_early) {
  expect_content_refused("truncated: no room for the 8-byte header length", "1234567");
  expect_content_refused("truncated: the header should have 100 bytes, the file has 2 after its length",
                         safetensors_text("{}", "", 100));
  expect_content_refused("tensor 'a' ends at byte 8 of the data, which has 7",
                         one_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7));
}

TEST(safetensors, refuses_an_absurd_header_length) {
  expect_content_refused("the header length 18446744073709551615 is absurd",
                         safetensors_text("{}", "", UINT64_MAX));
}

TEST(safetensors, refuses_a_header_that_is_not_a_json_object) {
  expect_content_refused("the header is not JSON", safetensors_text("{\"a\":", ""));
  expect_content_refused("the header is not a JSON object", safetensors_text("[]", ""));
}

TEST(safetensors, refuses_malformed_entries_by_name) {
  expect_content_refused("tensor 'a' is not described by an object", one_tensor("7"));
  expect_content_refused("tensor 'a' has no dtype", one_tensor(R"({"shape":[2],"data_offsets":[0,8]})"));
  expect_content_refused("tensor 'a' has the unknown dtype 'F7'",
                         one_tensor(R"({"dtype":"F7","shape":[2],"data_offsets":[0,8]})"));
  expect_content_refused("tensor 'a' has no shape", one_tensor(R"({"dtype":"F32","data_offsets":[0,8]})"));
  expect_content_refused("tensor 'a' has a dimension that is not a size",
                         one_tensor(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"));
  expect_content_refused("tensor 'a' has no data_offsets",
                         one_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"));
  expect_content_refused("tensor 'a' ends before it begins",
                         one_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"));
}

TEST(safetensors, refuses_sizes_that_do_not_fit) {
  expect_content_refused("tensor 'a' has 8 bytes, its shape and dtype need 12",
                         one_tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"));
  expect_content_refused(
      "tensor 'a' has a shape whose size overflows 64 bits",
      one_tensor(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"));
}

TEST(safetensors, refuses_overlapping_and_duplicate_tensors) {
  expect_content_refused("tensor 'b' overlaps tensor 'a'",
                         safetensors_text(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                          R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                          std::string(12, '\0')));
  expect_content_refused("tensor 'a' is listed twice",
                         safetensors_text(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                          R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                          "12"));
}

}  // namespace
}  // namespace profgate::llm
