#include "parsers/adapter_report.h"

#include "file_fixture.h"

namespace profgate::parsers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST_F(adapter_reports, know_no_tokens_of_a_model_that_checks_guesses) {
  write(
      R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "checks_guesses": ["Model"], "stages": [
    {"name": "prefill", "batch": 1, "tokens": 96, "calls": 1}, {"name": "prefill", "batch": 1, "tokens": 5, "calls": 9},
    {"name": "decode_step", "batch": 1, "tokens": 1, "calls": 3}],
    "prompts": [{"batch": 1, "tokens": 101, "chunks": 2, "prompts": 1}]})",
      "pytorch.1.json");
  EXPECT_THAT(unknown_tokens_words(read()), HasSubstr("Model checks guesses of its next tokens"));
  EXPECT_TRUE(are_prompts_unknown(read()));
  EXPECT_FALSE(tokens_of(read(), {12}).has_value());
  EXPECT_FALSE(have_chunks(read())) << "a call that checks guesses is none";
}

TEST_F(adapter_reports, know_no_tokens_where_a_step_is_several) {
  write(generation, "pytorch.1.json");
  EXPECT_EQ(unknown_tokens_words(read()), "");
  write(R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [
    {"name": "prefill", "batch": 1, "tokens": 8, "calls": 1}, {"name": "decode_step", "batch": 1, "tokens": 4, "calls": 3}]})",
        "pytorch.2.json");
  EXPECT_THAT(unknown_tokens_words(read()), HasSubstr("a CUDA graph makes several decode steps at once"));
  EXPECT_FALSE(are_prompts_unknown(read()));
  EXPECT_FALSE(tokens_of(read(), {3}).has_value());
}

TEST_F(adapter_reports, say_which_models_the_host_times) {
  EXPECT_EQ(several_gpus_words(read()), "");
  write(R"({"torch_version": "2.11", "roots": [], "errors": [], "samples_ns": {}, "stages": [],
    "on_several_gpus": [{"model": "Model", "gpus": 2}]})",
        "pytorch.1.json");
  EXPECT_EQ(several_gpus_words(read()),
            "Model lies on 2 GPUs: its stages are timed by the host, which does not wait for them");
}

/// Two processes with the adapter, of which the second has no GPU.
class device_times_of : public adapter_reports {
 protected:
  void SetUp() override {
    write(report(R"("prefill": [30, 40], "decode_all": [70])"), "pytorch.12.json");
    write(report(""), "pytorch.15.json");
  }

  static std::string report(const std::string& samples) {
    return R"({"torch_version": "2.11", "roots": [], "errors": [], "stages": [
      {"name": "prefill", "batch": 1, "tokens": 8, "calls": 2}, {"name": "decode_step", "batch": 1, "tokens": 1, "calls": 3}],
      "samples_ns": {)" +
           samples + "}}";
  }
};

TEST_F(device_times_of, a_process_that_told_some_take_the_place_of_its_own) {
  const device_times times = with_device_samples("prefill", read(), {1, 2, 3, 4}, {1, 0, 1, 0}, {12, 15});
  EXPECT_THAT(times.durations_ns, ElementsAre(30, 40, 1, 3));
  EXPECT_THAT(times.processes, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(silent_processes_words(times, "first"),
            "1 process told no times of the GPU: its times of first are the host's");
}

TEST_F(device_times_of, processes_that_cannot_be_told_apart_leave_the_others_out) {
  for (const std::vector<std::uint32_t>& ids :
       {std::vector<std::uint32_t>{0, 0}, std::vector<std::uint32_t>{15, 16}}) {
    const device_times times = with_device_samples("prefill", read(), {1, 2, 3, 4}, {1, 0, 1, 0}, ids);
    EXPECT_THAT(times.durations_ns, ElementsAre(30, 40));
    EXPECT_TRUE(times.processes.empty());
    EXPECT_EQ(silent_processes_words(times, "prefill"),
              "1 process told no times of the GPU: its times of prefill are left out");
  }
  EXPECT_TRUE(with_device_samples("prefill", read(), {1, 2}, {0, 1}, {12, 15}).processes.empty())
      << "the GPU did more than the host saw: another process did";
}

TEST_F(device_times_of, a_stage_that_no_process_timed_so_are_none) {
  const device_times times = with_device_samples("forward", read(), {1, 2}, {0, 1}, {12, 15});
  EXPECT_TRUE(times.durations_ns.empty());
  EXPECT_EQ(silent_processes_words(times, "forward"), "");
  EXPECT_EQ(silent_processes_words(with_device_samples("decode_all", read(), {9}, {0}, {12}), "decode_all"),
            "");
}

TEST(adapted_processes, are_numbered_where_no_others_have_stages) {
  core::timeline timeline;
  const auto add = [&](const char* domain, const char* name, std::uint32_t process) {
    core::range_record range;
    range.domain = domain;
    range.name = name;
    range.process_id = process;
    range.end_ns = 1;
    timeline.ranges.push_back(range);
  };
  add("LLM", "decode_step", 40);
  add("LLM", "prefill", 7);
  add("LLM", "model.layers.0", 8);
  add("", "prefill", 9);
  const std::vector<std::uint32_t> adapted = adapted_processes(timeline);
  EXPECT_THAT(adapted, ElementsAre(7, 40));
  std::vector<std::uint32_t> ids;
  add_processes(adapted, {{"prefill", {0}}, {"decode_all", {1, 1}}}, ids);
  add_processes(adapted, {{"prefill", {0, 1, 2}}}, ids);
  EXPECT_THAT(ids, ElementsAre(7, 40, 0, 0, 0));
}

TEST(is_adapter_stage, tells_the_adapters_ranges_from_the_programs_own) {
  EXPECT_TRUE(is_adapter_stage("prefill", "LLM"));
  EXPECT_FALSE(is_adapter_stage("prefill", ""));
  EXPECT_FALSE(is_adapter_stage("prefill", std::nullopt));
  EXPECT_FALSE(is_adapter_stage("execute_context", "LLM"));
}

TEST_F(adapter_reports, that_are_none_are_named) {
  write(R"({"torch_version": 3})", "pytorch.1.json");
  EXPECT_THROW(read(), core::bad_input);
}

}  // namespace
}  // namespace profgate::parsers
