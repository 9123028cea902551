#include <cstring>
#include <map>

#include "collector/timeline_format.h"
#include "file_fixture.h"
#include "parsers/timeline.h"
#include "profilers/backends.h"

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

  /// The recording with one more chunk, of the GPU's activity.
  template <typename record>
  std::string bytes_with(format::chunk_kind kind, const std::vector<record>& records,
                         std::uint32_t extra_bytes = 0) {
    m_header.chunk_count = 3;
    format::chunk_header head{};
    head.kind = static_cast<std::uint32_t>(kind);
    head.used_bytes = static_cast<std::uint32_t>(sizeof head + records.size() * sizeof(record)) + extra_bytes;
    std::string chunk(format::chunk_bytes, '\0');
    std::memcpy(chunk.data(), &head, sizeof head);
    std::memcpy(chunk.data() + sizeof head, records.data(), records.size() * sizeof(record));
    return bytes() + chunk;
  }

  template <typename record>
  std::string words_with(format::chunk_kind kind, const std::vector<record>& records,
                         std::uint32_t extra_bytes = 0) {
    return words_of_bad_input(
        [&] { parsers::read_embedded_timeline(write(bytes_with(kind, records, extra_bytes))); });
  }

  static format::kernel_record kernel(std::uint64_t start_ns, std::uint64_t end_ns) {
    return {start_ns, end_ns, 0, 2, 5, 0, 7, {1, 1, 1}, {32, 1, 1}, 0, 16, {}, 0, 0, 0};
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
  m_strings.used_bytes = sizeof(format::chunk_header) + 40;
  EXPECT_THAT(words(), HasSubstr("a string of chunk 0 has no id"));
  m_strings.used_bytes = sizeof(format::chunk_header) + 32;
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

TEST_F(embedded_timeline, reads_kernels_whose_call_it_has_not) {
  m_header.gpu = static_cast<std::uint32_t>(format::gpu_state::recording);
  m_header.gpu_flushed_ns = 1;
  const core::timeline timeline = parsers::read_embedded_timeline(write(
      bytes_with<format::kernel_record>(format::chunk_kind::kernels, {kernel(40, 50), kernel(12, 15)})));
  EXPECT_EQ(timeline.kernels_absent_reason, std::nullopt);
  EXPECT_EQ(timeline.dropped_records, 0U);
  ASSERT_EQ(timeline.kernels.size(), 2U);
  EXPECT_EQ(timeline.kernels[0].start_ns, 12) << "in the order of their start";
  EXPECT_EQ(timeline.kernels[0].thread_id, 0U);
  EXPECT_EQ(timeline.kernels[0].launched_ns, 12);
  EXPECT_EQ(timeline.kernels[0].shape->name, "st\xEF\xBF\xBDp") << "a name that is not mangled stays";
}

TEST_F(embedded_timeline, reads_the_shorter_kernels_of_older_collectors) {
  format::kernel_record one = kernel(40, 50);
  one.shared_bytes = 96;
  one.cluster[0] = 2;
  one.dynamic_shared_bytes = 64;
  one.local_bytes = 8;
  const core::timeline now = parsers::read_embedded_timeline(
      write(bytes_with<format::kernel_record>(format::chunk_kind::kernels, {one, one})));
  const core::kernel_shape& shape = *now.kernels.at(1).shape;
  EXPECT_EQ(shape.cluster[0], 2U);
  EXPECT_EQ(shape.dynamic_shared_bytes, 64U);
  EXPECT_EQ(shape.local_bytes, 8U);

  std::string shorter;
  for (int i = 0; i < 2; ++i) shorter.append(reinterpret_cast<const char*>(&one), format::short_kernel_bytes);
  const core::timeline before = parsers::read_embedded_timeline(write(bytes_with<char>(
      format::chunk_kind::short_kernels, std::vector<char>(shorter.begin(), shorter.end()))));
  ASSERT_EQ(before.kernels.size(), 2U);
  EXPECT_EQ(before.kernels[1].start_ns, 40);
  EXPECT_EQ(before.kernels[1].shape->shared_bytes, 96U);
  EXPECT_EQ(before.kernels[1].shape->registers_per_thread, 16U);
  EXPECT_EQ(before.kernels[1].shape->cluster[0], 0U) << "not told";
  EXPECT_EQ(before.kernels[1].shape->local_bytes, 0U);
}

TEST_F(embedded_timeline, a_gated_recording_keeps_only_what_is_inside) {
  m_header.gpu = static_cast<std::uint32_t>(format::gpu_state::recording);
  m_header.gated = 1;
  m_header.gpu_flushed_ns = 100;
  m_records = {{10, 30, 2, 1, 7, 1, 1, 0}, {15, 20, 2, 1, 8, 1, 1, 0}, {50, 60, 2, 1, 7, 1, 1, 0}};
  const core::timeline timeline = parsers::read_embedded_timeline(write(bytes_with<format::kernel_record>(
      format::chunk_kind::kernels, {kernel(9, 12), kernel(10, 11), kernel(25, 29), kernel(31, 32),
                                    kernel(49, 51), kernel(60, 70), kernel(61, 62)})));
  std::vector<std::int64_t> starts;
  for (const core::kernel_execution& one : timeline.kernels) starts.push_back(one.start_ns);
  EXPECT_EQ(starts, (std::vector<std::int64_t>{10, 25, 60}));
}

TEST_F(embedded_timeline, what_was_not_delivered_counts_as_dropped) {
  m_header.gpu = static_cast<std::uint32_t>(format::gpu_state::recording);
  const auto dropped = [&] { return parsers::read_embedded_timeline(write(bytes())).dropped_records; };
  EXPECT_EQ(dropped(), 1U) << "ungated and never flushed";
  m_header.dropped_activities = 4;
  EXPECT_EQ(dropped(), 5U);
  m_header.gpu_flushed_ns = 19;
  EXPECT_EQ(dropped(), 4U);
  m_header.gated = 1;
  m_records = {{10, 20, 2, 1, 7, 1, 1, 0}};
  EXPECT_EQ(dropped(), 5U) << "the gate closed after the last flush";
  m_header.gpu_flushed_ns = 20;
  EXPECT_EQ(dropped(), 4U);
  m_records = {{10, 0, 2, 1, 7, 1, 1, 0}};
  EXPECT_EQ(dropped(), 5U) << "the gate never closed";
}

TEST_F(embedded_timeline, tells_at_which_ends_the_device_was_waited_for) {
  m_header.sync = static_cast<std::uint32_t>(format::sync_state::failed);
  std::strcpy(m_header.sync_note, "no CUPTI");
  for (std::uint64_t i = 0; i < format::sync_outcome_count; ++i) m_header.sync_ends[i] = 10 + i;
  parsers::embedded_facts facts;
  parsers::read_embedded_timeline(write(bytes()), facts);
  EXPECT_EQ(facts.synchronised_ends, 10U);
  EXPECT_THAT(
      facts.unsynchronised_ends,
      ::testing::ElementsAre(::testing::Pair("a stream was capturing a graph", 11U),
                             ::testing::Pair("cuCtxSynchronize failed", 13U),
                             ::testing::Pair("no CUDA context was current on the range's thread", 12U)));
  EXPECT_EQ(facts.sync_problem, "no CUPTI");
  std::memset(m_header.sync_note, 'x', sizeof m_header.sync_note);
  parsers::read_embedded_timeline(write(bytes()), facts);
  EXPECT_EQ(facts.sync_problem, std::string(sizeof m_header.sync_note, 'x')) << "without an end";
  m_header.sync = 4;
  EXPECT_THAT(words(), HasSubstr("the unknown state 4 of synchronised ranges"));
}

TEST_F(embedded_timeline, says_what_is_wrong_with_activity) {
  using format::chunk_kind;
  const std::vector<format::kernel_record> one = {kernel(10, 20)};
  EXPECT_EQ(words_with(chunk_kind::kernels, one), "");
  EXPECT_THAT(words_with(chunk_kind::kernels, one, 1),
              HasSubstr("129 bytes of kernels in chunk 2 are no whole"));
  EXPECT_THAT(words_with(chunk_kind::kernels, one, 1 << 20), HasSubstr("no whole number of records"));
  EXPECT_THAT(words_with(chunk_kind::kernels, std::vector{kernel(20, 10)}),
              HasSubstr("a kernel lasts from 20 to 10 ns"));
  EXPECT_THAT(words_with(chunk_kind::kernels, std::vector{kernel(0, 10)}),
              HasSubstr("a kernel lasts from 0"));
  EXPECT_THAT(words_with(chunk_kind::kernels, std::vector{kernel(1, ~std::uint64_t{0})}),
              HasSubstr("corrupt: a kernel lasts"));
  format::kernel_record odd = kernel(10, 20);
  odd.name_id = 99;
  EXPECT_THAT(words_with(chunk_kind::kernels, std::vector{odd}), HasSubstr("a kernel's name, string 99"));
  odd = kernel(10, 20);
  odd.device = ~0U;
  EXPECT_THAT(words_with(chunk_kind::kernels, std::vector{odd}), HasSubstr("ran on the device 4294967295"));
  EXPECT_THAT(words_with(chunk_kind::copies, std::vector<format::copy_record>{{10, 20, 1, 0, 1, 0, 7, 9}}),
              HasSubstr("unknown direction 9"));
  EXPECT_THAT(words_with(chunk_kind::copies,
                         std::vector<format::copy_record>{{10, 20, ~std::uint64_t{0}, 0, 1, 0, 7, 1}}),
              HasSubstr("a copy moves 18446744073709551615 bytes"));
  EXPECT_THAT(words_with(chunk_kind::calls, std::vector<format::call_record>{{10, 20, 99, 7, 1, 0}}),
              HasSubstr("a call's name, string 99"));
  EXPECT_THAT(words_with(chunk_kind::calls, std::vector<format::call_record>{{10, 5, 2, 7, 1, 0}}),
              HasSubstr("a call lasts from 10 to 5 ns"));
  EXPECT_THAT(words_with(chunk_kind::code_hashes, std::vector<format::code_hash_record>{{1, 99, 0}}),
              HasSubstr("the name of a module's kernel, string 99"));
  m_header.gpu = 9;
  EXPECT_THAT(words_with(chunk_kind::kernels, one), HasSubstr("the unknown state 9"));
}

TEST_F(embedded_timeline, says_why_there_are_no_kernels) {
  const auto reason = [&](format::gpu_state state) {
    m_header.gpu = static_cast<std::uint32_t>(state);
    return parsers::read_embedded_timeline(write(bytes())).kernels_absent_reason.value_or("");
  };
  std::memset(m_header.gpu_note, 'x', sizeof m_header.gpu_note);  // no zero at its end
  EXPECT_THAT(reason(format::gpu_state::no_cuda), HasSubstr("never initialised CUDA"));
  EXPECT_THAT(reason(format::gpu_state::not_asked), HasSubstr("CUDA_INJECTION64_PATH"));
  EXPECT_THAT(reason(format::gpu_state::failed), HasSubstr(": " + std::string(1024, 'x')));
  EXPECT_EQ(reason(format::gpu_state::recording), "");
}

/// As older collectors left it of a child that was forked before its program used CUDA.
TEST_F(embedded_timeline, kernels_that_are_there_are_not_explained_away) {
  m_header.gpu = static_cast<std::uint32_t>(format::gpu_state::no_cuda);
  m_header.gpu_flushed_ns = 100;
  const auto with_kernel = [&] {
    return parsers::read_embedded_timeline(
        write(bytes_with<format::kernel_record>(format::chunk_kind::kernels, {kernel(40, 50)})));
  };
  EXPECT_EQ(with_kernel().kernels_absent_reason, std::nullopt);
  EXPECT_EQ(with_kernel().dropped_records, 0U);
  m_header.gpu_flushed_ns = 0;
  EXPECT_EQ(with_kernel().dropped_records, 1U) << "never flushed";
  const core::timeline with_copy = parsers::read_embedded_timeline(
      write(bytes_with<format::copy_record>(format::chunk_kind::copies, {{10, 20, 1, 0, 1, 0, 7, 1}})));
  EXPECT_EQ(with_copy.kernels_absent_reason, std::nullopt);
}

TEST_F(embedded_timeline, ranks_that_load_the_same_code_in_any_order_have_one_hash) {
  const auto rank = [&](const std::string& name, std::vector<format::code_hash_record> loaded) {
    return write(bytes_with(format::chunk_kind::code_hashes, loaded), name);
  };
  const auto hashes = [](const std::vector<std::filesystem::path>& files) {
    const core::timeline timeline = profilers::read_timelines(files);
    return std::map<std::string, std::uint64_t>(timeline.code_hashes.begin(), timeline.code_hashes.end());
  };
  const auto a = rank("a", {{1234, 1, 0}, {5, 2, 0}});
  const auto same = rank("same", {{5, 2, 0}, {1234, 1, 0}});
  const auto other = rank("other", {{4321, 1, 0}});
  EXPECT_EQ(hashes({a}).at("LLM"), 1234U);
  EXPECT_EQ(hashes({a}).size(), 2U);
  EXPECT_EQ(hashes({a, same}), hashes({a}));
  EXPECT_EQ(hashes({a, same, other}), hashes({other, a, same}));
  EXPECT_EQ(hashes({a, same, other}), hashes({a, other, same}));
  EXPECT_NE(hashes({a, other}).at("LLM"), 1234U);
}

/// Each on the device that it calls 0.
TEST_F(embedded_timeline, ranks_that_see_one_gpu_each_are_told_apart) {
  m_header.gpu = static_cast<std::uint32_t>(format::gpu_state::recording);
  m_header.gpu_flushed_ns = 100;
  const auto devices = [&](const std::vector<std::string>& visible) {
    std::vector<std::filesystem::path> files;
    for (const std::string& gpus : visible) {
      std::strcpy(m_header.visible_gpus, gpus.c_str());
      ++m_header.process_id;
      files.push_back(write(
          bytes_with<format::kernel_record>(format::chunk_kind::kernels, {kernel(40 + files.size(), 50)}),
          std::to_string(m_header.process_id)));
    }
    std::vector<int> numbers;
    for (const core::kernel_execution& each : profilers::read_timelines(files).kernels)
      numbers.push_back(each.device);
    return numbers;
  };
  using numbers = std::vector<int>;
  EXPECT_EQ(devices({"0", "1"}), (numbers{0, 1}));
  EXPECT_EQ(devices({"3, 1", "1"}), (numbers{3, 1}));
  EXPECT_EQ(devices({"GPU-b", "GPU-a", "GPU-b"}), (numbers{1, 0, 1}));
  EXPECT_EQ(devices({"", "1"}), (numbers{0, 1})) << "the first sees them all";
  EXPECT_EQ(devices({"3", "3"}), (numbers{0, 0})) << "what CUDA calls it, where that is clear";
  EXPECT_EQ(devices({"3"}), (numbers{0}));
  EXPECT_EQ(devices({"0", "-1,1", ""}), (numbers{0, 2, 0})) << "what is no GPU's number gets a free one";
}

TEST_F(embedded_timeline, several_files_become_one_timeline) {
  const auto first = write(bytes(), "a");
  m_header.process_id = 43;
  m_header.dropped_records = 2;
  const auto second = write(bytes(), "b");
  const core::timeline timeline = profilers::read_timelines({first, second});
  ASSERT_EQ(timeline.ranges.size(), 2U);
  EXPECT_EQ(timeline.ranges[1].process_id, 43U);
  EXPECT_EQ(timeline.dropped_records, 2U);
  const std::filesystem::path nsys = samples / "cpu-2022.4.2/gated.sqlite";
  EXPECT_EQ(profilers::read_timelines({nsys, nsys}).ranges.size(), 4U);
  EXPECT_THAT(words_of_bad_input([&] {
                profilers::read_timelines({first, nsys});
              }),
              HasSubstr("recorded by nsys, the others by embedded"));
  EXPECT_THAT(words_of_bad_input([] { profilers::read_timelines({}); }), HasSubstr("no timeline file"));
}

}  // namespace
}  // namespace profgate::test
