#include "parsers/benchmark_json.h"

#include "file_fixture.h"

namespace profgate::test {
namespace {

using ::testing::HasSubstr;

class benchmark_json : public file_test {};

TEST_F(benchmark_json, reads_repetitions_in_nanoseconds_without_aggregates) {
  const parsers::benchmark_report report = parsers::read_benchmark_json(write(R"({
    "context":{"host_name":"h","num_cpus":2,"cpu_scaling_enabled":false},
    "benchmarks":[
      {"name":"prefill/manual_time","run_type":"iteration","iterations":3,"real_time":1.5,"cpu_time":1,"time_unit":"ms"},
      {"name":"prefill/manual_time","run_type":"iteration","iterations":3,"real_time":20,"time_unit":"us"},
      {"name":"prefill/manual_time_mean","run_type":"aggregate","iterations":2,"real_time":1,"time_unit":"ms"},
      {"name":"decode","run_type":"iteration","iterations":1,"real_time":7},
      {"name":"broken","run_type":"iteration","error_occurred":true,"error_message":"no model"}]})"));
  EXPECT_EQ(report.context.at("num_cpus"), "2");
  EXPECT_EQ(report.context.at("host_name"), "h");
  ASSERT_EQ(report.runs.size(), 4U);
  EXPECT_EQ(report.runs[0].name, "prefill/manual_time");
  EXPECT_EQ(report.runs[0].iterations, 3);
  EXPECT_DOUBLE_EQ(*report.runs[0].real_time_ns, 1.5e6);
  EXPECT_DOUBLE_EQ(*report.runs[1].real_time_ns, 2e4);
  EXPECT_DOUBLE_EQ(*report.runs[2].real_time_ns, 7);
  EXPECT_EQ(report.runs[3].real_time_ns, std::nullopt);
  EXPECT_EQ(report.runs[3].error_message, "no model");
}

TEST_F(benchmark_json, names_the_place_of_what_is_wrong) {
  const auto words = [&](const std::string& content) {
    return words_of_bad_input([&] { parsers::read_benchmark_json(write(content)); });
  };
  EXPECT_THAT(words("{\"context\":{}}"), HasSubstr("lacks the required key 'benchmarks'"));
  EXPECT_THAT(words(R"({"benchmarks":[{"name":"a","iterations":1}]})"),
              HasSubstr("benchmarks[0] lacks the required key 'real_time'"));
  EXPECT_THAT(words(R"({"benchmarks":[{"name":"a","iterations":1,"real_time":1,"time_unit":"h"}]})"),
              HasSubstr("benchmarks[0].time_unit is 'h'"));
  EXPECT_THAT(words("{\"benchmarks\":[\n{\"name\""), HasSubstr("input:2: not valid JSON"));
}

}  // namespace
}  // namespace profgate::test
