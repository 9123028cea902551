// Names that break careless tables, from nsys's SQLite and ncu's CSV through to every report.
#include <sqlite3.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/escape.h"
#include "pair_fixture.h"

namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> hostile_names{
    "a, b, c",
    "say \"hi\" and 'ho'",
    "a|b||c \\| d\\",
    "void f<(int)1, pair<x, y>>(const T *, float[4])",
    "control\x01\x02\x1b[31m\x7f characters",
    "line\nbreak\r\n\n| and | tab\t",
    "`tick` *star* _under_ ~strike~ $math$ # heading ![image](http://x)",
    "<script>alert(1)</script>&amp;</td></table>",
    "\u03ba\u03b5\u03c1\u03bd\u03b5\u03bb \U0001F980",
    "long_" + std::string(10000, 'k') + "|end",
};

std::string csv_cell(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

class trace_file {
 public:
  explicit trace_file(const fs::path& file) {
    sqlite3* opened = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &opened), SQLITE_OK);
    m_database.reset(opened);
    run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.20.2'),"
        "('EXPORT_PRODUCT_VERSION','2025.3.1');"
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, globalTid INT, domainId INT, text TEXT,"
        " textId INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT,"
        " correlationId INT, globalPid INT, demangledName INT, mangledName INT, gridX INT, gridY INT,"
        " gridZ INT, blockX INT, blockY INT, blockZ INT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT);"
        "INSERT INTO NVTX_EVENTS VALUES (1,NULL,75,16777217,1,'LLM',NULL),"
        "(10,99000,59,16777217,1,'decode_all',NULL)");
  }

  /// A range, and a kernel launched in it, all of one name.
  void add(const std::string& name) {
    ++m_count;
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(m_database.get(), "INSERT INTO StringIds VALUES (?, ?)", -1, &statement, nullptr);
    sqlite3_bind_int64(statement, 1, m_count);
    sqlite3_bind_text(statement, 2, name.data(), static_cast<int>(name.size()), SQLITE_TRANSIENT);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    const std::string id = std::to_string(m_count);
    const auto at = [&](std::int64_t offset_ns) { return std::to_string(m_count * 1000 + offset_ns); };
    run("INSERT INTO NVTX_EVENTS VALUES (" + at(0) + "," + at(300) + ",59,16777217,1,NULL," + id + ");" +
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + at(10) + "," + at(20) + ",16777217," + id +
        ");" + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at(100) + "," + at(200) + ",0,7," + id +
        ",16777216," + id + ",NULL,132,1,1,256,1,1)");
  }

 private:
  void run(const std::string& statements) {
    EXPECT_EQ(sqlite3_exec(m_database.get(), statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(m_database.get());
  }
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> m_database{nullptr, sqlite3_close};
  std::int64_t m_count = 0;
};

std::string counters_csv() {
  std::string text =
      "\"ID\",\"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\",\"Kernel Name\","
      "\"Block Size\",\"Grid Size\",\"Device\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\",\"ns\",\"byte\"\n";
  for (const std::string& name : hostile_names) {
    const std::string ranges =
        "1  \"LLM:decode_all:none:none:none:none:REGISTERED:decode_all\"  \"LLM:" + name +
        ":none:none:none:none:REGISTERED:" + name + "\" ";
    text += "\"0\"," + csv_cell(ranges) + "," + csv_cell(name) +
            ",\"(256, 1, 1)\",\"(132, 1, 1)\",\"0\",\"100\",\"6400\"\n";
  }
  return text;
}

/// Cells of a Markdown table's row: bars that no backslash takes away part them.
std::size_t cells_in(const std::string& row) {
  std::size_t bars = 0;
  bool is_escaped = false;
  for (const char c : row) {
    if (c == '|' && !is_escaped) ++bars;
    is_escaped = c == '\\' && !is_escaped;
  }
  return bars - 1;
}

void expect_sound_markdown(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  std::string line;
  std::size_t columns = 0;  // 0: outside of a table
  for (int number = 1; std::getline(lines, line); ++number) {
    for (const char c : line) {
      ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << file << ":" << number;
    }
    if (!line.starts_with('|')) {
      columns = 0;
      continue;
    }
    if (columns == 0) columns = cells_in(line);
    ASSERT_EQ(cells_in(line), columns) << file << ":" << number << ": " << line.substr(0, 300);
    ASSERT_TRUE(line.ends_with('|')) << file << ":" << number;
  }
  EXPECT_THAT(text, Not(HasSubstr("<script"))) << file;
  EXPECT_THAT(text, Not(HasSubstr("</table"))) << file;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// No name ends a tag or begins one: each element that the page opens it closes, and its script is its own.
void expect_sound_html(const std::string& page) {
  for (const char c : page) {
    const bool is_blank = c == '\n' || c == '\r' || c == '\t';
    ASSERT_TRUE((static_cast<unsigned char>(c) >= 0x20 || is_blank) && c != 0x7F);
  }
  EXPECT_EQ(occurrences(page, "<script"), occurrences(page, "<script>\n(() => {\n"));
  for (const std::string element : {"table", "tr", "td", "section", "script", "a", "svg"}) {
    EXPECT_EQ(occurrences(page, "<" + element + ">") + occurrences(page, "<" + element + " "),
              occurrences(page, "</" + element + ">"))
        << element;
  }
  for (const std::string& name : hostile_names) {
    const std::string escaped = core::escape_html(name);
    EXPECT_THAT(page, HasSubstr(escaped));
    if (escaped != name) {
      EXPECT_THAT(page, Not(HasSubstr(name)));
    }
  }
}

class hostile_names_test : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_run = m_project / "20250102-030405-hostile.names";
    fs::create_directories(m_run / "nsys");
    fs::create_directories(m_run / "ncu");
    put("run.json",
        R"({"schema_version": "1.0", "run_id": "20250102-030405-hostile.names", "pair": "hostile.names",)"
        R"( "created_utc": "2025-01-02T03:04:05Z"})");
    put("config.yaml", "workload:\n  device: cuda\nnsys:\n  gating_nvtx: false\n");
    put("env.json", "{}");
    put("ncu/counters.csv", counters_csv());
    trace_file trace(m_run / "nsys/run.sqlite");
    for (const std::string& name : hostile_names) trace.add(name);
  }

  void put(const std::string& file, const std::string& text) const {
    std::ofstream(m_run / file, std::ios::binary) << text;
  }
  std::string get(const std::string& file) const {
    std::ifstream stream(m_run / file, std::ios::binary);
    EXPECT_TRUE(stream.good()) << file;
    return (std::ostringstream() << stream.rdbuf()).str();
  }
  nlohmann::json document(const std::string& file) const { return nlohmann::json::parse(get(file)); }

  fs::path m_run;
};

