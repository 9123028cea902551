// An eager PyTorch program on an H200, and the same with a synchronisation a step
// (tests/gpu/torch/decode_loop.py, embedded collector; 64 steps, 111.6 → 115.1 ms without a tracer). The host
// no longer runs ahead: the device runs dry, and whichever kernel comes next waits for its launch.
#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/stage_operations.h"
#include "gate/attribution.h"
#include "gate/exact_gates.h"
#include "parsers/timeline.h"
#include "unpacked.h"

namespace profgate::analysis {
namespace {

using ::testing::HasSubstr;

struct eager_stage {
  core::timeline timeline{};
  labelled_traces traces{};
  stage_operations sums{};
};

eager_stage recorded_eager(const std::string& arm) {
  eager_stage stage;
  const unpacked recording("eager-extra-sync/" + arm + ".timeline");
  stage.timeline = parsers::read_embedded_timeline(recording.file());
  stage.traces = label_operations(stage.timeline, "decode", {});
  stage.sums = sum_up(stage.traces.occurrences);
  return stage;
}

/// Of a stage's only device, by looking at each operation and what ended before.
std::int64_t latency_ns_of(const stage_trace& trace) {
  std::vector<const operation*> order;
  for (const operation& one : trace.operations) order.push_back(&one);
  std::stable_sort(order.begin(), order.end(),
                   [](const operation* a, const operation* b) { return a->start_ns < b->start_ns; });
  std::int64_t latency_ns = 0;
  std::int64_t busy_until_ns = trace.start_ns;
  for (const operation* one : order) {
    if (one->start_ns > busy_until_ns && one->launched_ns > busy_until_ns)
      latency_ns += std::max<std::int64_t>(0, one->start_ns - one->launched_ns);
    busy_until_ns = std::max(busy_until_ns, one->end_ns);
  }
  return latency_ns;
}

TEST(eager_launches, their_latency_is_what_lies_between_call_and_start_where_the_device_ran_dry) {
  for (const char* arm : {"baseline", "candidate"}) {
    const eager_stage stage = recorded_eager(arm);
    std::int64_t expected_ns = 0;
    for (const stage_trace* trace : typical_of(stage.traces.occurrences))
      expected_ns += latency_ns_of(*trace);
    std::int64_t latency_ns = 0;
    for (const operation_sum& sum : stage.sums.operations) latency_ns += *sum.latency_ns;
    EXPECT_GT(latency_ns, 100'000);
    EXPECT_EQ(latency_ns, expected_ns) << arm;
  }
}

TEST(eager_launches, a_host_that_no_longer_runs_ahead_is_the_cause_and_no_kernel) {
  const eager_stage before = recorded_eager("baseline");
  const eager_stage after = recorded_eager("candidate");
  constexpr double bare_ns = 3.52e6;
  const auto first_of = [&](const gate::exact_comparison* exact) {
    const gate::attribution attributed = gate::attribute({before.sums}, {after.sums}, bare_ns, exact);
    for (const gate::cause& one : attributed.causes) {
      const bool is_kernel = one.kind == gate::cause_kind::duration;
      EXPECT_LT(is_kernel ? one.delta_ns : 0, 0.05 * bare_ns) << gate::to_text(one);
    }
    const gate::cause first = attributed.causes.at(0);
    EXPECT_NEAR(first.delta_ns / bare_ns, 0.85, 0.15) << gate::to_text(first);
    return gate::to_text(first);
  };
  EXPECT_THAT(first_of(nullptr), ::testing::AllOf(HasSubstr("longer idle: host work"),
                                                  HasSubstr("with it the wait for each launch: ")));
  gate::exact_comparison exact;
  exact.changes = {{gate::exact_kind::synchronisations, "cudaStreamSynchronize", "0", "64", false, {}}};
  EXPECT_THAT(first_of(&exact),
              ::testing::AllOf(HasSubstr("longer idle: the host waits in cudaStreamSynchronize"),
                               HasSubstr("calls 0 → 64")));
}

}  // namespace
}  // namespace profgate::analysis
