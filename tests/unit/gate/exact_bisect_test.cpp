#include "gate/exact_bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profgate::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

stage_structures decoding(std::set<std::string> kernels, std::int64_t launches, std::int64_t tokens = 1) {
  return {{"decode_all", {std::move(kernels), launches, tokens, 0}}};
}

std::vector<std::string> texts(const std::vector<stage_change>& changes) {
  std::vector<std::string> lines;
  for (const stage_change& change : changes) lines.push_back(to_text(change));
  return lines;
}

class which_end_of : public testing::Test {
 protected:
  like_end of(const stage_structures& commit) const {
    return which_end(exact_difference_of(m_good, m_bad), exact_difference_of(m_good, commit));
  }
  stage_structures m_good = decoding({"a"}, 10);
  stage_structures m_bad = decoding({"a", "b"}, 11);
};

TEST_F(which_end_of, the_ends_themselves_is_clear) {
  EXPECT_EQ(of(m_good), like_end::good);
  EXPECT_EQ(of(m_bad), like_end::bad);
}

TEST_F(which_end_of, a_commit_with_other_changes_is_not_asked_about_them) {
  EXPECT_EQ(of(decoding({"a", "c"}, 10)), like_end::good);
  EXPECT_EQ(of(decoding({"a", "b", "c"}, 11)), like_end::bad);
}

TEST_F(which_end_of, a_commit_that_shows_a_part_is_still_good) {
  EXPECT_EQ(of(decoding({"a", "b"}, 10)), like_end::good);
  EXPECT_EQ(of(decoding({"a", "b"}, 12)), like_end::good) << "other numbers are another change";
  EXPECT_THAT(texts(shown_changes(exact_difference_of(m_good, m_bad),
                                  exact_difference_of(m_good, decoding({"a", "b"}, 12)))),
              ElementsAre("decode_all: new kernel: b"));
}

TEST_F(which_end_of, a_commit_of_which_less_is_known_is_not_guessed_at) {
  EXPECT_EQ(of({}), like_end::unknown);
  EXPECT_EQ(of(decoding({"a", "b"}, 11, 4)), like_end::unknown) << "it decoded more tokens";
}

TEST_F(which_end_of, a_commit_is_good_where_the_ends_lack_as_much) {
  m_good["decode_all"].graph_nodes.reset();
  EXPECT_EQ(of(decoding({"a"}, 10)), like_end::good);
}

TEST_F(which_end_of, a_commit_by_the_machine_code_of_a_kernel) {
  const auto with_code = [](const std::string& code) {
    stage_structures made = decoding({"a"}, 10);
    made["decode_all"].operations = {{"a", "attn.core", {{launch_configuration{}, 10}}, 0, code}};
    return made;
  };
  m_good = with_code("1f");
  m_bad = with_code("2e");
  EXPECT_EQ(of(with_code("1f")), like_end::good);
  EXPECT_EQ(of(with_code("2e")), like_end::bad);
  EXPECT_EQ(of(with_code("3d")), like_end::good) << "neither: it is not yet that of the bad one";
}

TEST(exact_difference_of, looks_at_all_stages_that_either_has) {
  stage_structures both = decoding({"a"}, 10);
  both["prefill"] = {{{"p"}}, 3, 1, 0};
  const exact_difference difference = exact_difference_of(decoding({"a"}, 12), both);
  EXPECT_THAT(texts(difference.changes), ElementsAre("decode_all: launches: 12 → 10"));
  EXPECT_THAT(difference.not_compared,
              ElementsAre("prefill: kernels and launches: there is no trace of the stage in the baseline"));
  EXPECT_THAT(difference.stages_in_doubt, ElementsAre("prefill"));
  EXPECT_THAT(exact_difference_of(both, both).changes, IsEmpty());
}

}  // namespace
}  // namespace profgate::gate