std::set<std::string> texts_of(const nlohmann::json& list, const char* key) {
  std::set<std::string> texts;
  for (const nlohmann::json& entry : list) texts.insert(entry[key].get<std::string>());
  return texts;
}

TEST_F(hostile_names_test, reach_every_report_intact_and_escaped) {
  const command_result result = profgate({"analyze", m_run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;

  const std::set<std::string> expected(hostile_names.begin(), hostile_names.end());
  const nlohmann::json profile = document("profile.json");
  EXPECT_EQ(texts_of(profile["kernels"]["overall"], "kernel_name"), expected);
  const nlohmann::json* decode = nullptr;
  for (const nlohmann::json& stage : profile["stages"]) {
    if (stage["name"] == "decode_all") decode = &stage;
  }
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(texts_of((*decode)["operators"], "op_name"), expected);
  EXPECT_EQ(texts_of((*decode)["kernel_groups"], "op_name"), expected);
  EXPECT_EQ(texts_of((*decode)["counters"]["kernels"], "kernel_name"), expected);
  EXPECT_DOUBLE_EQ((*decode)["counters"]["coverage_ratio"].get<double>(), 1) << "ncu's names are nsys's";
  std::set<std::string> regions =
      texts_of(document("ncu/regions/report.json")["regions"]["sections"], "name");
  EXPECT_EQ(regions.erase("decode_all"), 1U);
  EXPECT_EQ(regions, expected);

  for (const char* file :
       {"kernels.md", "operators.md", "report.md", "stakeholder_summary.md", "ncu/regions/report.md"}) {
    expect_sound_markdown(get(file), file);
  }
  for (const std::string& name : hostile_names) {
    if (name.size() > 1000) continue;  // shortened where people read
    EXPECT_THAT(get("kernels.md"), HasSubstr(core::escape_markdown(name)));
    EXPECT_THAT(get("operators.md"), HasSubstr(core::escape_markdown(name)));
    EXPECT_THAT(get("ncu/regions/report.md"), HasSubstr(core::escape_markdown(name)));
  }
  EXPECT_THAT(get("kernels.md"), HasSubstr("long\\_kkkkkkkkkk"));
  expect_sound_html(get("report.html"));
}

}  // namespace
}  // namespace profgate::integration
