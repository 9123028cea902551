#include "parsers/ncu.h"

#include <algorithm>

#include "file_fixture.h"

namespace profgate::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::filesystem::path ncu_samples = samples / "h200-2025.3.1" / "ncu";
const std::string ranges_column = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg";

std::string row_of(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) row += (row.empty() ? "" : ",") + quoted(cell);
  return row + "\n";
}

const std::string ncu_header = row_of({"ID", ranges_column, "Kernel Name", "Block Size", "Grid Size",
                                       "Device", "gpu__time_duration.sum", "dram__bytes_read.sum"});

std::string units(const std::string& time, const std::string& bytes) {
  return row_of({"", "", "", "", "", "", time, bytes});
}

std::string launch(const std::string& name, const std::string& time, const std::string& bytes,
                   const std::string& ranges = "") {
  return row_of({"0", ranges, name, "(256, 1, 1)", "(128, 2, 3)", "0", time, bytes});
}

class ncu_csv : public file_test {
 protected:
  std::vector<core::kernel_counters> parse(const std::string& text) {
    return parsers::read_ncu_counters(write(text));
  }
  std::string words(const std::string& text) {
    return words_of_bad_input([&] { parse(text); });
  }
};

TEST_F(ncu_csv, reads_the_raw_page_of_the_roofline_set) {
  const auto launches = parsers::read_ncu_counters(ncu_samples / "ncu_deep_raw.csv");
  ASSERT_EQ(launches.size(), 6U) << "the units row is no launch";
  const core::kernel_counters& first = launches.front();
  EXPECT_EQ(first.kernel_name,
            "void vector_products::gemv<__nv_bfloat16, 1, 0, 1, 8>(vector_products::gemv_arguments<T1>)");
  EXPECT_THAT(first.open_ranges,
              ElementsAre(Pair("LLM", "decode_all"), Pair("LLM", "decode_step"), Pair("LLM", "mlp.down")));
  EXPECT_THAT(first.grid, ElementsAre(128, 1, 1));
  EXPECT_THAT(first.block, ElementsAre(256, 1, 1));
  EXPECT_EQ(first.device, 0);
  EXPECT_EQ(first.metrics.at("gpu__time_duration.sum"), 6752);
  EXPECT_EQ(first.metrics.at("dram__bytes.sum.per_second"), 936189573459.72);
  EXPECT_GT(first.metrics.size(), 1200U);
  EXPECT_FALSE(first.metrics.contains("launch__func_cache_config")) << "a text";
  EXPECT_EQ(launches[2].open_ranges.back().second, "attn.core");
}

TEST_F(ncu_csv, reads_a_page_of_few_metrics) {
  const auto launches = parsers::read_ncu_counters(ncu_samples / "ncu_light_raw.csv");
  ASSERT_EQ(launches.size(), 40U);
  EXPECT_EQ(launches[1].metrics.at("dram__bytes_read.sum"), 8413696);
  EXPECT_EQ(launches[1].metrics.at("sm__warps_active.avg.pct_of_peak_sustained_active"), 22.94);
}

TEST_F(ncu_csv, a_metric_that_the_chip_lacks_is_absent_and_nothing_else_is) {
  const auto launches = parsers::read_ncu_counters(ncu_samples / "ncu_nometric_raw.csv");
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_TRUE(launches[0].metrics.contains("gpu__time_duration.sum"));
  EXPECT_FALSE(launches[0].metrics.contains("no_such__metric.sum"));
}

/// The same report, printed in base units and in whatever fits: every figure must come out the same.
TEST_F(ncu_csv, converts_automatic_units_to_base_units) {
  const auto base = parsers::read_ncu_counters(ncu_samples / "ncu_deep_raw.csv");
  const auto scaled = parsers::read_ncu_counters(ncu_samples / "ncu_deep_raw_autounits.csv");
  ASSERT_EQ(base.size(), scaled.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    EXPECT_EQ(base[i].metrics.size(), scaled[i].metrics.size());
    for (const auto& [name, value] : base[i].metrics) {
      ASSERT_TRUE(scaled[i].metrics.contains(name)) << name;
      // Two decimals on one side, six digits of another magnitude on the other.
      EXPECT_NEAR(scaled[i].metrics.at(name), value, 0.006 + value * 1e-5) << name;
    }
  }
  EXPECT_NEAR(scaled[0].metrics.at("gpu__time_duration.sum"), 6752, 1e-9);
}

