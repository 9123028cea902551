#include "parsers/nsys_csv.h"

#include <algorithm>

#include "../parsers/file_fixture.h"

namespace profgate::test {
namespace {

using ::testing::HasSubstr;

const std::string push_pop_header =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Range\n";

class nsys_csv : public file_test {};

TEST_F(nsys_csv, reads_the_push_pop_summary_of_2022_4) {
  const auto rows = parsers::read_nvtx_pushpop_csv(samples / "cpu-2022.4.2/cpu_nvtxppsum.csv");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].domain, "LLM");
  EXPECT_EQ(rows[2].name, "decode_step");
  EXPECT_EQ(rows[2].total_ns, 19255432);
  EXPECT_EQ(rows[2].instances, 10);
  EXPECT_DOUBLE_EQ(rows[2].mean_ns, 1925543.2);
  EXPECT_DOUBLE_EQ(rows[2].median_ns, 1924477.0);
  EXPECT_EQ(rows[2].min_ns, 1923207);
  EXPECT_EQ(rows[2].max_ns, 1929453);
  EXPECT_DOUBLE_EQ(rows[2].stddev_ns, 2711.4);
}

TEST_F(nsys_csv, reads_the_push_pop_summary_of_2025_3) {
  const auto rows = parsers::read_nvtx_pushpop_csv(samples / "h200-2025.3.1/full_nvtx_pushpop_sum.csv");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "prefill");
  EXPECT_EQ(rows[1].total_ns, 25245311);
}

TEST_F(nsys_csv, reads_the_kernel_summary_with_commas_in_names) {
  const auto rows = parsers::read_kernel_sum_csv(samples / "h200-2025.3.1/full_cuda_gpu_kern_sum.csv");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].kernel_name, "axpy(float *, const float *, int)");
  EXPECT_EQ(rows[0].total_ns, 3139085);
  EXPECT_EQ(rows[0].calls, 50);
  EXPECT_THAT(rows[4].kernel_name, HasSubstr("splitKreduce_kernel<(int)32, (int)16"));
}

TEST_F(nsys_csv, takes_an_empty_file_as_no_data) {
  EXPECT_TRUE(parsers::read_kernel_sum_csv(samples / "cpu-2022.4.2/cpu_gpukernsum.csv").empty());
  EXPECT_TRUE(parsers::read_nvtx_pushpop_csv(write("")).empty());
  EXPECT_TRUE(parsers::read_nvtx_pushpop_csv(write(push_pop_header)).empty());
}

TEST_F(nsys_csv, finds_columns_by_name_and_knows_both_default_domains) {
  const auto rows = parsers::read_nvtx_pushpop_csv(
      write("Range,StdDev (ns),Max (ns),Min (ns),Med (ns),Avg (ns),Instances,Total Time (ns)\r\n"
            ":new,0.0,4,4,4.0,4.0,1,4\r\nold,0.0,5,5,5.0,5.0,1,5\r\n"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].domain, "");
  EXPECT_EQ(rows[0].name, "new");
  EXPECT_EQ(rows[0].total_ns, 4);
  EXPECT_EQ(rows[1].domain, "");
  EXPECT_EQ(rows[1].name, "old");
}

TEST_F(nsys_csv, says_where_the_file_is_damaged) {
  const auto words = [&](const std::string& content) {
    return words_of_bad_input([&] { parsers::read_nvtx_pushpop_csv(write(content)); });
  };
  EXPECT_THAT(words("Range,Instances\nLLM:x,1\n"), HasSubstr("input:1: has no column 'Total Time (ns)'"));
  EXPECT_THAT(words(push_pop_header + "1.0,5,1,5.0,5.0,5,5,0.0,LLM:x\n1.0,5,1\n"),
              HasSubstr("input:3: has 3 columns where the header has 9: it ends before 'Avg (ns)'"));
  EXPECT_THAT(words(push_pop_header + "1.0,1.275,1,5.0,5.0,5,5,0.0,x\n"),
              HasSubstr("input:2: column 'Total Time (ns)': '1.275' is not a whole number"));
  EXPECT_THAT(words(push_pop_header + "1.0,-5,1,5.0,5.0,5,5,0.0,x\n"),
              HasSubstr("column 'Total Time (ns)': '-5'"));
  EXPECT_THAT(words(push_pop_header + "1.0,5,1,nan,5.0,5,5,0.0,x\n"),
              HasSubstr("column 'Avg (ns)': 'nan' is not a number"));
  EXPECT_THAT(words(push_pop_header + "1.0,99999999999999999999,1,5,5,5,5,0,x\n"),
              HasSubstr("'99999999999999999999'"));
  EXPECT_THAT(words_of_bad_input([&] { parsers::read_nvtx_pushpop_csv(m_folder / "absent.csv"); }),
              HasSubstr("absent.csv: cannot be read: No such file"));
}

