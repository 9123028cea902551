#include <sqlite3.h>

#include <algorithm>

#include "file_fixture.h"
#include "parsers/nsys_csv.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using core::range_record;
using ::testing::HasSubstr;

class nsys_sqlite : public file_test {
 protected:
  /// A database of our own, for what no recording on a machine without a GPU holds.
  std::filesystem::path make(const std::string& statements) {
    const std::filesystem::path file = m_folder / "made # 100%.sqlite";
    std::filesystem::remove(file);
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    char* problem = nullptr;
    EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &problem), SQLITE_OK) << problem;
    sqlite3_close(database);
    return file;
  }

  static std::string words(const std::filesystem::path& file) {
    return words_of_bad_input([&] { parsers::read_nsys_sqlite(file); });
  }
};

const range_record* find(const core::timeline& timeline, const std::string& name) {
  const auto found = std::find_if(timeline.ranges.begin(), timeline.ranges.end(),
                                  [&](const range_record& range) { return range.name == name; });
  return found == timeline.ranges.end() ? nullptr : &*found;
}

constexpr const char* meta_2025 =
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES "
    "('EXPORT_SCHEMA_VERSION','3.20.2'),('EXPORT_PRODUCT_VERSION','2025.3.1');"
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1,'axpy(float *, int)'),(2,'rms');";

constexpr const char* kernels_2025 =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId "
    "INT,"
    " globalPid INT, demangledName INT, shortName INT, mangledName INT, gridX INT, gridY INT, gridZ INT, "
    "blockX INT, blockY INT, blockZ INT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT);";

