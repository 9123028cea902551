#include "judge_change.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace profgate::changes {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const expectation slower_attention{.pair = "p.c",
                                   .stage = "decode_all",
                                   .regresses = true,
                                   .cause = "split_attention",
                                   .op = "attn.core",
                                   .evidence = {"code", "work"},
                                   .explained_at_least = 0.75};
const expectation nothing_slower{.pair = "p.c", .stage = "decode_all"};

constexpr const char* attention = R"({"delta_ns": 90, "name": "split_attention<128>",
                     "path" : "attn.core", "text" : "+90 ns: it is slower", "changes" : ["code"]
})";

std::string verdict_json(const std::string& verdict, const std::string& causes,
                         const std::string& traced_difference_ns = "95") {
  const std::string attribution = causes.empty()
                                      ? "null"
                                      : R"({"bare_difference_ns": 100, "difference_ns": )" +
                                            traced_difference_ns + R"(, "causes": [)" + causes + "]}";
  return R"({"pair": "p.c", "duration_s": 52.4, "stages": [{"stage": "prefill", "verdict": "unchanged"},
            {"stage": "decode_all", "verdict": ")" +
         verdict + R"(", "attribution": )" + attribution + "}]}";
}

std::vector<std::string> mistakes_of(const expectation& wanted, const std::string& verdict,
                                     const std::string& causes) {
  return judge(wanted, verdict_json(verdict, causes), "verdict.json").mistakes;
}

TEST(judge_change, the_true_cause_is_right) {
  const judged_change said = judge(slower_attention, verdict_json("regressed", attention), "verdict.json");
  EXPECT_THAT(said.mistakes, IsEmpty());
  EXPECT_EQ(said.verdict, "regressed");
  EXPECT_EQ(said.first_cause, "+90 ns: it is slower");
  EXPECT_DOUBLE_EQ(said.explained.value(), 0.9);
  EXPECT_DOUBLE_EQ(said.duration_s.value(), 52.4);
}

TEST(judge_change, an_exact_change_must_be_named_even_where_it_passes) {
  const expectation wanted = {.pair = "p.c", .stage = "decode_all", .exact = "routing"};
  const auto said = [](const std::string& kind) {
    return R"({"pair": "p.c", "stages": [{"stage": "decode_all", "verdict": "unchanged", "attribution": null,
              "exact": {"changes": [{"kind": ")" +
           kind + R"("}]}}]})";
  };
  EXPECT_THAT(judge(wanted, said("routing"), "verdict.json").mistakes, IsEmpty());
  EXPECT_THAT(judge(wanted, said("new kernel"), "verdict.json").mistakes,
              ElementsAre("no exact change of the kind 'routing' was named"));
}

TEST(judge_change, what_became_faster_is_no_cause) {
  const std::string gone = R"({"delta_ns": -500, "name": "other", "text": "-500 ns: other is gone"}, )";
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", gone + attention), IsEmpty());
}

TEST(judge_change, another_kernel_operator_or_a_small_part_of_it_is_wrong) {
  const std::string other =
      R"({"delta_ns": 91, "name": "gemv", "path": "lm_head", "text": "+91 ns: gemv", "changes": ["code"]}, )";
  EXPECT_THAT(
      mistakes_of(slower_attention, "regressed", other + attention),
      ElementsAre("the first cause does not hold 'split_attention'", "the first cause is not in attn.core"));
  const std::string small =
      R"({"delta_ns": 60, "name": "split_attention", "path": "attn.core", "text": "+60 ns", "changes": ["code"]})";
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", small), ElementsAre("it explains 60 %, not 75 %"));
  expectation any_share = slower_attention;
  any_share.explained_at_least.reset();
  EXPECT_THAT(mistakes_of(any_share, "regressed", small), IsEmpty());
}

TEST(judge_change, the_evidence_must_be_among_what_changed) {
  const auto changed = [](const std::string& changes) {
    return R"({"delta_ns": 90, "name": "split_attention", "path": "attn.core", "text": "+90 ns", "changes": [)" +
           changes + "]}";
  };
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", changed(R"("moved", "work")")), IsEmpty());
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", changed(R"("moved")")),
              ElementsAre("its evidence is 'moved', not 'code' or 'work'"));
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", changed("")),
              ElementsAre("its evidence is 'none', not 'code' or 'work'"));
}

TEST(judge_change, more_than_the_whole_is_wrong) {
  const std::string large =
      R"({"delta_ns": 130, "name": "split_attention", "path": "attn.core", "text": "+", "changes": ["code"]})";
  EXPECT_THAT(mistakes_of(slower_attention, "regressed", large), ElementsAre("it explains 130 %"));
}

