#include "baselines/run_set_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <limits>

#include "artifacts/files.h"
#include "core/error.h"
#include "store_test.h"

namespace profgate::baselines {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

stored_run_set everything() {
  stored_run_set stored;
  stored.run_id = "20261115-090000-qwen3-0.6b.decode-b1";
  stored.runs = made_runs(9e6, 3);
  stored.runs.processes[1].spoiled_by = "a foreign process: 4711 \"python\"";
  stored.runs.processes[1].conditions = {
      1980.123456789, 41.0 / 3, 1e-7, {"software_power_cap"}, {"4711 python"}};
  stored.runs.structure["decode_all"] = {{{"a<int, 3>(b\"\\\n)", "gemv|x`", "\xff\xfe"}}, 37, 16, 227};
  stored.runs.structure["prefill"] = {};
  stored.runs.structure["prefill"].calls = {{{"attn.core", "step"}, 378}};
  stored.runs.structure["prefill"].kernels_absent_reason = "the pair runs on the CPU: there are no kernels";
  analysis::stage_operations traced;
  traced.times = {{1, 15000, {{1000, 900, 755, 0}}}};
  traced.operations = {{"k", "attn.qkv", "gemv", 28, 12345, 12345 * analysis::units_per_ns, 1000}};
  stored.runs.traces = {{{"decode_all", traced}}, {}};
  stored.accepted = {
      {"2026-11-15T10:00:00Z", "Ada <ada@example.org>", "faster: “graphs”", std::string(40, 'a'), ""}};
  return stored;
}

std::string fault_of(const std::string& text) {
  return error_of([&] { parse_run_set(text, "b.json"); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(run_set_file, keeps_counters) {
  stored_run_set stored = everything();
  stored.runs.counters = {{"decode_all", "k", "attn.qkv", 3, 9216.5, 1e6, 0.41, {}, 0.48, 64}};
  stored.runs.uncounted_because = "no ncu";
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(run_set_text(read), text);
  ASSERT_EQ(read.runs.counters.size(), 1U);
  EXPECT_EQ(read.runs.counters[0].path, "attn.qkv");
  EXPECT_EQ(read.runs.counters[0].launches, 3);
  EXPECT_EQ(read.runs.counters[0].duration_ns, 9216.5);
  EXPECT_EQ(read.runs.counters[0].instructions, std::nullopt) << "absent, not zero";
  EXPECT_EQ(read.runs.counters[0].registers, 64);
  EXPECT_EQ(read.runs.uncounted_because, "no ncu");
}

TEST(run_set_file, keeps_how_full_experts_were) {
  stored_run_set stored;
  stored.runs = made_runs(9e6);
  EXPECT_THAT(run_set_text(stored), ::testing::Not(::testing::HasSubstr("experts")));
  stored.runs.experts["prefill"] = {6, 64, 283, {{1, 120, 26.5, 3}, {2, 53, 26, 0}}};
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "x.json");
  EXPECT_EQ(read.runs.experts, stored.runs.experts);
  EXPECT_EQ(run_set_text(read), text);
}

TEST(run_set_file, keeps_the_units_of_figures_and_that_a_command_was_typed) {
  stored_run_set stored;
  stored.runs = made_runs(9e6);
  EXPECT_THAT(run_set_text(stored), AllOf(::testing::Not(HasSubstr("figure_units")),
                                          ::testing::Not(HasSubstr("typed_settings_sha256"))));
  stored.runs.units_of_figures = {{"rate", "tokens/s"}, {"step", "ms"}};
  stored.runs.identity.typed_settings_sha256 = std::string(64, 'e');
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "x.json");
  EXPECT_EQ(read.runs.units_of_figures, stored.runs.units_of_figures);
  EXPECT_EQ(read.runs.identity.typed_settings_sha256, stored.runs.identity.typed_settings_sha256);
  EXPECT_EQ(run_set_text(read), text);
}

TEST(run_set_file, reading_and_writing_again_gives_the_same_bytes) {
  const std::string text = run_set_text(everything());
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(run_set_text(read), text);
  EXPECT_EQ(read.runs.processes[1].conditions.sm_clock_mhz, 1980.123456789);
  EXPECT_EQ(read.runs.processes[1].spoiled_by, everything().runs.processes[1].spoiled_by);
  EXPECT_EQ(read.runs.processes[2].samples_ns, everything().runs.processes[2].samples_ns);
  EXPECT_EQ(read.runs.structure.at("decode_all").launches, 37);
  EXPECT_EQ(read.runs.structure.at("decode_all").kernels->size(), 3U);
  EXPECT_FALSE(read.runs.structure.at("prefill").kernels);
  EXPECT_EQ(read.runs.structure.at("prefill").calls.at({"attn.core", "step"}), 378);
  EXPECT_EQ(read.runs.structure.at("prefill").kernels_absent_reason,
            "the pair runs on the CPU: there are no kernels");
  const analysis::stage_operations& traced = read.runs.traces.at(0).at("decode_all");
  EXPECT_EQ(traced.operations.at(0).latency_ns, std::nullopt) << "as in files of earlier versions";
  EXPECT_EQ(traced.operations.at(0).total_ns, 12345);
  EXPECT_EQ(traced.operations.at(0).exclusive_units, 12345 * analysis::units_per_ns);
  ASSERT_TRUE(traced.times);
  EXPECT_EQ(traced.times->time_ns, 15000);
  EXPECT_EQ(traced.times->idle.by_cause_ns, (std::array<std::int64_t, 4>{1000, 900, 755, 0}));
  EXPECT_EQ(read.accepted.at(0).reason, "faster: “graphs”");
  EXPECT_EQ(read.runs.identity.versions, everything().runs.identity.versions);
}

TEST(run_set_file, keeps_how_launches_began) {
  stored_run_set stored = everything();
  analysis::operation_sum& sum = stored.runs.traces[0].at("decode_all").operations[0];
  sum.latency_ns = 0;
  sum.early_launches = 27;
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(run_set_text(read), text);
  const analysis::operation_sum& same = read.runs.traces[0].at("decode_all").operations[0];
  EXPECT_EQ(same.latency_ns, 0) << "none is known";
  EXPECT_EQ(same.early_launches, 27);
}

TEST(run_set_file, keeps_graph_nodes_that_copy_where_they_were_counted) {
  stored_run_set stored = everything();
  EXPECT_THAT(run_set_text(stored), ::testing::Not(HasSubstr("graph_copies")));
  stored.runs.structure["decode_all"].graph_copies = 8;
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(read.runs.structure.at("decode_all").graph_copies, 8);
  EXPECT_EQ(read.runs.structure.at("prefill").graph_copies, std::nullopt);
  EXPECT_EQ(run_set_text(read), text);
}

TEST(run_set_file, keeps_what_each_layer_took) {
  stored_run_set stored = everything();
  EXPECT_EQ(run_set_text(stored).find("layers"), std::string::npos);
  stored.runs.traces[0].at("decode_all").operations[0].layers = {{0, 14, 6000}, {2, 14, 6345}};
  const std::string text = run_set_text(stored);
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(run_set_text(read), text);
  const std::vector<analysis::layer_sum>& layers = read.runs.traces[0].at("decode_all").operations[0].layers;
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[1].layer, 2);
  EXPECT_EQ(layers[1].launches, 14);
  EXPECT_EQ(layers[1].cost_ns, 6345);

  EXPECT_THAT(fault_of(replaced(text, "\"number\": [0, 2]", "\"number\": [2, 2]")),
              HasSubstr("layers.number[1] is not above the one before it"));
  EXPECT_THAT(fault_of(replaced(text, "\"number\": [0, 2]", "\"number\": [0]")),
              HasSubstr("layers.launches has 2 values for 1 layers"));
  EXPECT_THAT(fault_of(replaced(text, "\"cost_ns\": [6000, 6345]", "\"cost_ns\": [6000, -1]")),
              HasSubstr("layers.cost_ns[1]"));
  std::string many = "0";
  for (int i = 1; i < 257; ++i) many += ", " + std::to_string(i);
  EXPECT_THAT(fault_of(replaced(text, "\"number\": [0, 2]", "\"number\": [" + many + "]")),
              HasSubstr("layers.number has 257 layers, more than 256"));
}

TEST(run_set_file, keeps_what_it_was_measured_for_and_why_it_has_no_traces) {
  stored_run_set stored = everything();
  EXPECT_EQ(run_set_text(stored).find("gated_stages"), std::string::npos);
  stored.runs.gated_stages = {"prefill", "decode_all"};
  stored.runs.untraced_because = "the collector was not found";
  const std::string text = run_set_text(stored);
  EXPECT_THAT(text, HasSubstr("\n  \"gated_stages\": [\"prefill\", \"decode_all\"],\n"));
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_EQ(read.runs.gated_stages, stored.runs.gated_stages);
  EXPECT_EQ(read.runs.untraced_because, stored.runs.untraced_because);
  EXPECT_EQ(run_set_text(read), text);
}

TEST(run_set_file, every_recorded_one_is_written_again_as_it_is) {
  std::size_t files = 0;
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(PROFGATE_TEST_DATA)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".runs.json") || found++ % PROFGATE_TEST_STRIDE != 0) continue;
    const std::string text = artifacts::read_file(entry.path());
    const std::string rewritten = run_set_text(parse_run_set(text, name));
    if (text.find("\"schema_version\": \"1.1\"") == std::string::npos) continue;  // of an older profgate
    ++files;
    EXPECT_EQ(rewritten, text) << entry.path();
  }
  EXPECT_GE(files, 40U / PROFGATE_TEST_STRIDE / 2);
}

