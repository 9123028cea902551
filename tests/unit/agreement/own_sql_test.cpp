// What we say of an nsys export, beside queries over the same file that know nothing of our code: ranks and
// devices at once, a program without a range, a graph's nodes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "../collector/temp_folder.h"
#include "analysis/stage_rules.h"
#include "analysis/timeline_analysis.h"
#include "parsers/timeline.h"
#include "sql_file.h"

namespace profgate::test {
namespace {

namespace fs = std::filesystem;

const fs::path recordings = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1";

/// Temporary tables that the queries are made of: windows of the stage, its stretches (islands of windows
/// that overlap), the kernels launched in it, and what of them lies in their stretch.
void make_stage_tables(const sql_file& sql, const std::string& windows, const std::string& gpu = "deviceId") {
  sql.rows(fmt::format(R"(
CREATE TEMP TABLE w AS {};
CREATE TEMP TABLE stretch AS
  WITH marked AS (SELECT *, max(end) OVER (ORDER BY start, end ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                  AS before FROM w),
  numbered AS (SELECT *, sum(before IS NULL OR start >= before) OVER (ORDER BY start, end) AS island FROM marked)
  SELECT min(start) AS start, max(end) AS end FROM numbered GROUP BY island;
CREATE TEMP TABLE call AS
  SELECT start, globalTid / 16777216 % 16777216 AS pid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME;
CREATE INDEX temp.by_id ON call (correlationId);
CREATE TEMP TABLE k AS
  SELECT k.start, k.end, {} AS gpu, call.pid, k.correlationId, stretch.start AS low, stretch.end AS high
  FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
  JOIN call ON call.correlationId = k.correlationId AND call.pid = k.globalPid / 16777216 % 16777216
  JOIN stretch ON call.start BETWEEN stretch.start AND stretch.end
  WHERE EXISTS (SELECT 1 FROM w WHERE w.pid = call.pid AND call.start BETWEEN w.start AND w.end);
CREATE TEMP TABLE busy AS
  WITH cut AS (SELECT gpu, max(min(start, high), low) AS start, max(min(end, high), low) AS end FROM k)
  SELECT gpu, start, end, max(end) OVER (PARTITION BY gpu ORDER BY start, end
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM cut;
)",
                       windows, gpu));
}

std::string ranges_named(const std::string& name) {
  return fmt::format(
      "SELECT start, end, globalTid / 16777216 % 16777216 AS pid FROM NVTX_EVENTS LEFT JOIN StringIds ON "
      "StringIds.id = textId WHERE coalesce(text, value) = '{}' AND end IS NOT NULL",
      name);
}

analysis::timeline_figures analyzed(const fs::path& file, const std::string& stage) {
  core::timeline timeline = parsers::read_nsys_sqlite(file);
  analysis::name_stages(timeline, {{stage, stage, std::nullopt, "here"}}, "any");
  analysis::attribution_facts attribution;
  attribution.stages_may_repeat = true;
  return analysis::analyze_timelines({{"run", std::nullopt, std::move(timeline)}}, {stage}, "any", "",
                                     attribution);
}

using by_number = std::map<std::int64_t, std::vector<std::int64_t>>;

by_number by_first_column(const std::vector<std::vector<std::int64_t>>& rows) {
  by_number result;
  for (const std::vector<std::int64_t>& row : rows) result[row.at(0)] = {row.begin() + 1, row.end()};
  return result;
}

/// Wall time, kernels, launches and busy time, all together and by device and process.
void expect_as_sql_has_it(const analysis::traced_stage& stage, const sql_file& sql) {
  EXPECT_EQ(stage.duration_ns, sql.number("SELECT sum(end - start) FROM stretch"));
  EXPECT_EQ(stage.ranges, sql.number("SELECT count(*) FROM w"));
  EXPECT_EQ(*stage.kernel_ns, sql.number("SELECT sum(end - start) FROM k"));
  EXPECT_EQ(stage.activity->kernels, sql.number("SELECT count(*) FROM k"));
  EXPECT_EQ(stage.activity->launches,
            sql.number("SELECT count(*) FROM (SELECT DISTINCT pid, correlationId FROM k)"));
  const by_number devices = by_first_column(
      sql.rows("SELECT gpu, sum(max(0, end - max(start, coalesce(before, start)))) FROM busy GROUP BY gpu"));
  EXPECT_EQ(stage.activity->devices, static_cast<std::int64_t>(devices.size()));
  std::int64_t busy_ns = 0;
  for (const auto& [device, figures] : devices) busy_ns += figures[0];
  EXPECT_EQ(stage.activity->busy_ns, busy_ns);
  const auto device_ns = static_cast<double>(stage.duration_ns) * static_cast<double>(devices.size());
  EXPECT_NEAR(*stage.device_idle_ratio, 1.0 - static_cast<double>(busy_ns) / device_ns, 1e-12);
  if (devices.size() > 1) {
    by_number ours;
    for (const analysis::device_figures& device : stage.devices) {
      ours[device.device] = {device.activity.busy_ns};
      EXPECT_EQ(device.kernel_ns,
                sql.number(fmt::format("SELECT sum(end - start) FROM k WHERE gpu = {}", device.device)));
      EXPECT_NEAR(device.idle_ratio,
                  1.0 - static_cast<double>(device.activity.busy_ns) / static_cast<double>(stage.duration_ns),
                  1e-12);
    }
    EXPECT_EQ(ours, devices);
  }
  const by_number processes =
      by_first_column(sql.rows("SELECT w.pid, count(*), sum(end - start), (SELECT sum(k.end - "
                               "k.start) FROM k WHERE k.pid = w.pid) FROM w GROUP BY w.pid"));
  if (processes.size() > 1) {
    by_number ours;
    for (const analysis::rank_figures& rank : stage.ranks)
      ours[rank.process_id] = {rank.occurrences, rank.duration_ns, *rank.kernel_ns};
    EXPECT_EQ(ours, processes);
  }
}

/// Two ranks of ten steps on a GPU each, which both call 0, as with a CUDA_VISIBLE_DEVICES of their own. The
/// second one's steps are longer; its kernels outlive some of them.
std::string two_ranks_on_two_gpus() {
  std::string sql = R"(BEGIN;
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3'), ('EXPORT_PRODUCT_VERSION', '2025.3.2');
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce'), (3, 'cudaLaunchKernel'), (4, 'step'),
  (5, 'cudaMemcpyAsync');
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200'), (1, 'NVIDIA H200');
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 0, 200);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER,
  blockZ INTEGER);
)";
  for (const std::int64_t process : {100, 200}) {
    const std::int64_t pid = process << 24;
    const std::int64_t step_ns = process == 100 ? 8000 : 9500;
    for (std::int64_t step = 0; step < 10; ++step) {
      const std::int64_t start = 1'000'000 + 10'000 * step + process;
      sql += fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, NULL, NULL, 4, {}, 0);\n", start,
                         start + step_ns, pid + process);
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t id = 100 * step + i + 1;
        const std::int64_t launch = start + 900 * i;
        const std::int64_t begin = launch + 300 + 37 * ((i * step) % 11);
        const std::int64_t end = begin + 700 + 53 * ((i + step) % 17) + (process == 200 && i == 7 ? 2500 : 0);
        sql += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {});\n", launch,
                           launch + 90, pid + process, id, i == 5 ? 5 : 3);
        sql += i == 5 ? fmt::format(
                            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, 9, {}, {}, {}, 1);\n",
                            begin, end, id, pid, 1024 * (step + 1))
                      : fmt::format(
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, {}, {}, {}, {}, {}, "
                            "1, 1, 1, 32, 1, 1);\n",
                            begin, end, 7 + i % 2, id, pid, i == 7 ? 2 : 1, i == 7 ? 2 : 1);
      }
    }
  }
  return sql + "COMMIT;";
}