TEST_F(ncu_csv, reads_the_details_page_with_its_ragged_rows) {
  const auto launches = parsers::read_ncu_counters(ncu_samples / "ncu_deep_details.csv");
  const auto raw = parsers::read_ncu_counters(ncu_samples / "ncu_deep_raw.csv");
  ASSERT_EQ(launches.size(), raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    EXPECT_EQ(launches[i].kernel_name, raw[i].kernel_name);
    EXPECT_EQ(launches[i].ranges, raw[i].ranges);
    for (const char* name :
         {"gpu__time_duration.sum", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
          "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
          "sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpc__cycles_elapsed.max"}) {
      EXPECT_EQ(launches[i].metrics.at(name), raw[i].metrics.at(name)) << name;
    }
  }
}

TEST_F(ncu_csv, skips_what_ncu_and_the_program_say_around_the_table) {
  const auto launches = parse(
      "==WARNING== Note: Running with \"unmodified GPU clocks.\n==PROF== Connected to process 1\nlogits: "
      "0x1\n" +
      ncu_header + units("ns", "byte") + launch("a", "5", "6") + "==PROF== Disconnected from process 1\n\n" +
      launch("b", "7", "8"));
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[1].kernel_name, "b");
  EXPECT_EQ(launches[1].metrics.at("dram__bytes_read.sum"), 8);
}

TEST_F(ncu_csv, keeps_hostile_names) {
  for (const std::string& name :
       std::vector<std::string>{"a,b", "a\"b", "\"\"", "a|b<c>&[d]", "line\nbreak", "tab\there",
                                "comma,\"quote\"", "==PROF== a", std::string(10000, 'x') + ",y"}) {
    const auto launches =
        parse(ncu_header + units("ns", "byte") + launch(name, "5", "6") + launch("z", "1", "2"));
    ASSERT_EQ(launches.size(), 2U) << name;
    EXPECT_EQ(launches[0].kernel_name, name);
    EXPECT_EQ(launches[1].kernel_name, "z");
  }
}

TEST_F(ncu_csv, takes_the_ranges_of_every_domain) {
  const std::string range = ":none:none:none:none:REGISTERED:";
  const std::string cell = "12  \"LLM:decode_all" + range + "decode_all\"  \"NCCL:sum" + range +
                           "sum\"  \"<default domain>:mine" + range + "mine\"  \"LLM:a:b" + range + "a:b\" ";
  const std::string text = ncu_header + units("ns", "byte") + launch("k", "5", "6", cell);
  EXPECT_THAT(parse(text)[0].open_ranges, ElementsAre(Pair("LLM", "decode_all"), Pair("NCCL", "sum"),
                                                      Pair("", "mine"), Pair("LLM", "a:b")));
  EXPECT_THAT(parse(ncu_header + units("ns", "byte") + launch("k", "5", "6", "12"))[0].open_ranges,
              IsEmpty());
}

TEST_F(ncu_csv, knows_the_units_of_other_versions) {
  const auto value = [&](const std::string& unit) {
    return parse(ncu_header + units("ns", unit) + launch("k", "5", "2"))[0].metrics.at(
        "dram__bytes_read.sum");
  };
  EXPECT_DOUBLE_EQ(value("Kbyte"), 2e3);
  EXPECT_DOUBLE_EQ(value("Tbyte/second"), 2e12);
  EXPECT_DOUBLE_EQ(value("byte/ns"), 2e9);
  EXPECT_DOUBLE_EQ(value("usecond"), 2e3);
  EXPECT_DOUBLE_EQ(value("second"), 2e9);
  EXPECT_DOUBLE_EQ(value("cycle/nsecond"), 2e9);
  EXPECT_DOUBLE_EQ(value("Mbyte/block"), 2e6);
  const auto odd = parse(ncu_header + units("ns", "furlong") + launch("k", "5", "2"));
  EXPECT_FALSE(odd[0].metrics.contains("dram__bytes_read.sum")) << "never misread";
  EXPECT_TRUE(odd[0].metrics.contains("gpu__time_duration.sum"));
}

TEST_F(ncu_csv, knows_renamed_metrics) {
  const std::string old_header =
      row_of({"ID", "Kernel Name", "Block Size", "Grid Size", "Device", "dram__sectors_read.sum"});
  const std::string sectors = row_of({"", "", "", "", "", "sector"});
  const auto launches = parse(old_header + sectors + row_of({"0", "k", "(1, 1, 1)", "(1, 1, 1)", "0", "3"}));
  EXPECT_EQ(launches[0].metrics.at("dram__bytes_read.sum"), 96);
}