TEST(run_set_file, of_schema_1_0_has_durations_and_no_idle_times) {
  stored_run_set stored = everything();
  stored.runs.traces[0].at("decode_all").times.reset();
  const std::string text = run_set_text(stored);
  EXPECT_EQ(text.find("shared_ns"), std::string::npos);
  const stored_run_set read = parse_run_set(text, "b.json");
  EXPECT_FALSE(read.runs.traces.at(0).at("decode_all").times);
  EXPECT_EQ(read.runs.traces.at(0).at("decode_all").operations.at(0).total_ns, 12345);
}

TEST(run_set_file, traces_that_do_not_fit_together_are_refused) {
  const std::string text = run_set_text(everything());
  EXPECT_THAT(fault_of(replaced(text, "\"shared_ns\": 12345", "\"shared_ns\": 10000000000001")),
              HasSubstr("shared_ns is 10000000000001, but must be from 0 to 10000000000000"));
  EXPECT_THAT(fault_of(replaced(text, "\"launch\": 1000", "\"lunch\": 1000")), HasSubstr("launch"));
  const std::size_t from = text.find("\"traced_stages\"");
  EXPECT_THAT(fault_of(text.substr(0, from) + "\"traced_stages\": []\n}\n"),
              HasSubstr("traced_stages has 0 processes, \"kernels\" has 2"));
}

