#include "requirements.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>

#include "core/error.h"

namespace profgate::cli {
namespace {

using profilers::health;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class requirements : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("PROFGATE_REQUIRE"); }
  static core::error thrown_by(const std::function<void()>& call) {
    try {
      call();
    } catch (const core::error& thrown) {
      return thrown;
    }
    return {core::exit_code::good, "", ""};
  }
};

TEST_F(requirements, are_words_between_commas) {
  EXPECT_TRUE(required_here().empty());
  ::setenv("PROFGATE_REQUIRE", "nsys, gpu,", 1);
  EXPECT_THAT(required_here(), ElementsAre("gpu", "nsys"));
}

TEST_F(requirements, of_an_unknown_name_are_refused_with_the_nearest) {
  ::setenv("PROFGATE_REQUIRE", "gpu,basline", 1);
  const core::error refused = thrown_by([] { required_here(); });
  EXPECT_EQ(refused.code(), core::exit_code::bad_input);
  EXPECT_THAT(refused.what(), HasSubstr("PROFGATE_REQUIRE: nothing called 'basline'"));
  EXPECT_EQ(refused.remedy(), "did you mean 'baseline'?");
  ::setenv("PROFGATE_REQUIRE", "everything", 1);
  EXPECT_EQ(thrown_by([] { required_here(); }).remedy(), "name any of gpu, nsys, ncu, baseline");
}

TEST_F(requirements, turn_a_skip_into_a_failure) {
  const auto skip = [] { skip_unless_required("gpu", "no GPU: none", "get one"); };
  ::setenv("PROFGATE_REQUIRE", "nsys", 1);
  EXPECT_EQ(thrown_by(skip).code(), core::exit_code::not_possible);
  ::setenv("PROFGATE_REQUIRE", "gpu", 1);
  const core::error failed = thrown_by(skip);
  EXPECT_EQ(failed.code(), core::exit_code::failed);
  EXPECT_STREQ(failed.what(), "PROFGATE_REQUIRE requires 'gpu': no GPU: none");
  EXPECT_THAT(failed.remedy(), AllOf(HasSubstr("get one"), HasSubstr("take 'gpu' out")));
}

TEST_F(requirements, of_the_doctor_are_not_met_by_what_is_missing_or_broken) {
  const std::vector<check> checks = {{"gpu", health::missing, "no driver", ""},
                                     {"nsys", health::degraded, "old", ""},
                                     {"ncu", health::broken, "does not start", ""}};
  EXPECT_THAT(unmet({"gpu", "nsys", "ncu"}, checks), ElementsAre("gpu: no driver", "ncu: does not start"));
  EXPECT_TRUE(unmet({}, checks).empty());
}

}  // namespace
}  // namespace profgate::cli