TEST_F(nsys_sqlite, tells_the_names_of_the_processes_that_it_recorded) {
  const std::string recorded = std::to_string(std::int64_t{42} << 24);
  const std::string other = std::to_string(std::int64_t{43} << 24);
  const core::timeline timeline = parsers::read_nsys_sqlite(
      make(std::string(meta_2025) + kernels_2025 +
           "CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT); INSERT INTO PROCESSES VALUES (" +
           other + ",43,'kworker'),(" + recorded + ",42,'/usr/bin/env'),(NULL,1,'init'),(" + recorded +
           ",42,NULL);" + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (500,900,0,7,11," + recorded +
           ",1,1,NULL,1,1,1,1,1,1);"));
  EXPECT_EQ(timeline.process_names, (std::map<std::uint32_t, std::string>{{42, "/usr/bin/env"}}));
}

TEST_F(nsys_sqlite, reads_a_gated_recording) {
  const core::timeline timeline = parsers::read_nsys_sqlite(samples / "cpu-2022.4.2/gated.sqlite");
  EXPECT_EQ(timeline.tool, "nsys");
  EXPECT_EQ(timeline.tool_version, "2022.4.2.1");
  ASSERT_EQ(timeline.ranges.size(), 2U);
  const range_record& gate = timeline.ranges[0];
  EXPECT_EQ(gate.name, "decode_all");
  EXPECT_EQ(gate.domain, "LLM");
  EXPECT_EQ(gate.start_ns, 5967828);
  EXPECT_EQ(gate.end_ns, 6208492) << "it ends with the recording, yet the program closed it";
  EXPECT_EQ(gate.process_id, 7157U);
  EXPECT_EQ(gate.thread_id, 7157U);
  EXPECT_EQ(timeline.ranges[1].name, "decode_step");
  EXPECT_TRUE(timeline.kernels.empty());
  EXPECT_THAT(timeline.kernels_absent_reason.value_or(""), HasSubstr("no GPU"));
}

TEST_F(nsys_sqlite, agrees_with_nsys_stats_to_the_nanosecond) {
  const std::filesystem::path recorded = samples / "h200-2025.3.1";
  const core::timeline timeline = parsers::read_nsys_sqlite(recorded / "llama_tiny_prefill.sqlite");
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> calls_and_total_ns;
  for (const range_record& range : timeline.ranges) {
    ASSERT_TRUE(range.end_ns) << range.name;
    auto& [calls, total_ns] = calls_and_total_ns[std::string(range.name)];
    ++calls;
    total_ns += *range.end_ns - range.start_ns;
  }
  const auto summaries = parsers::read_nvtx_pushpop_csv(recorded / "llama_tiny_prefill_nvtx_pushpop_sum.csv");
  ASSERT_EQ(summaries.size(), calls_and_total_ns.size());
  for (const parsers::range_summary& summary : summaries) {
    EXPECT_EQ(summary.domain, "LLM");
    EXPECT_EQ(calls_and_total_ns[summary.name], std::pair(summary.instances, summary.total_ns))
        << summary.name;
  }
}

TEST_F(nsys_sqlite, reads_every_kind_of_range_and_shows_a_crash_as_open) {
  const core::timeline timeline = parsers::read_nsys_sqlite(samples / "cpu-2022.4.2/crash.sqlite");
  ASSERT_NE(find(timeline, "plain"), nullptr);
  EXPECT_EQ(find(timeline, "plain")->domain, "LLM");
  ASSERT_NE(find(timeline, "wide\u20AC"), nullptr);
  ASSERT_NE(find(timeline, "dflt"), nullptr);
  EXPECT_EQ(find(timeline, "dflt")->domain, "");
  ASSERT_NE(find(timeline, "se"), nullptr);
  EXPECT_EQ(find(timeline, "se")->style, core::range_style::start_end);
  EXPECT_EQ(std::count_if(timeline.ranges.begin(), timeline.ranges.end(),
                          [](const range_record& range) { return range.name == "thr"; }),
            4);
  EXPECT_EQ(find(timeline, "m"), nullptr) << "a mark is no range";
  EXPECT_TRUE(find(timeline, "se")->end_ns);
  EXPECT_FALSE(find(timeline, "decode_all")->end_ns);
  EXPECT_FALSE(find(timeline, "inner")->end_ns);
}

TEST_F(nsys_sqlite, refuses_text_where_times_stand) {
  const std::string kernel = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (";
  const std::string rest = ",200,0,7,1,0,1,1,1,1,1,1,1,1,1)";
  EXPECT_THAT(words(make(std::string(meta_2025) + kernels_2025 + kernel + "'soon'" + rest)),
              HasSubstr("corrupt: 'soon' in the column start, where whole numbers stand"));
  EXPECT_THAT(words(make(std::string(meta_2025) + kernels_2025 + kernel + "1.5" + rest)),
              HasSubstr("'1.5' in"));
}

TEST_F(nsys_sqlite, joins_kernels_with_their_launch) {
  const std::int64_t global = std::int64_t{1} << 48 | std::int64_t{758} << 24;
  const std::string pid = std::to_string(global);
  const std::string tid = std::to_string(global | 760);
  const core::timeline timeline = parsers::read_nsys_sqlite(make(
      std::string(meta_2025) + kernels_2025 +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (500,900,0,7,11," + pid +
      ",1,2,2,3,4,5,6,7,8),(950,960,1,13,12," + pid +
      ",2,2,NULL,1,1,1,1,1,1); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,150," + tid + ",11);"));
  EXPECT_EQ(timeline.kernels_absent_reason, std::nullopt);
  ASSERT_EQ(timeline.kernels.size(), 2U);
  const core::kernel_execution& kernel = timeline.kernels[0];
  EXPECT_EQ(kernel.shape->name, "axpy(float *, int)");
  EXPECT_EQ(kernel.device, 0);
  EXPECT_EQ(kernel.stream, 7U);
  EXPECT_EQ(kernel.process_id, 758U);
  EXPECT_EQ(kernel.thread_id, 760U);
  EXPECT_EQ(kernel.launched_ns, 100);
  EXPECT_EQ(kernel.start_ns, 500);
  EXPECT_EQ(kernel.end_ns, 900);
  EXPECT_EQ(timeline.kernels[1].thread_id, 0U) << "its launch was before the recording";
  EXPECT_EQ(timeline.tool_version, "2025.3.1");
}

TEST_F(nsys_sqlite, reads_of_a_launch_what_the_export_tells) {
  const std::string columns = "(start, end, deviceId, streamId, correlationId, globalPid, demangledName";
  const auto shape_with = [&](const std::string& added, const std::string& names, const std::string& values) {
    std::string sql = std::string(meta_2025) + kernels_2025;
    sql += added;
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL " + columns + names + ") VALUES (5,9,0,7,1,0,1" + values;
    const core::timeline timeline = parsers::read_nsys_sqlite(make(sql + ");"));
    core::kernel_shape shape = *timeline.kernels.at(0).shape;
    shape.name = {};  // its text goes with the timeline
    return shape;
  };
  EXPECT_EQ(shape_with("", "", ""), core::kernel_shape{}) << "an export without the columns";
  std::string added;
  for (const char* name : {"registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
                           "localMemoryPerThread", "clusterX", "clusterY", "clusterZ"}) {
    added += std::string("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN ") + name + " INT;";
  }
  const core::kernel_shape shape =
      shape_with(added,
                 ", gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, staticSharedMemory, "
                 "dynamicSharedMemory, localMemoryPerThread, clusterX, clusterY, clusterZ",
                 ",1,2,3,4,5,6,70,80,900,10,11,12,13");
  EXPECT_EQ(shape, (core::kernel_shape{{}, {}, {1, 2, 3}, {4, 5, 6}, 70, 980, {11, 12, 13}, 900, 10}));
}

TEST_F(nsys_sqlite, believes_nsys_that_events_are_missing_unless_the_last_launches_have_their_kernels) {
  const auto doubts = [&](const std::string& more) {
    return parsers::read_nsys_sqlite(
               make(
                   std::string(meta_2025) + kernels_2025 +
                   "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN nameId INT;"
                   "CREATE TABLE DIAGNOSTIC_EVENT (text TEXT);"
                   "INSERT INTO DIAGNOSTIC_EVENT VALUES ('Not all CUDA events might have been collected.');"
                   "INSERT INTO StringIds VALUES (3,'cudaLaunchKernel_v7000'),(4,'cudaFree_v3020');"
                   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10,11,16777216,5,3),(20,21,16777216,6,4);"
                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (12,14,0,7,5,16777216,1,1,1,1,1,1,1,1,1);" +
                   more))
        .doubts;
  };
  EXPECT_THAT(doubts(""), ::testing::IsEmpty());
  EXPECT_THAT(doubts("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (30,31,16777216,7,3);"),
              ::testing::ElementsAre("Not all CUDA events might have been collected."));
  EXPECT_THAT(doubts("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME;"), ::testing::SizeIs(1))
      << "without launches nobody can tell";
}

TEST_F(nsys_sqlite, tells_on_which_gpu_and_when_it_was_recorded) {
  const core::timeline recorded =
      parsers::read_nsys_sqlite(samples / "h200-2025.3.1/pytorch-2.11/llama_steps.sqlite");
  EXPECT_THAT(recorded.gpu_names, ::testing::ElementsAre("NVIDIA H200"));
  EXPECT_EQ(recorded.recorded_utc, "2026-11-16T12:03:03Z");
  const core::timeline without_gpu = parsers::read_nsys_sqlite(samples / "cpu-2022.4.2/gated.sqlite");
  EXPECT_THAT(without_gpu.gpu_names, ::testing::IsEmpty());
  EXPECT_EQ(without_gpu.recorded_utc, "2026-11-15T01:54:55Z");
}

TEST_F(nsys_sqlite, takes_no_provenance_from_what_is_none) {
  const auto made = [&](const std::string& gpus, const std::string& time) {
    return parsers::read_nsys_sqlite(make(std::string(meta_2025) +
                                          "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
                                          "INSERT INTO TARGET_INFO_GPU VALUES " +
                                          gpus +
                                          ";CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);"
                                          "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES " +
                                          time));
  };
  const core::timeline two = made("(0,'A'),(1,'A'),(2,'B'),(3,NULL),(4,x'00ff')", "(86400000000001)");
  EXPECT_THAT(two.gpu_names, ::testing::ElementsAre("A", "B"));
  EXPECT_EQ(two.recorded_utc, "1970-01-02T00:00:00Z");
  for (const char* time : {"(NULL)", "('yesterday')", "(-1)", "(0)"})
    EXPECT_EQ(made("(0,'A')", time).recorded_utc, std::nullopt) << time;
  EXPECT_EQ(made("(0,'A')", "(9223372036854775807)").recorded_utc, "2262-04-11T23:47:16Z");
}

TEST_F(nsys_sqlite, says_what_is_wrong_with_the_file) {
  EXPECT_THAT(words(m_folder / "absent.sqlite"), HasSubstr("absent.sqlite: cannot be read"));
  EXPECT_THAT(words(write("")), HasSubstr("not an SQLite database"));
  EXPECT_THAT(words(write(std::string(4096, 'x'))), HasSubstr("not an SQLite database"));
  const std::string whole = content_of(samples / "cpu-2022.4.2/gated.sqlite");
  EXPECT_THAT(words(write(whole.substr(0, whole.size() - 5000))), HasSubstr("truncated: "));
  EXPECT_THAT(words(write(whole.substr(0, 1000))), HasSubstr("truncated: 1000 of 24576 bytes"));
  std::string damaged = whole;
  std::fill(damaged.begin() + 100, damaged.end(), '\xAA');
  EXPECT_NE(words(write(damaged)), "");
  EXPECT_THAT(words(make("CREATE TABLE t (x INT)")), HasSubstr("not an export of nsys"));
  EXPECT_THAT(
      words(make("CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT); INSERT INTO EXPORT_META_DATA "
                 "VALUES ('EXPORT_SCHEMA_VERSION','9.0.0')")),
      HasSubstr("EXPORT_SCHEMA_VERSION is '9.0.0'"));
  EXPECT_THAT(words(make(std::string(meta_2025) + "CREATE TABLE NVTX_EVENTS (start INT, end INT)")),
              HasSubstr("no such column"));
  EXPECT_THAT(words(make(std::string(meta_2025) + kernels_2025 +
                         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,2,0,7,11,1,99,2,2,1,1,1,1,1,1)")),
              HasSubstr("string 99 is not in StringIds"));
}

TEST_F(nsys_sqlite, has_no_ranges_where_nsys_left_the_table_out) {
  const core::timeline timeline =
      parsers::read_nsys_sqlite(make(std::string(meta_2025) + "CREATE TABLE TARGET_INFO_GPU (id INT)"));
  EXPECT_TRUE(timeline.ranges.empty());
  EXPECT_THAT(timeline.kernels_absent_reason.value_or(""), HasSubstr("saw no kernel"));
}

TEST_F(nsys_sqlite, leaves_nothing_beside_the_file) {
  const std::filesystem::path file = make(meta_2025);
  parsers::read_nsys_sqlite(file);
  const auto files = std::filesystem::directory_iterator(m_folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace profgate::test