TEST(run_set_file, one_process_is_one_line_and_keys_are_sorted) {
  const std::string text = run_set_text(everything());
  std::size_t lines = 0;
  for (std::size_t at = text.find("    {\"conditions\""); at != std::string::npos;
       at = text.find("\n    {\"conditions\"", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 3U);
  std::size_t last = 0;
  for (const char* key :
       {"\"accepted\"", "\"content_sha256\"", "\"created_utc\"", "\"identity\"", "\"kernels\"",
        "\"processes\"", "\"run_id\"", "\"schema_version\"", "\"structure\"", "\"traced_stages\""}) {
    const std::size_t at = text.find(std::string("\n  ") + key);
    ASSERT_NE(at, std::string::npos) << key;
    EXPECT_GT(at, last) << key;
    last = at;
  }
}

TEST(run_set_file, a_changed_number_is_an_edit_by_hand) {
  const std::string text = run_set_text(everything());
  const std::string sample = std::to_string(everything().runs.processes[0].samples_ns.at("decode_all")[5]);
  EXPECT_THAT(fault_of(replaced(text, sample, "1" + sample)),
              AllOf(HasSubstr("b.json"), HasSubstr("edited by hand"),
                    HasSubstr("; or remove it, measure the build again")));
  EXPECT_THAT(fault_of(replaced(text, "Ada", "Bob")), HasSubstr("edited by hand"));
  EXPECT_THAT(fault_of(replaced(text, "\"is_dirty\": false", "\"is_dirty\": true")),
              HasSubstr("edited by hand"));
}

TEST(run_set_file, white_space_is_no_content) {
  std::string text = run_set_text(everything());
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
    text.insert(at, "\r");
  EXPECT_EQ(fault_of(text), "no error");
}

TEST(run_set_file, a_merge_conflict_is_named_with_its_line_and_what_to_do) {
  const std::string text = run_set_text(everything());
  const std::string conflict = replaced(
      text, "  \"created_utc\"", "<<<<<<< HEAD\n  \"created_utc\": \"x\",\n=======\n  \"created_utc\"");
  EXPECT_THAT(fault_of(conflict),
              AllOf(HasSubstr("b.json:6: "), HasSubstr("unfinished merge"), HasSubstr("--theirs")));
}

TEST(run_set_file, wherever_it_is_cut_off_it_is_refused) {
  const std::string text = run_set_text(everything());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_NE(fault_of(text.substr(0, length)), "no error") << length;
  }
  EXPECT_THAT(fault_of(text.substr(0, text.size() / 2)), AllOf(HasSubstr("b.json:"), HasSubstr("truncated")));
}

