#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "pair_fixture.h"
#include "parsers/nsys_csv.h"

/// Whole runs of llama-3.1-8b on an H200, analysed again: what profgate said there, it says here.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path all_recorded = fs::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1";

/// Where two documents differ, one line each; numbers may differ in what a compiler rounds otherwise.
void differences(const json& expected, const json& actual, const std::string& where,
                 std::vector<std::string>& found) {
  if (expected.is_number() && actual.is_number()) {
    const auto a = expected.get<double>();
    const auto b = actual.get<double>();
    if (std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b))) return;
  } else if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (actual.contains(key)) {
        differences(value, actual[key], where + "/" + key, found);
      } else {
        found.push_back(where + "/" + key + " is gone");
      }
    }
    for (const auto& [key, value] : actual.items()) {
      if (!expected.contains(key)) found.push_back(where + "/" + key + " is new");
    }
    return;
  } else if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      differences(expected[i], actual[i], where + "/" + std::to_string(i), found);
    }
    return;
  } else if (expected == actual) {
    return;
  }
  found.push_back(where + ": " + expected.dump().substr(0, 200) + " became " + actual.dump().substr(0, 200));
}

/// Files and steps are not those of the recording: large files were left out of it. Nor is the hash of the
/// configuration, which covers keys that came later, too.
json figures_of(const fs::path& file) {
  json profile = json::parse(std::ifstream(file));
  profile.erase("artifacts");
  profile.erase("steps");
  profile.at("run").erase("config_hash");
  return profile;
}

/// The cells of a Markdown table's row, without the blanks around them.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] != '|' || row[i - 1] == '\\') {
      cell += row[i];
      continue;
    }
    const std::size_t first = std::min(cell.find_first_not_of(' '), cell.size());
    cells.push_back(cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    cell.clear();
  }
  return cells;
}

struct shown_kernel {
  std::string name;  ///< escaped, and cut where it is long
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
};

/// The first table under a heading of kernels.md, by the names of its columns.
std::vector<shown_kernel> kernels_under(const std::string& heading, const fs::path& kernels_md) {
  std::ifstream lines(kernels_md);
  std::string line;
  while (line != heading && std::getline(lines, line)) continue;
  while (!line.starts_with("| kernel_name") && std::getline(lines, line)) continue;
  const std::vector<std::string> columns = cells_of(line);
  std::getline(lines, line);  // the rule below the columns' names
  std::vector<shown_kernel> kernels;
  while (std::getline(lines, line) && line.starts_with('|')) {
    const std::vector<std::string> cells = cells_of(line);
    EXPECT_EQ(cells.size(), columns.size()) << line;
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) row[columns[i]] = cells[i];
    std::string total = row["total_ms"];  // six decimals: nanoseconds
    EXPECT_EQ(total.size() - total.find('.'), 7U) << line;
    total.erase(total.find('.'), 1);
    kernels.push_back({row["kernel_name"], std::stoll(total), std::stoll(row["calls"])});
  }
  return kernels;
}

/// What nsys itself summed over these captures, largest first.
std::vector<core::kernel_record> summed_by_nsys(const fs::path& folder,
                                                const std::vector<const char*>& reports) {
  std::map<std::string, core::kernel_record> by_name;
  for (const char* report : reports) {
    for (const core::kernel_record& kernel : parsers::read_kernel_sum_csv(folder / report)) {
      core::kernel_record& sum = by_name[kernel.kernel_name];
      sum.kernel_name = kernel.kernel_name;
      sum.total_ns += kernel.total_ns;
      sum.calls += kernel.calls;
    }
  }
  std::vector<core::kernel_record> kernels;
  for (const auto& [name, kernel] : by_name) kernels.push_back(kernel);
  std::sort(kernels.begin(), kernels.end(),
            [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return kernels;
}

void expect_as_nsys_summed(const std::vector<shown_kernel>& shown,
                           const std::vector<core::kernel_record>& expected) {
  constexpr std::size_t most_shown = 20;
  ASSERT_EQ(shown.size(), std::min(expected.size(), most_shown));
  ASSERT_FALSE(shown.empty());
  std::set<std::string> names;
  std::vector<std::string> whole_names;
  for (const core::kernel_record& kernel : expected) whole_names.push_back(kernel.kernel_name);
  const core::short_kernel_names short_names(whole_names);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(shown[i].name, core::escape_markdown(short_names.of(expected[i].kernel_name)));
    EXPECT_EQ(shown[i].total_ns, expected[i].total_ns) << shown[i].name;
    EXPECT_EQ(shown[i].calls, expected[i].calls) << shown[i].name;
    EXPECT_TRUE(names.insert(shown[i].name).second) << "two rows look the same: " << shown[i].name;
  }
}

/// The parameter is when the run began and its pair: a run directory's name.
class recorded_bundle : public pair_fixture, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_run = m_project / GetParam();
    m_recorded = all_recorded / m_run.filename().string().substr(std::string("20261115-120738-").size());
    fs::copy(m_recorded, m_run, fs::copy_options::recursive);
    const command_result result = profgate({"analyze", m_run.string()});
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }
  std::vector<core::kernel_record> summed_by_nsys_of(const std::vector<const char*>& reports) const {
    return summed_by_nsys(m_recorded / "nsys", reports);
  }
  fs::path m_run;
  fs::path m_recorded;
};

