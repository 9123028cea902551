#include <cstring>

#include "collector/timeline_format.h"
#include "file_fixture.h"
#include "parsers/timeline.h"

namespace profgate::test {
namespace {

using ::testing::HasSubstr;
namespace format = profgate::collector;

/// A recording built by hand: one chunk of strings ("LLM", "step"), one of records.
class embedded_timeline : public file_test {
 protected:
  embedded_timeline() {
    std::memcpy(m_header.magic, format::file_magic, sizeof format::file_magic);
    m_header.version = format::format_version;
    m_header.header_size = format::header_bytes;
    m_header.chunk_size = format::chunk_bytes;
    m_header.record_size = sizeof(format::range_record);
    m_header.process_id = 42;
    m_header.chunk_count = 2;
    m_strings.kind = static_cast<std::uint32_t>(format::chunk_kind::strings);
    m_strings.used_bytes = sizeof(format::chunk_header) + 2 * 16;
    m_records = {{10, 20, 2, 1, 7, 1, 0, 0}};
  }

  std::string bytes() const {
    std::string file(format::header_bytes + 2 * format::chunk_bytes, '\0');
    std::memcpy(file.data(), &m_header, sizeof m_header);
    char* chunk = file.data() + format::header_bytes;
    std::memcpy(chunk, &m_strings, sizeof m_strings);
    const format::string_entry domain{1, m_domain_length};
    std::memcpy(chunk + sizeof m_strings, &domain, sizeof domain);
    std::memcpy(chunk + sizeof m_strings + sizeof domain, "LLM", 3);
    const format::string_entry name{2, 4};
    std::memcpy(chunk + sizeof m_strings + 16, &name, sizeof name);
    std::memcpy(chunk + sizeof m_strings + 16 + sizeof name, "st\xFFp", 4);
    chunk += format::chunk_bytes;
    format::chunk_header records{};
    records.kind = m_record_kind;
    std::memcpy(chunk, &records, sizeof records);
    std::memcpy(chunk + sizeof records, m_records.data(), m_records.size() * sizeof m_records[0]);
    return file;
  }

  std::string words() {
    return words_of_bad_input([&] { parsers::read_embedded_timeline(write(bytes())); });
  }

  format::file_header m_header{};
  format::chunk_header m_strings{};
  std::uint32_t m_domain_length = 3;
  std::uint32_t m_record_kind = static_cast<std::uint32_t>(format::chunk_kind::records);
  std::vector<format::range_record> m_records;
};

TEST_F(embedded_timeline, reads_records_in_the_order_of_their_start) {
  m_records = {{30, 0, 2, 1, 7, 1, 0, 0}, {10, 20, 2, 0, 8, 2, 0, 0}};
  m_header.dropped_records = 5;
  const core::timeline timeline = parsers::read_embedded_timeline(write(bytes()));
  EXPECT_EQ(timeline.dropped_records, 5U);
  ASSERT_EQ(timeline.ranges.size(), 2U);
  EXPECT_EQ(timeline.ranges[0].start_ns, 10);
  EXPECT_EQ(timeline.ranges[0].end_ns, 20);
  EXPECT_EQ(timeline.ranges[0].domain, "");
  EXPECT_EQ(timeline.ranges[0].style, core::range_style::start_end);
  EXPECT_EQ(timeline.ranges[0].name, "st\xEF\xBF\xBDp") << "what is no UTF-8 is replaced";
  EXPECT_EQ(timeline.ranges[1].domain, "LLM");
  EXPECT_EQ(timeline.ranges[1].end_ns, std::nullopt);
  EXPECT_EQ(timeline.ranges[1].process_id, 42U);
  EXPECT_EQ(timeline.ranges[1].thread_id, 7U);
}

TEST_F(embedded_timeline, says_what_is_wrong_with_the_file) {
  EXPECT_EQ(words(), "");
  const std::string whole = bytes();
  EXPECT_THAT(words_of_bad_input([&] { parsers::read_embedded_timeline(write("PGTIMELN")); }),
              HasSubstr("truncated: 8 bytes"));
  EXPECT_THAT(
      words_of_bad_input([&] { parsers::read_embedded_timeline(write(whole.substr(0, whole.size() - 1))); }),
      HasSubstr("fewer than the 2 chunks"));
  EXPECT_THAT(words_of_bad_input([&] { parsers::read_embedded_timeline(write(std::string(9000, 'x'))); }),
              HasSubstr("does not start with PGTIMELN"));
  EXPECT_THAT(words_of_bad_input([&] { parsers::read_embedded_timeline(m_folder / "absent"); }),
              HasSubstr("cannot be read"));
}

TEST_F(embedded_timeline, rejects_numbers_that_contradict_each_other) {
  m_header.version = 9;
  EXPECT_THAT(words(), HasSubstr("recorded in format 9"));
  m_header.version = format::format_version;
  m_header.chunk_count = ~std::uint64_t{0};
  EXPECT_THAT(words(), HasSubstr("truncated"));
  m_header.chunk_count = 2;
  m_header.record_size = 7;
  EXPECT_THAT(words(), HasSubstr("corrupt header"));
  m_header.record_size = sizeof(format::range_record);
  m_strings.used_bytes = 0xFFFFFFFF;
  EXPECT_THAT(words(), HasSubstr("the strings of chunk 0 pass its end"));
  m_strings.used_bytes = sizeof(format::chunk_header) + 32;
  m_domain_length = 0xFFFFFFFF;
  EXPECT_THAT(words(), HasSubstr("a string of chunk 0 passes its end"));
  m_domain_length = 3;
  m_record_kind = 77;
  EXPECT_THAT(words(), HasSubstr("chunk 1 is of the unknown kind 77"));
  m_record_kind = 1;
  m_records = {{10, 5, 2, 1, 7, 1, 0, 0}};
  EXPECT_THAT(words(), HasSubstr("a range lasts from 10 to 5 ns"));
  m_records = {{~std::uint64_t{0}, 0, 2, 1, 7, 1, 0, 0}};
  EXPECT_THAT(words(), HasSubstr("corrupt: a range lasts"));
  m_records = {{10, 20, 99, 1, 7, 1, 0, 0}};
  EXPECT_THAT(words(), HasSubstr("string 99, is not in it"));
  m_records = {{10, 20, 2, 1, 7, 9, 0, 0}};
  EXPECT_THAT(words(), HasSubstr("unknown style 9"));
}

TEST_F(embedded_timeline, several_files_become_one_timeline) {
  const auto first = write(bytes(), "a");
  m_header.process_id = 43;
  m_header.dropped_records = 2;
  const auto second = write(bytes(), "b");
  const core::timeline timeline = parsers::read_timelines({first, second});
  ASSERT_EQ(timeline.ranges.size(), 2U);
  EXPECT_EQ(timeline.ranges[1].process_id, 43U);
  EXPECT_EQ(timeline.dropped_records, 2U);
  const std::filesystem::path nsys =
      std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/cpu-2022.4.2/gated.sqlite";
  EXPECT_EQ(parsers::read_timelines({nsys, nsys}).ranges.size(), 4U);
  EXPECT_THAT(words_of_bad_input([&] {
                parsers::read_timelines({first, nsys});
              }),
              HasSubstr("recorded by nsys, the others by embedded"));
  EXPECT_THAT(words_of_bad_input([] { parsers::read_timelines({}); }), HasSubstr("no timeline file"));
}

}  // namespace
}  // namespace profgate::test