TEST(run_set_file, what_cannot_be_is_named_with_its_line) {
  const std::string text = run_set_text(everything());
  const std::string slot = "\"slot\": 2";
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": -2")),
              AllOf(HasSubstr("b.json:"), HasSubstr("processes[1].slot")));
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": 2.5")), HasSubstr("whole number"));
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": NaN")), HasSubstr("NaN"));
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": 99999999999999999999")),
              HasSubstr("99999999999999999999"));
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": \"2\"")), HasSubstr("whole number"));
  EXPECT_THAT(fault_of(replaced(text, slot, "\"slot\": 2, \"slot\": 3")), HasSubstr("twice"));
  EXPECT_THAT(fault_of(replaced(text, "\"power_w\": 1e-07", "\"power_w\": 1e999")), HasSubstr("power_w"));
  EXPECT_THAT(fault_of(replaced(text, "{\"decode_all\": [", "{\"decode_all\": [0, ")),
              HasSubstr("samples_ns.decode_all[0]"));
  EXPECT_THAT(fault_of(replaced(text, "\"multiprocessors\": 132", "\"multiprocessors\": null")),
              HasSubstr("multiprocessors"));
  EXPECT_THAT(fault_of(text + "{}"), HasSubstr("after the end"));
  EXPECT_THAT(fault_of("\xff\xfe"), HasSubstr("UTF-8"));
  EXPECT_THAT(fault_of(std::string(100000, '[')), HasSubstr("levels deep"));
  EXPECT_THAT(fault_of("{}"), HasSubstr("schema_version"));
  EXPECT_THAT(fault_of("[]"), HasSubstr("object"));
}

TEST(run_set_file, another_major_schema_is_not_possible_here_and_garbage_in_its_place_is_bad_input) {
  const std::string text = run_set_text(everything());
  EXPECT_THROW(parse_run_set(replaced(text, "\"1.1\"", "\"2.0\""), "b.json"), core::not_possible);
  EXPECT_THROW(parse_run_set(replaced(text, "\"1.1\"", "\"11.0\""), "b.json"), core::not_possible);
  EXPECT_THAT(fault_of(replaced(text, "\"1.1\"", "\"new\"")), HasSubstr("schema_version"));
  EXPECT_THAT(fault_of(replaced(text, "\"1.1\"", "1")), HasSubstr("schema_version"));
}

TEST(run_set_file, what_no_file_may_hold_is_not_written) {
  stored_run_set stored = everything();
  stored.runs.processes[0].conditions.power_w = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(run_set_text(stored), core::bad_input);
  stored = everything();
  stored.runs.processes[0].samples_ns["decode_all"][0] = 0;
  EXPECT_THROW(run_set_text(stored), core::bad_input);
}

TEST(run_set_file, a_measurement_keeps_its_id_when_it_is_accepted) {
  stored_run_set stored = everything();
  EXPECT_EQ(measurement_id(stored), stored.run_id);
  stored.run_id.clear();
  const std::string by_content = measurement_id(stored);
  stored.accepted.clear();
  EXPECT_EQ(measurement_id(stored), by_content);
  stored.runs.processes.pop_back();
  EXPECT_NE(measurement_id(stored), by_content);
}

}  // namespace
}  // namespace profgate::baselines