TEST_P(recorded_bundle, shows_each_kernel_with_the_sums_of_nsys) {
  const fs::path shown = m_run / "kernels.md";
  expect_as_nsys_summed(kernels_under("## Overall", shown), summed_by_nsys_of({"run_cuda_gpu_kern_sum.csv"}));
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> overall;
  const json profile = figures_of(m_run / "profile.json");
  for (const json& row : profile["kernels"]["overall"])
    overall[row["kernel_name"]] = {row["total_ns"], row["calls_count"]};
  for (const json& stage : profile["stages"]) {
    for (const json& row : stage["kernels"]) {
      overall[row["kernel_name"]].first -= row["total_ns"].get<std::int64_t>();
      overall[row["kernel_name"]].second -= row["calls_count"].get<std::int64_t>();
    }
  }
  for (const auto& [name, left] : overall)
    EXPECT_EQ(left, (std::pair<std::int64_t, std::int64_t>())) << name << " outside of both stages";
}

TEST_P(recorded_bundle, without_its_sqlite_has_the_kernels_of_nsys_csvs) {
  fs::remove(m_run / "nsys/run.sqlite");
  const json before = figures_of(m_run / "profile.json");
  const command_result result = profgate({"analyze", m_run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json after = figures_of(m_run / "profile.json");
  const auto sums = [](const json& kernels) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_name;
    for (const json& row : kernels) by_name[row["kernel_name"]] = {row["total_ns"], row["calls_count"]};
    return by_name;
  };
  EXPECT_EQ(sums(after["kernels"]["overall"]), sums(before["kernels"]["overall"]));
  ASSERT_FALSE(after["kernels"]["overall"].empty());
  const json& first = after["kernels"]["overall"][0];
  EXPECT_TRUE(first["device"].is_null());
  EXPECT_EQ(first["not_measured"]["device"], "the tool's own summary does not tell it");
  EXPECT_TRUE(first["own_ns"].is_null());
  EXPECT_THAT(after["stages"][0]["not_measured"]["traced"].get<std::string>(),
              ::testing::HasSubstr("nsys/run.sqlite is not there"));
}

TEST_P(recorded_bundle, without_any_timeline_has_the_kernels_that_ncu_counted) {
  fs::remove_all(m_run / "nsys");
  fs::remove(m_run / "profile.json");
  fs::rename(m_run / "ncu/counters.csv", m_run / "ncu/raw.csv");
  for (const char* name : {"counters-decode_all-2.csv", "counters-prefill.csv", "counters-prefill-2.csv"})
    fs::remove(m_run / "ncu" / name);
  for (const char* time : {"first", "again"}) {
    const command_result result = profgate({"analyze", m_run.string()});
    ASSERT_EQ(result.exit_code, 0) << time << result.output;
  }
  const json profile = figures_of(m_run / "profile.json");
  EXPECT_EQ(profile["kernels"]["source"], "the launches that were counted, and no others");
  EXPECT_FALSE(kernels_under("## Overall", m_run / "kernels.md").empty());
}

TEST_P(recorded_bundle, tells_the_variant_one_version_of_nsys_and_a_mean_of_replayed_operators) {
  const json profile = figures_of(m_run / "profile.json");
  const bool has_experts = profile["model"]["name"] == "deepseek-ocr-decoder";
  EXPECT_EQ(profile["model"]["variant"], has_experts ? "3B-A570M" : "8B");
  EXPECT_EQ(profile["timeline"]["captures"][0]["tool_version"],
            profile["environment"]["tool_versions"]["nsys"]);
  for (const json& op : profile["stages"][1]["operators"]) {
    EXPECT_TRUE(op["total_ns"].is_null());
    EXPECT_DOUBLE_EQ(op["mean_ns"].get<double>(),
                     op["cuda_ns"].get<double>() / op["calls_count"].get<double>());
  }
  std::ifstream summary(m_run / "stakeholder_summary.md");
  const std::string text{std::istreambuf_iterator<char>(summary), {}};
  EXPECT_THAT(text, ::testing::HasSubstr("nsys 2025.3.1.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("ncu 2025.3.1.0"));
  EXPECT_THAT(text, ::testing::HasSubstr("CUDA 13.0"));
}

TEST_P(recorded_bundle, keeps_its_tables_where_nothing_of_the_trace_can_be_read) {
  const auto text_of = [&](const char* name) {
    std::ifstream in(m_run / name, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const std::string profile = text_of("profile.json");
  const std::string kernels = text_of("kernels.md");
  fs::remove(m_run / "nsys/run.sqlite");
  std::ofstream(m_run / "nsys/run_cuda_gpu_kern_sum.csv") << "damaged";
  EXPECT_EQ(profgate({"analyze", m_run.string()}).exit_code, 2);
  fs::remove_all(m_run / "nsys");
  const command_result result = profgate({"analyze", m_run.string()});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, ::testing::HasSubstr("the files that they come from are gone"));
  EXPECT_EQ(text_of("profile.json"), profile);
  EXPECT_EQ(text_of("kernels.md"), kernels);
}

TEST_P(recorded_bundle, names_a_kernel_whose_time_nsys_sums_up_otherwise) {
  const fs::path csv = m_run / "nsys/run_cuda_gpu_kern_sum.csv";
  const core::kernel_record largest = parsers::read_kernel_sum_csv(csv).front();
  std::ofstream(csv, std::ios::app) << "1.0,1000,1,1000.0,1000.0,1000,1000,0.0,\"" << largest.kernel_name
                                    << "\"\n";
  ASSERT_EQ(profgate({"analyze", m_run.string()}).exit_code, 0);
  const json profile = figures_of(m_run / "profile.json");
  ASSERT_EQ(profile["timeline"]["problems"].size(), 1U);
  const std::string problem = profile["timeline"]["problems"][0];
  EXPECT_THAT(problem, ::testing::HasSubstr(std::to_string(largest.total_ns + 1000) + " ns"));
  EXPECT_THAT(problem, ::testing::HasSubstr(std::to_string(largest.total_ns) + " ns"));
}

TEST_P(recorded_bundle, is_analysed_as_on_the_day_of_its_recording) {
  std::vector<std::string> found;
  differences(figures_of(m_recorded / "profile.json"), figures_of(m_run / "profile.json"), "", found);
  if (std::getenv("PROFGATE_UPDATE_GOLDENS") != nullptr) {
    fs::copy_file(m_run / "profile.json", m_recorded / "profile.json", fs::copy_options::overwrite_existing);
  }
  EXPECT_THAT(found, ::testing::IsEmpty())
      << "if that is meant, run this test with PROFGATE_UPDATE_GOLDENS=1";
}

INSTANTIATE_TEST_SUITE_P(h200, recorded_bundle,
                         ::testing::Values("20261117-235756-llama-3.1-8b.decode-b1",
                                           "20261117-081030-llama-3.1-8b.prefill-2k",
                                           "20261117-174516-deepseek-ocr-decoder.decode-b1"),
                         [](const auto& bundle) {
                           const std::string name = bundle.param;
                           return name.ends_with("2k")             ? "prefill"
                                  : name.find("ocr") < name.size() ? "experts"
                                                                   : "decode";
                         });

}  // namespace
}  // namespace profgate::integration