TEST(judge_change, a_change_that_costs_must_be_found_with_a_cause) {
  EXPECT_THAT(mistakes_of(slower_attention, "unchanged", ""),
              ElementsAre("it is unchanged, not regressed", "no cause was named"));
  EXPECT_THAT(mistakes_of(slower_attention, "inconclusive", attention),
              ElementsAre("it is inconclusive, not regressed"));
}

TEST(judge_change, a_change_that_costs_nothing_must_pass) {
  EXPECT_THAT(mistakes_of(nothing_slower, "unchanged", ""), IsEmpty());
  EXPECT_THAT(mistakes_of(nothing_slower, "improved", ""), IsEmpty());
  EXPECT_THAT(mistakes_of(nothing_slower, "regressed", attention),
              ElementsAre("it is regressed, not passed"));
  EXPECT_THAT(mistakes_of(nothing_slower, "inconclusive", ""), ElementsAre("it is inconclusive, not passed"));
}

TEST(judge_change, a_result_of_something_else_is_refused) {
  expectation other = nothing_slower;
  other.stage = "encode";
  EXPECT_THROW(judge(other, verdict_json("unchanged", ""), "verdict.json"), core::bad_input);
  other = nothing_slower;
  other.pair = "q.c";
  EXPECT_THROW(judge(other, verdict_json("unchanged", ""), "verdict.json"), core::bad_input);
}

TEST(change_expectation, says_which_line_is_wrong) {
  const auto words_for = [](const std::string& yaml) -> std::string {
    try {
      parse_expectation(yaml, "x.yaml");
    } catch (const core::bad_input& wrong) {
      return wrong.what();
    }
    return "";
  };
  const std::string start = "pair: p.c\nstage: decode_all\n";
  EXPECT_EQ(words_for(start + "verdict: passes\n"), "");
  EXPECT_THAT(words_for(start), HasSubstr("'verdict' is missing"));
  EXPECT_THAT(words_for(start + "verdict: slower\n"), HasSubstr("x.yaml:3: 'verdict: slower' means nothing"));
  EXPECT_THAT(words_for(start + "verdict: regressed\n"), HasSubstr("'cause' is missing"));
  EXPECT_EQ(words_for(start + "verdict: passes\nevidence: [code, new kernel]\n"), "");
  EXPECT_THAT(words_for("pair:\n" + start.substr(10) + "verdict: passes\n"), HasSubstr("'pair' is missing"));
  EXPECT_THAT(words_for(start + "verdict: passes\nevidence: rumour\n"),
              HasSubstr("x.yaml:4: 'rumour' is no evidence"));
  EXPECT_THAT(words_for(start + "verdict: passes\nexplained_at_least: 75\n"), HasSubstr("'75' is no share"));
}

TEST(change_expectation, every_change_has_one_that_can_be_read) {
  const std::vector<std::string> names = names_in(PROFGATE_CHANGES, {});
  EXPECT_GE(names.size(), 20U);
  for (const std::string& name : names) {
    const fs::path file = fs::path(PROFGATE_CHANGES) / (name + ".yaml");
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    EXPECT_NO_THROW(parse_expectation(text, file.string()));
  }
}

TEST(change_table, counts_what_is_right_among_the_results) {
  const fs::path folder = fs::path(::testing::TempDir()) / "profgate-change-table";
  fs::remove_all(folder);
  for (const char* name : {"costly", "free", "later"}) {
    fs::create_directories(folder / "results" / name);
    std::ofstream yaml(folder / (std::string(name) + ".yaml"));
    yaml << "pair: p.c\nstage: decode_all\nverdict: "
         << (std::string(name) == "costly" ? "regressed" : "passes")
         << "\ncause: split_attention\nevidence: code\nexplained_at_least: 0.5\n";
  }
  std::ofstream(folder / "results" / "costly" / "verdict.json") << verdict_json("regressed", attention);
  std::ofstream(folder / "results" / "free" / "verdict.json") << verdict_json("regressed", attention);
  const table all = table_of(folder, folder / "results", names_in(folder, {}));
  EXPECT_EQ(all.results, 2U);
  EXPECT_EQ(all.mistakes, 1U);
  EXPECT_THAT(all.text,
              HasSubstr("costly                 regressed regressed    right       90 %      52  +90"));
  EXPECT_THAT(all.text, HasSubstr("free                   passes    regressed    WRONG"));
  EXPECT_THAT(all.text, HasSubstr("it is regressed, not passed"));
  EXPECT_THAT(all.text, HasSubstr("later                  passes    no result"));
  EXPECT_THAT(all.text, HasSubstr("1 of 2 first causes right\n"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace profgate::changes