TEST(own_sql, two_ranks_on_two_gpus_that_both_call_theirs_0) {
  const temp_folder folder;
  const fs::path file = folder / "two.sqlite";
  sql_file(file).rows(two_ranks_on_two_gpus());
  const analysis::timeline_figures figures = analyzed(file, "step");
  ASSERT_TRUE(figures.stages[0]) << figures.stages[0].reason();
  EXPECT_THAT(figures.problems, ::testing::IsEmpty());
  const analysis::traced_stage& stage = *figures.stages[0];
  const sql_file sql(file);
  const std::string of_pid = "(SELECT gpuId FROM TARGET_INFO_CUDA_DEVICE AS d WHERE d.pid = call.pid)";
  make_stage_tables(sql, ranges_named("step"), of_pid);
  expect_as_sql_has_it(stage, sql);
  EXPECT_EQ(stage.occurrences, 10);
  EXPECT_EQ(stage.activity->devices, 2);
  ASSERT_EQ(stage.devices.size(), 2U);
  EXPECT_EQ(stage.ranks.front().process_id, 200U) << "the slower one";
  EXPECT_EQ(stage.ranks.front().mean_ns() - stage.ranks.back().mean_ns(), 1500);
  for (const analysis::device_figures& device : stage.devices) {
    const auto copies = sql.rows(fmt::format(
        "SELECT count(*), sum(end - start), sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid = {}",
        std::int64_t{device.device == 0 ? 100 : 200} << 24))[0];
    EXPECT_THAT(copies, ::testing::ElementsAre(device.activity.copies, device.activity.copy_ns,
                                               device.activity.copy_bytes));
  }
  EXPECT_EQ(stage.kernels.size(), 4U) << "two names on two devices";
}

