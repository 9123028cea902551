// What reports say of busy and idle time: the same in each of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "golden_cases.h"
#include "golden_files.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A prefill whose traced kernels take 22 ms, and its gaps 18 ms; without a tracer it took `bare_ns`.
json profile_of_prefill(std::int64_t bare_ns) {
  analysis::run_facts facts = golden_cases().back().facts;
  for (std::int64_t& sample_ns : facts.bare.bench->samples_ns["prefill"]) sample_ns = bare_ns;
  return json::parse(analysis::profile_json(facts));
}

TEST(idle_view, tells_a_bound_where_kernels_took_longer_under_the_tracer_than_the_whole_stage) {
  const json profile = profile_of_prefill(21'900'000);
  const json idle = profile["stages"][0]["idle"];
  EXPECT_TRUE(idle["idle_ns"].is_null());
  EXPECT_THAT(idle["not_measured"]["launch_ns"], HasSubstr("under the tracer"));
  EXPECT_NEAR(idle["idle_at_most_ns"].get<double>(), 18e6, 1);
  std::map<std::string, std::string> files = reports_of(profile.dump());
  const std::string words = "its kernels took 22.0 ms under the tracer, the whole unprofiled stage 21.9 ms";
  EXPECT_THAT(files["report.md"],
              AllOf(HasSubstr(words), HasSubstr("| prefill     | 22.0 ms | &lt; 18.0 ms | "
                                                "&lt; 82.2 % |")));
  EXPECT_THAT(files["report.html"],
              AllOf(HasSubstr("prefill: " + words), HasSubstr("under the tracer: 22.0 ms"),
                    Not(HasSubstr("busy: 22.0 ms (100.0 %)"))));
  EXPECT_THAT(files["stakeholder_summary.md"], HasSubstr("&lt; 82.2 % |"));
}

TEST(idle_view, tells_what_neither_kernels_nor_gaps_of_the_trace_explain) {
  std::map<std::string, std::string> files = reports_of(profile_of_prefill(42'000'000).dump());
  const std::string words =
      "2.00 ms (4.8 %) of the unprofiled stage are neither: its kernels ran slower than in";
  EXPECT_THAT(files["report.md"],
              AllOf(HasSubstr("- prefill: " + words), HasSubstr("| 22.0 ms | 18.0 ms |")));
  EXPECT_THAT(files["report.html"], HasSubstr("busy for longer than in the trace (clocks, spread): 2.00 ms"));
  files = reports_of(profile_of_prefill(40'300'000).dump());
  EXPECT_THAT(files["report.md"], Not(HasSubstr("are neither"))) << "too little for a line";
}

TEST(idle_view, says_of_no_idle_time_of_an_earlier_profgate_that_it_is_too_little_to_tell) {
  json profile = profile_of_prefill(40'000'000);
  const auto has_told = [](const json& document) {
    std::map<std::string, std::string> files = reports_of(document.dump());
    const char* const words = "is too little to tell";
    EXPECT_EQ(files["report.md"].find(words) == std::string::npos,
              files["report.html"].find(words) == std::string::npos);
    return files["report.md"].find(words) != std::string::npos;
  };
  EXPECT_FALSE(has_told(profile));
  json& idle = profile["stages"][0]["idle"];
  for (const char* key : {"idle_at_most_ns", "unexplained_ns", "after_ns"}) idle.erase(key);
  EXPECT_FALSE(has_told(profile));
  idle["idle_ns"] = idle["idle_ratio"] = 0.0;
  EXPECT_TRUE(has_told(profile));
}

}  // namespace
}  // namespace profgate::render
