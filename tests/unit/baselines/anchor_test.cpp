#include "baselines/anchor.h"

#include <gmock/gmock.h>

#include <fstream>

#include "artifacts/files.h"
#include "baselines/stored_mode.h"
#include "core/error.h"
#include "store_test.h"

namespace profgate::baselines {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class anchors : public store_test {
 protected:
  fs::path accept(double decode_ns, int on_day) {
    gate::run_set runs = made_runs(decode_ns);
    runs.identity.commit = std::string(40, static_cast<char>('a' + on_day));
    runs.created_utc = "2026-11-0" + std::to_string(on_day) + "T09:00:00Z";
    return accept_baseline(runs_of(std::move(runs), "run-" + std::to_string(on_day)), request()).file;
  }
  gate::judgement judge(double decode_ns, const std::string& anchor = "v1.0") const {
    stored_request wanted;
    wanted.baselines_dir = m_store;
    wanted.candidate.identity = made_later(decode_ns).identity;
    wanted.today = today;
    wanted.anchor = anchor_place{m_store, anchor, m_history};
    return judge_against_stored(wanted, [=](std::size_t count) { return made_later(decode_ns, count + 1); })
        .judged;
  }
};

TEST_F(anchors, stay_where_they_are_while_baselines_are_accepted) {
  const fs::path baseline = accept(9e6, 1);
  const fs::path anchor = set_anchor(m_store, baseline, "v1.0", move_anchor::no);
  const std::string text = artifacts::read_file(anchor);
  EXPECT_EQ(text, artifacts::read_file(baseline));
  accept(9.3e6, 2);
  EXPECT_EQ(artifacts::read_file(anchor), text);
  EXPECT_THAT(list_baselines(m_store), ElementsAre(baseline.lexically_relative(m_store)));
  EXPECT_THAT(list_anchors(m_store), ElementsAre(anchor.lexically_relative(m_store)));
  EXPECT_THAT(run_ids_of_baselines(m_store), ElementsAre("run-1", "run-2")) << "both are kept";
}

TEST_F(anchors, move_by_hand_only) {
  const fs::path baseline = accept(9e6, 1);
  set_anchor(m_store, baseline, "v1.0", move_anchor::no);
  accept(9.3e6, 2);
  const auto set = [&](move_anchor move) {
    return [=, this] { set_anchor(m_store, baseline, "v1.0", move); };
  };
  EXPECT_THAT(error_of(set(move_anchor::no)),
              AllOf(HasSubstr("is the anchor 'v1.0' already (2026-11-01"), HasSubstr("--force")));
  EXPECT_EQ(error_of(set(move_anchor::yes)), "no error");
  EXPECT_EQ(judge(9.3e6).since_anchor->measured_utc, "2026-11-02T09:00:00Z");
}

TEST_F(anchors, need_a_name_that_a_folder_can_have_and_a_baseline) {
  const fs::path baseline = accept(9e6, 1);
  for (const char* name : {"", "../v1", "a/b", "v 1"}) {
    EXPECT_THAT(error_of([&] { set_anchor(m_store, baseline, name, move_anchor::no); }),
                HasSubstr("cannot be the name of an anchor"))
        << name;
  }
  const fs::path never = m_store / "never.json";
  write_run_set(never, {"", made_runs(9e6), {}, ""});
  EXPECT_THAT(error_of([&] { set_anchor(m_store, never, "v1.0", move_anchor::no); }),
              HasSubstr("never accepted"));
}

TEST_F(anchors, name_the_commits_of_the_history_that_took_a_part) {
  set_anchor(m_store, accept(9e6, 1), "v1.0", move_anchor::no);
  accept(9.5e6, 2);
  accept(10e6, 3);
  const gate::judgement whole = judge(10e6);
  EXPECT_EQ(whole.overall, gate::verdict::unchanged);
  EXPECT_EQ(whole.code, core::exit_code::judged_bad);
  const gate::anchor_stage& decoding = whole.since_anchor->stages.front();
  ASSERT_EQ(decoding.parts.size(), 2U);
  EXPECT_EQ(decoding.parts[0].commit, std::string(40, 'c'));
  EXPECT_NEAR(decoding.parts[0].ratio, 0.0556, 0.001);
  EXPECT_EQ(decoding.parts[1].commit, std::string(40, 'd'));
  EXPECT_EQ(decoding.other_parts, 1U) << "the build itself";
}

TEST_F(anchors, that_are_missing_are_bad_input_before_anything_runs) {
  accept(9e6, 1);
  EXPECT_THAT(error_of([&] { judge(9e6); }),
              AllOf(HasSubstr("gate.anchor names 'v1.0', and there is no such anchor in"),
                    HasSubstr("profgate baseline anchor <pair> --name v1.0")));
  set_anchor(m_store, m_store / list_baselines(m_store).front(), "v2.0", move_anchor::no);
  EXPECT_THAT(error_of([&] { judge(9e6); }), HasSubstr("(there are v2.0)"));
  EXPECT_EQ(judge(9e6, "v2.0").code, core::exit_code::good);
}

TEST_F(anchors, judge_a_build_that_has_no_baseline) {
  const fs::path baseline = accept(9e6, 1);
  set_anchor(m_store, baseline, "v1.0", move_anchor::no);
  fs::remove(baseline);
  const gate::judgement crept = judge(10e6);
  EXPECT_EQ(crept.overall, gate::verdict::no_baseline);
  EXPECT_EQ(crept.code, core::exit_code::judged_bad);
  EXPECT_THAT(crept.failed_by.value_or(""), HasSubstr("since v1.0 (2026-11-01"));
  EXPECT_EQ(judge(9e6).code, core::exit_code::not_possible) << "the baseline's own verdict stays";
}

TEST_F(anchors, that_a_build_cannot_be_compared_with_run_nothing) {
  const fs::path baseline = accept(9e6, 1);
  set_anchor(m_store, baseline, "v1.0", move_anchor::no);
  stored_request wanted;
  wanted.baselines_dir = m_store;
  wanted.candidate.identity = made_later(9e6).identity;
  wanted.candidate.identity.is_profiled = true;
  wanted.anchor = anchor_place{m_store, "v1.0", m_history};
  const auto refuse = [](std::size_t) -> gate::run_set { throw std::logic_error("was run"); };
  EXPECT_EQ(judge_against_stored(wanted, refuse).judged.overall, gate::verdict::not_comparable);
  fs::remove(baseline);
  EXPECT_EQ(judge_against_stored(wanted, refuse).judged.overall, gate::verdict::no_baseline);
}

TEST_F(anchors, that_are_damaged_are_replaced_by_force) {
  const fs::path baseline = accept(9e6, 1);
  const fs::path anchor = set_anchor(m_store, baseline, "v1.0", move_anchor::no);
  std::ofstream(anchor) << "{";
  EXPECT_THAT(error_of([&] { judge(9e6); }), HasSubstr("--force"));
  set_anchor(m_store, baseline, "v1.0", move_anchor::yes);
  EXPECT_EQ(judge(9e6).code, core::exit_code::good);
}

TEST_F(anchors, of_another_device_say_so_and_leave_the_verdict) {
  set_anchor(m_store, accept(9e6, 1), "v1.0", move_anchor::no);
  fs::rename(m_store / "@v1.0/qwen3-0.6b/decode-b1", m_store / "@v1.0/qwen3-0.6b/other");
  const gate::judgement whole = judge(9e6);
  EXPECT_EQ(whole.code, core::exit_code::good);
  EXPECT_THAT(
      whole.since_anchor->not_judged_because,
      AllOf(HasSubstr("it has no baseline for qwen3-0.6b.decode-b1"), HasSubstr("NVIDIA H200 (132 SMs)")));
}

TEST_F(anchors, are_judged_without_a_history_or_with_a_damaged_one) {
  set_anchor(m_store, accept(9e6, 1), "v1.0", move_anchor::no);
  accept(10e6, 2);
  std::ofstream(m_history)
      << "no database at all, but more than a hundred bytes of text, so that SQLite looks "
         "at it and finds no header in it";
  const gate::judgement whole = judge(10e6);
  EXPECT_EQ(whole.code, core::exit_code::judged_bad);
  EXPECT_THAT(whole.since_anchor->stages.front().unknown_parts_because, HasSubstr("history.db"));
  fs::remove(m_history);
  EXPECT_THAT(judge(10e6).since_anchor->stages.front().unknown_parts_because,
              AllOf(HasSubstr("a file of this machine, " + m_history.string()), HasSubstr("none here yet")));
}

}  // namespace
}  // namespace profgate::baselines
