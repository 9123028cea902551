#include "parsers/adapter_report.h"

#include "file_fixture.h"

namespace profgate::parsers {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class adapter_reports : public test::file_test {
 protected:
  std::vector<adapter_report> read() const {
    return read_adapter_reports(adapter_report_files(m_folder.path()));
  }
};

const std::string generation = R"({"torch_version": "2.11", "roots": ["m.Model"], "errors": [], "stages": [
  {"name": "prefill", "batch": 1, "tokens": 8, "calls": 1}, {"name": "prefill", "batch": 2, "tokens": 5, "calls": 3},
  {"name": "decode_step", "batch": 2, "tokens": 1, "calls": 13},
  {"name": "forward", "batch": null, "tokens": null, "calls": 7}],
  "samples_ns": {"prefill": [30, 40]}})";

TEST_F(adapter_reports, of_several_processes_are_summed_up) {
  write(generation, "pytorch.10.json");
  write(generation, "pytorch.9.json");
  write("{", "pytorch.11.json.part");
  write("{}", "metrics.json");
  const std::vector<adapter_report> reports = read();
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].stages[3].batch, std::nullopt);
  EXPECT_THAT(device_samples_ns(reports).at("prefill"), ElementsAre(30, 40, 30, 40));
  const auto tokens = tokens_of(reports, {});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->batch, 2);
  EXPECT_EQ(tokens->prompt, 5);
  EXPECT_EQ(tokens->decoded, 3) << "26 steps after 8 prefills";
  EXPECT_TRUE(tokens->is_mean);
}

TEST_F(adapter_reports, take_the_length_that_most_texts_have_where_it_is_known) {
  write(generation, "pytorch.10.json");
  const auto tokens = tokens_of(read(), {1, 6, 6});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->decoded, 6) << "the mean of 13 steps after 4 prefills is that of no text";
  EXPECT_FALSE(tokens->is_mean);
  EXPECT_EQ(tokens_of(read(), {4, 16})->decoded, 16);
}

TEST_F(adapter_reports, add_up_the_chunks_of_a_prompt) {
  write(R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [
    {"name": "prefill", "batch": 1, "tokens": 32, "calls": 13}, {"name": "decode_step", "batch": 1, "tokens": 1, "calls": 32}],
    "prompts": [{"batch": 1, "tokens": 96, "chunks": 3, "prompts": 4}, {"batch": 1, "tokens": 32, "chunks": 1, "prompts": 1}]})",
        "pytorch.1.json");
  const auto tokens = tokens_of(read(), {8, 8, 8, 8});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->prompt, 96);
  EXPECT_EQ(tokens->chunks, 3);
  EXPECT_EQ(tokens->decoded, 8);
}

TEST_F(adapter_reports, tell_whether_all_calls_had_the_same_work) {
  const std::string same =
      R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [
    {"name": "prefill", "batch": 1, "tokens": 8, "calls": 2}, {"name": "decode_step", "batch": 1, "tokens": 1, "calls": 9}]})";
  write(same, "pytorch.1.json");
  EXPECT_TRUE(have_one_shape(read()));
  write(generation, "pytorch.2.json");
  EXPECT_FALSE(have_one_shape(read()));
}

TEST_F(adapter_reports, tell_of_calls_that_raised) {
  write(generation, "pytorch.1.json");
  EXPECT_EQ(raised_calls_words(read()), "");
  const std::string start =
      R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [], )";
  write(start + R"("raised": {"OutOfMemoryError": 1}})", "pytorch.2.json");
  EXPECT_EQ(raised_calls_words(read()),
            "a call of a model ended by OutOfMemoryError, and is no part of any stage");
  write(start + R"("raised": {"OutOfMemoryError": 2, "KeyError": 1}})", "pytorch.3.json");
  EXPECT_EQ(raised_calls_words(read()),
            "4 calls of models ended by KeyError or OutOfMemoryError, and are no part of any stage");
}

TEST_F(adapter_reports, of_encoders_know_no_tokens) {
  write("pytorch.1.json",
        R"({"torch_version": "1.13", "roots": [], "errors": [], "samples_ns": {}, "stages": [
    {"name": "forward", "batch": null, "tokens": null, "calls": 7}]})");
  EXPECT_EQ(tokens_of(read(), {}).has_value(), false);
}

TEST_F(adapter_reports, tell_of_steps_without_a_cache_where_there_were_any) {
  write(generation, "pytorch.1.json");  // as earlier versions wrote it
  EXPECT_FALSE(steps_without_cache_of(read()));
  write(R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [
    {"name": "decode_step", "batch": 1, "tokens": 1, "calls": 4}],
    "steps_without_cache": [{"fed_tokens": 9, "calls": 1}, {"fed_tokens": 6, "calls": 2}]})",
        "pytorch.2.json");
  const auto seen = steps_without_cache_of(read());
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->calls, 3);
  EXPECT_EQ(seen->decode_calls, 17) << "those of the other process, too";
  EXPECT_EQ(seen->prefill_calls, 4);
  EXPECT_EQ(seen->fed_tokens, 21);
  EXPECT_EQ(seen->shortest_tokens, 6);
  EXPECT_EQ(seen->longest_tokens, 9);
}

TEST_F(adapter_reports, that_are_none_are_named) {
  write(R"({"torch_version": 3})", "pytorch.1.json");
  EXPECT_THROW(read(), core::bad_input);
}

}  // namespace
}  // namespace profgate::parsers
