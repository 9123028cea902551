#include "baselines/stored_mode.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/error.h"
#include "gate/process_runs.h"
#include "store_test.h"

namespace profgate::baselines {
namespace {

namespace fs = std::filesystem;
using gate::verdict;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class stored_mode : public store_test {
 protected:
  void accept(double decode_ns) { accept_baseline(runs_of(made_runs(decode_ns)), store_test::request()); }

  stored_request request() const {
    stored_request wanted;
    wanted.baselines_dir = m_store;
    wanted.candidate = made_later(9e6, 0);
    wanted.today = today;
    wanted.accept_hint = "profgate baseline accept run";
    return wanted;
  }

  /// Runs as the A/B runner does: one that only warms up, then `count`.
  run_more processes_of(double decode_ns) {
    return [this, decode_ns](std::size_t count) {
      m_asked.push_back(count);
      return made_later(decode_ns, count + 1);
    };
  }

  std::vector<std::size_t> m_asked;
};

TEST_F(stored_mode, without_a_baseline_it_is_skipped_and_says_how_to_make_one) {
  const stored_outcome outcome = judge_against_stored(request(), processes_of(9e6));
  EXPECT_EQ(outcome.judged.overall, verdict::no_baseline);
  EXPECT_EQ(outcome.judged.code, core::exit_code::not_possible);
  EXPECT_THAT(outcome.judged.reason,
              AllOf(HasSubstr("there is none for qwen3-0.6b.decode-b1"), HasSubstr("NVIDIA H200 (132 SMs)"),
                    HasSubstr("profgate baseline accept run")));
  EXPECT_THAT(m_asked, IsEmpty());
}

TEST_F(stored_mode, runs_what_a_judgement_lacks) {
  accept(9e6);
  const stored_outcome same = judge_against_stored(request(), processes_of(9.1e6));
  EXPECT_EQ(same.judged.overall, verdict::unchanged);
  EXPECT_THAT(m_asked, ElementsAre(8));
  EXPECT_EQ(same.candidate.processes.size(), 9U);
  EXPECT_EQ(judge_against_stored(request(), processes_of(10e6)).judged.code, core::exit_code::judged_bad);
}

TEST_F(stored_mode, what_was_run_says_which_libraries_it_computes_with) {
  gate::run_set measured = made_runs(9e6);
  measured.identity.versions["cublaslt"] = "13.1.0";
  accept_baseline(runs_of(measured), store_test::request());
  const auto warnings = [&](const std::string& version) {
    const run_more with_library = [&](std::size_t count) {
      gate::run_set runs = made_later(9e6, count + 1);
      runs.identity.versions["cublaslt"] = version;
      return runs;
    };
    return judge_against_stored(request(), with_library).judged.warnings;
  };
  EXPECT_THAT(warnings("13.1.0"), ::testing::Not(::testing::Contains(HasSubstr("cublaslt"))));
  EXPECT_THAT(warnings("13.2.0"),
              ::testing::Contains("cublaslt was 13.1.0 in the baseline and is 13.2.0 now"));
}

TEST_F(stored_mode, what_was_run_says_when) {
  accept(9e6);
  stored_request wanted = request();
  wanted.candidate.created_utc.clear();
  EXPECT_EQ(judge_against_stored(wanted, processes_of(9e6)).candidate.created_utc, "2026-11-15T09:00:00Z");
}

TEST_F(stored_mode, adds_to_what_is_there_and_repeats_what_was_spoiled) {
  accept(9e6);
  stored_request wanted = request();
  wanted.candidate = made_later(9e6, 6);
  bool is_first_call = true;
  const stored_outcome outcome = judge_against_stored(wanted, [&](std::size_t count) {
    m_asked.push_back(count);
    gate::run_set more = made_later(9e6, count + 1);
    if (is_first_call) more.processes.back().spoiled_by = "another process";
    is_first_call = false;
    return more;
  });
  EXPECT_THAT(m_asked, ElementsAre(3, 1)) << "5 of 6 count, then 2 of 3 survive";
  EXPECT_EQ(outcome.judged.overall, verdict::unchanged);
  EXPECT_EQ(stage_medians_ns(outcome.candidate, "decode_all", {}).size(), 8U);
  std::set<std::size_t> slots;
  for (const gate::process_record& process : outcome.candidate.processes) slots.insert(process.slot);
  EXPECT_EQ(slots.size(), outcome.candidate.processes.size());
}

TEST_F(stored_mode, gives_up_on_a_machine_that_spoils_every_run) {
  accept(9e6);
  const stored_outcome outcome = judge_against_stored(request(), [&](std::size_t count) {
    m_asked.push_back(count);
    gate::run_set more = made_later(9e6, count + 1);
    for (gate::process_record& process : more.processes) process.spoiled_by = "another process";
    return more;
  });
  EXPECT_EQ(outcome.judged.overall, verdict::missing);
  EXPECT_EQ(m_asked.size(), 3U);
}

TEST_F(stored_mode, does_not_run_for_what_cannot_be_compared) {
  accept(9e6);
  stored_request wanted = request();
  wanted.candidate.identity.is_profiled = true;
  EXPECT_EQ(judge_against_stored(wanted, processes_of(9e6)).judged.overall, verdict::not_comparable);
  EXPECT_THAT(m_asked, IsEmpty());
}

TEST_F(stored_mode, a_device_that_only_the_workload_can_name_is_found_out_by_running) {
  accept(9e6);
  stored_request wanted = request();
  wanted.candidate = {};
  EXPECT_EQ(judge_against_stored(wanted, processes_of(9e6)).judged.overall, verdict::unchanged);
  EXPECT_THAT(m_asked, ElementsAre(8));
}

TEST_F(stored_mode, says_that_another_device_has_a_baseline) {
  accept(9e6);
  stored_request wanted = request();
  wanted.candidate.identity.device_name = "NVIDIA H100";
  EXPECT_THAT(judge_against_stored(wanted, {}).judged.reason,
              AllOf(HasSubstr("there is none for"),
                    HasSubstr("1 of the pair with other settings, commands or devices")));
}

TEST_F(stored_mode, a_damaged_baseline_is_an_error_and_another_schema_is_not_comparable) {
  accept(9e6);
  const fs::path file = m_store / baseline_name(made_runs(9e6).identity);
  std::string text = run_set_text(runs_of(made_runs(9e6)));
  std::ofstream(file) << text.substr(0, text.size() / 2);
  EXPECT_THROW(judge_against_stored(request(), {}), core::bad_input);
  std::ofstream(file) << text.replace(text.find("\"1.1\""), 5, "\"2.0\"");
  const gate::judgement judged = judge_against_stored(request(), {}).judged;
  EXPECT_EQ(judged.overall, verdict::not_comparable);
  EXPECT_THAT(judged.reason, HasSubstr("schema 2.0"));
}

}  // namespace
}  // namespace profgate::baselines
