#include <gmock/gmock.h>

#include "core/stage_names.h"
#include "parsers/timeline.h"

namespace profgate::parsers {
namespace {

using ::testing::ElementsAre;

TEST(rename_raised_calls, takes_the_call_itself_and_no_other) {
  core::timeline timeline;
  const auto add = [&](const char* name, std::int64_t start_ns, std::int64_t end_ns,
                       std::uint32_t process = 1) {
    timeline.ranges.push_back({"LLM", name, core::range_style::push_pop, process, 1, start_ns, end_ns});
  };
  add("prefill", 0, 10);
  add("mlp", 1, 8);
  add(core::raised_range, 9, 10);
  add("prefill", 20, 30);
  add("mlp", 21, 30);
  add("decode_step", 60, 70);
  add(core::raised_range, 65, 66);
  add("decode_step", 80, 90);
  add("prefill", 5, 15, 2);
  rename_raised_calls(timeline);
  std::vector<std::string_view> names;
  for (const core::range_record& range : timeline.ranges) names.push_back(range.name);
  EXPECT_THAT(names, ElementsAre(core::raised_range, "mlp", core::raised_range, "prefill", "mlp",
                                 core::raised_range, core::raised_range, "decode_step", "prefill"));
}

/// A library's range, one of another domain and a request lie between the call and its mark.
TEST(rename_raised_calls, takes_only_what_its_mark_nests_in) {
  core::timeline timeline;
  timeline.ranges = {{"LLM", "prefill", core::range_style::push_pop, 1, 1, 0, 100},
                     {"NCCL", "ncclAllReduce", core::range_style::push_pop, 1, 1, 10, 90},
                     {"", "prefill", core::range_style::push_pop, 1, 1, 15, 85},
                     {"LLM", "request", core::range_style::start_end, 1, 1, 20, 80},
                     {"LLM", core::raised_range, core::range_style::push_pop, 1, 1, 30, 31}};
  rename_raised_calls(timeline);
  std::vector<std::string_view> names;
  for (const core::range_record& range : timeline.ranges) names.push_back(range.name);
  EXPECT_THAT(names,
              ElementsAre(core::raised_range, "ncclAllReduce", "prefill", "request", core::raised_range));
}

}  // namespace
}  // namespace profgate::parsers