TEST_F(ncu_csv, refuses_numbers_of_other_locales) {
  for (const std::string number : {"1,980,000", "1.980.000", "19,60", "1.980", "1'980", "1\u00a0980"}) {
    EXPECT_THAT(words(ncu_header + units("ns", "byte") + launch("k", number, "6")),
                HasSubstr("input:3: column 'gpu__time_duration.sum': '" + number + "' has a separator"));
  }
  EXPECT_EQ(parse(ncu_header + units("ns", "byte") + launch("k", "1980.00", "6"))[0].metrics.at(
                "gpu__time_duration.sum"),
            1980);
}

TEST_F(ncu_csv, refuses_what_no_kernel_can_have_taken) {
  const auto with = [](const std::string& time, const std::string& bytes) {
    return ncu_header + units("ns", "byte") + launch("k", time, bytes);
  };
  EXPECT_THAT(words(with("-5", "1")), AllOf(HasSubstr("input:3: column 'gpu__time_duration.sum'"),
                                            HasSubstr("-5 ns is less than nothing")));
  EXPECT_THAT(words(with("5", "-1")),
              HasSubstr("column 'dram__bytes_read.sum': -1 byte is less than nothing"));
  EXPECT_THAT(words(with("soon", "1")), HasSubstr("'soon' is no time in ns"));
  EXPECT_THAT(words(with("1e22", "1")), HasSubstr("1e22 ns is more than 28 hours"));
  EXPECT_THAT(words(ncu_header + units("s", "byte") + launch("k", "1e22", "1")), HasSubstr("28 hours"));
  for (const char* absent : {"", "n/a", "nan"}) {
    EXPECT_FALSE(parse(with(absent, "1")).front().metrics.contains("gpu__time_duration.sum")) << absent;
  }
}

TEST_F(ncu_csv, says_where_a_file_is_damaged) {
  const std::string good = ncu_header + units("ns", "byte") + launch("k", "5", "6");
  EXPECT_THAT(words(""), HasSubstr("input:1: is empty"));
  EXPECT_THAT(words(ncu_header), HasSubstr("input:1: ends after its header"));
  EXPECT_THAT(words(good + "\"1\",\"\",\"k"), HasSubstr("input:4: ends inside of a quoted cell"));
  EXPECT_THAT(words(good + "\"1\",\"\",\"k\"\n"), HasSubstr("input:4: has 3 columns where the header has 8"));
  EXPECT_THAT(words(ncu_header + launch("k", "5", "6")), HasSubstr("input:2: has no row of units"));
  EXPECT_THAT(words("==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - no\n"),
              HasSubstr("it says: ==ERROR== ERR_NVGPUCTRPERM"));
  EXPECT_THAT(words("Time (%),Total Time (ns),Instances\n1,2,3\n"), HasSubstr("it is no table of ncu"));
  EXPECT_THAT(words("\xff\xfe\"ID\""), HasSubstr("is UTF-16"));
  EXPECT_THAT(words(ncu_header + units("ns", "byte") + launch("k\xff", "5", "6")),
              HasSubstr("input:3: column 10 is no UTF-8"));
  EXPECT_THAT(words(ncu_header + units("ns", "byte") + std::string("\0", 1)),
              HasSubstr("input:3: column 1 is no UTF-8"));
  EXPECT_THAT(words(row_of({"ID", "ID"}) + row_of({"", ""})), HasSubstr("has the column 'ID' twice"));
  EXPECT_THAT(words(row_of({"ID", "Device"}) + row_of({"", ""}) + row_of({"0", "0"})),
              HasSubstr("has no column 'Kernel Name'"));
  EXPECT_THAT(words_of_bad_input([&] { parsers::read_ncu_counters(m_folder / "absent.csv"); }),
              HasSubstr("absent.csv: cannot be read"));
}

TEST_F(ncu_csv, every_cut_of_a_real_file_is_refused_or_whole) {
  const std::string text = content_of(ncu_samples / "ncu_nometric_raw.csv");
  std::size_t refused = 0;
  for (std::size_t size = 0; size < text.size(); size += 97) {
    try {
      for (const core::kernel_counters& launch : parse(text.substr(0, size))) {
        EXPECT_GT(launch.metrics.at("gpu__time_duration.sum"), 1000);
      }
    } catch (const core::bad_input&) {
      refused += 1;
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace profgate::test