TEST(own_sql, two_processes_on_one_gpu) {
  const fs::path file = recordings / "pytorch-2.11/two_processes.sqlite";
  const analysis::timeline_figures figures = analyzed(file, "step");
  ASSERT_TRUE(figures.stages[0]) << figures.stages[0].reason();
  const sql_file sql(file);
  make_stage_tables(sql, ranges_named("step"));
  expect_as_sql_has_it(*figures.stages[0], sql);
  EXPECT_EQ(figures.stages[0]->activity->devices, 1);
  EXPECT_EQ(figures.stages[0]->ranks.size(), 2U);
}

TEST(own_sql, a_program_without_any_range) {
  const fs::path file = recordings / "pytorch-2.11/generate_steps.sqlite";
  const analysis::timeline_figures figures = analyzed(file, "process");
  ASSERT_TRUE(figures.stages[0]) << figures.stages[0].reason();
  EXPECT_THAT(figures.problems, ::testing::IsEmpty());
  // From the first call that asked for device work to the end of the last work.
  const std::string work =
      "SELECT start, end, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL UNION ALL SELECT start, "
      "end, "
      "correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_MEMCPY UNION ALL SELECT start, end, correlationId, "
      "globalPid FROM CUPTI_ACTIVITY_KIND_MEMSET";
  const std::string whole = fmt::format(
      "SELECT min(r.start) AS start, max(o.end) AS end, o.globalPid / 16777216 % 16777216 AS pid FROM ({}) "
      "AS o "
      "JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = o.correlationId",
      work);
  const analysis::traced_stage& stage = *figures.stages[0];
  const sql_file sql(file);
  make_stage_tables(sql, whole);
  expect_as_sql_has_it(stage, sql);
  EXPECT_EQ(stage.activity->copies,
            sql.number("SELECT (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY) + (SELECT "
                       "count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET)"));
  EXPECT_GE(stage.activity->kernels, 3000);
}

TEST(own_sql, the_nodes_of_a_replayed_graph) {
  const fs::path file = recordings / "qwen3-3layers/graph.sqlite";
  const analysis::timeline_figures figures = analyzed(file, "decode_all");
  ASSERT_TRUE(figures.stages[0]) << figures.stages[0].reason();
  const sql_file sql(file);
  EXPECT_GT(sql.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId > 0"), 0);
  make_stage_tables(sql, ranges_named("decode_all"));
  expect_as_sql_has_it(*figures.stages[0], sql);
}

}  // namespace
}  // namespace profgate::test