TEST_F(nsys_csv, refuses_numbers_of_other_locales) {
  const auto words = [&](const std::string& row) {
    return words_of_bad_input([&] { parsers::read_nvtx_pushpop_csv(write(push_pop_header + row)); });
  };
  EXPECT_THAT(words("1.0,\"1,275,068\",1,5.0,5.0,5,5,0.0,x\n"),
              HasSubstr("input:2: column 'Total Time (ns)': '1,275,068' is not a whole number"));
  EXPECT_THAT(words("1.0,1.275.068,1,5.0,5.0,5,5,0.0,x\n"), HasSubstr("'1.275.068' is not a whole number"));
  EXPECT_THAT(words("1.0,5,1,\"5,5\",5.0,5,5,0.0,x\n"),
              HasSubstr("column 'Avg (ns)': '5,5' is not a number"));
  // Every value would be a wrong one: the numbers stand one column further to the right.
  EXPECT_THAT(
      words("1,0,5,1,5,0,5,0,5,5,0,0,x\n"),
      HasSubstr("input:2: has 13 columns where the header has 9: damaged, or written with decimal commas"));
}

TEST_F(nsys_csv, refuses_another_report) {
  const std::filesystem::path kernels = samples / "h200-2025.3.1/full_cuda_gpu_kern_sum.csv";
  const std::filesystem::path ranges = samples / "h200-2025.3.1/full_nvtx_pushpop_sum.csv";
  const auto words = [](auto read, const std::filesystem::path& file) {
    return words_of_bad_input([&] { read(file); });
  };
  EXPECT_THAT(words(parsers::read_nvtx_pushpop_csv, kernels),
              HasSubstr(":1: has no column 'Range': it is another report"));
  EXPECT_THAT(words(parsers::read_kernel_sum_csv, ranges), HasSubstr(":1: has no column 'Name'"));
  EXPECT_THAT(words(parsers::read_nvtx_projection_csv, kernels), HasSubstr(":1: has no column 'Range'"));
  EXPECT_THAT(words(parsers::read_nvtx_kernels_csv, ranges), HasSubstr(":1: has no column 'NVTX Range'"));
  EXPECT_THAT(words(parsers::read_nvtx_kernels_csv, samples / "h200-2025.3.1/ncu/ncu_light_raw.csv"),
              HasSubstr(":1: has no column 'NVTX Range'"));
}

TEST_F(nsys_csv, every_cut_of_a_real_file_is_refused_or_has_whole_rows) {
  const std::string text = content_of(samples / "h200-2025.3.1/full_cuda_gpu_kern_sum.csv");
  const auto whole = parsers::read_kernel_sum_csv(write(text));
  std::size_t refused = 0;
  for (std::size_t size = 1; size < text.size(); ++size) {
    try {
      const auto rows = parsers::read_kernel_sum_csv(write(text.substr(0, size)));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].kernel_name, whole[i].kernel_name);
        EXPECT_EQ(rows[i].total_ns, whole[i].total_ns);
      }
    } catch (const core::bad_input&) {
      refused += 1;
    }
  }
  EXPECT_EQ(refused, text.size() - 1 - whole.size()) << "all but the cuts between rows";
}

TEST_F(nsys_csv, keeps_hostile_names_and_counts_lines_through_them) {
  for (const std::string& name : std::vector<std::string>{"a,b", "a\"b", "a|b<c>&[d]", "line\nbreak",
                                                          "tab\tand\x01", std::string(10000, 'x') + ",y"}) {
    const std::string row = "1.0,5,1,5.0,5.0,5,5,0.0," + quoted("LLM:" + name) + "\n";
    const auto rows = parsers::read_nvtx_pushpop_csv(write(push_pop_header + row));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].name, name);
    const auto lines = 3 + std::count(name.begin(), name.end(), '\n');
    EXPECT_THAT(
        words_of_bad_input([&] { parsers::read_nvtx_pushpop_csv(write(push_pop_header + row + "1.0\n")); }),
        HasSubstr("input:" + std::to_string(lines) + ": has 1 columns"));
  }
}

}  // namespace
}  // namespace profgate::test
