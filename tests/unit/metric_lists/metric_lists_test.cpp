#include <cupti_profiler_host.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "analysis/counter_metrics.h"
#include "config/config.h"
#include "counted_suspects.h"

/// Metric names that a chip does not have vanish from ncu's reports without a word: they are checked here,
/// for the chip of the H100 and H200, without a GPU.
namespace profgate::test {
namespace {

using ::testing::IsEmpty;

constexpr const char* chip = "GH100";

/// What CUPTI makes of a list of metrics on one chip.
class metric_list {
 public:
  explicit metric_list(const std::vector<std::string>& names) {
    CUpti_Profiler_Host_Initialize_Params wanted{};
    wanted.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
    wanted.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    wanted.pChipName = chip;
    if (cuptiProfilerHostInitialize(&wanted) != CUPTI_SUCCESS)
      throw std::runtime_error("CUPTI knows no such chip");
    m_host = wanted.pHostObject;
    for (const std::string& name : names) {
      // Attributes of a launch come from the driver, not from counters.
      if (name.starts_with("launch__")) continue;
      CUpti_Profiler_Host_GetMetricProperties_Params properties{};
      properties.structSize = CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE;
      properties.pHostObject = m_host;
      properties.pMetricName = name.c_str();
      if (cuptiProfilerHostGetMetricProperties(&properties) == CUPTI_SUCCESS) {
        m_known.push_back(name);
      } else {
        m_unknown.push_back(name);
      }
    }
  }
  ~metric_list() {
    CUpti_Profiler_Host_Deinitialize_Params done{};
    done.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
    done.pHostObject = m_host;
    cuptiProfilerHostDeinitialize(&done);
  }
  metric_list(const metric_list&) = delete;
  metric_list& operator=(const metric_list&) = delete;

  const std::vector<std::string>& unknown() const { return m_unknown; }

  /// Replays of a kernel that the known ones take. ncu itself may take one or two more.
  std::size_t passes() const {
    std::vector<const char*> names;
    for (const std::string& name : m_known) names.push_back(name.c_str());
    CUpti_Profiler_Host_ConfigAddMetrics_Params added{};
    added.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
    added.pHostObject = m_host;
    added.ppMetricNames = names.data();
    added.numMetrics = names.size();
    require(cuptiProfilerHostConfigAddMetrics(&added), "cuptiProfilerHostConfigAddMetrics");
    CUpti_Profiler_Host_GetConfigImageSize_Params size{};
    size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
    size.pHostObject = m_host;
    require(cuptiProfilerHostGetConfigImageSize(&size), "cuptiProfilerHostGetConfigImageSize");
    std::vector<std::uint8_t> bytes(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params image{};
    image.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
    image.pHostObject = m_host;
    image.configImageSize = bytes.size();
    image.pConfigImage = bytes.data();
    require(cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage");
    CUpti_Profiler_Host_GetNumOfPasses_Params counted{};
    counted.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
    counted.configImageSize = bytes.size();
    counted.pConfigImage = bytes.data();
    require(cuptiProfilerHostGetNumOfPasses(&counted), "cuptiProfilerHostGetNumOfPasses");
    return counted.numOfPasses;
  }

 private:
  static void require(CUptiResult result, const char* call) {
    if (result != CUPTI_SUCCESS)
      throw std::runtime_error(std::string(call) + " fails with " + std::to_string(result));
  }

  CUpti_Profiler_Host_Object* m_host = nullptr;
  std::vector<std::string> m_known;
  std::vector<std::string> m_unknown;
};

std::vector<std::string> metrics_in(const std::string& choice) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.command_line_overrides = {"profiling/ncu=" + choice};
  return config::compose(wanted).list("ncu.metrics");
}

TEST(metric_lists, hold_only_metrics_that_the_chip_has) {
  const std::vector<std::string> choices = config::choices({PROFGATE_CONF}, "profiling/ncu");
  ASSERT_GE(choices.size(), 2U);
  for (const std::string& choice : choices) {
    const std::vector<std::string> names = metrics_in(choice);
    EXPECT_FALSE(names.empty()) << choice;
    EXPECT_THAT(metric_list(names).unknown(), IsEmpty()) << "in conf/profiling/ncu/" << choice << ".yaml";
  }
}

TEST(metric_lists, what_the_analysis_reads_exists) {
  EXPECT_THAT(metric_list(analysis::needed_metrics()).unknown(), IsEmpty());
}

TEST(metric_lists, what_is_counted_of_suspects_exists_and_takes_three_passes_at_most) {
  EXPECT_THAT(metric_list(ab::suspect_metrics()).unknown(), IsEmpty());
  EXPECT_LE(metric_list(ab::suspect_metrics()).passes(), 3U);
}

TEST(metric_lists, light_is_a_dozen_in_three_passes_at_most) {
  const std::vector<std::string> names = metrics_in("light");
  EXPECT_EQ(names.size(), 12U);
  EXPECT_LE(metric_list(names).passes(), 3U);
}

TEST(metric_lists, the_check_can_fail) {
  EXPECT_EQ(metric_list({"gpu__time_duration.sum", "no_such__metric.sum"}).unknown(),
            std::vector<std::string>{"no_such__metric.sum"});
  // A throughput breaks down into many counters: recorded, it took ncu a dozen passes.
  EXPECT_GT(metric_list({"sm__throughput.avg.pct_of_peak_sustained_elapsed"}).passes(), 3U);
}

}  // namespace
}  // namespace profgate::test
