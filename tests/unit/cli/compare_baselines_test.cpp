#include "compare_baselines.h"

#include <gtest/gtest.h>

#include "../artifacts/test_folder.h"
#include "../gate/made_runs.h"
#include "baselines/baseline_store.h"

namespace profgate::cli {
namespace {

class compare_baselines : public artifacts::folder_test {};

TEST_F(compare_baselines, are_found_by_a_pair_that_their_file_names_do_not_spell) {
  const std::string pair = "Org+Model.Decode-B1";
  gate::run_set runs = gate::made_runs(9e6);
  runs.identity.pair = pair;
  baselines::write_run_set(folder() / baselines::baseline_name(runs.identity), {"", runs, {}, ""});
  compare_place place;
  place.baselines_dir = folder();
  const auto side = side_of_baseline(pair, place);
  ASSERT_TRUE(side);
  EXPECT_EQ(side->name, "baseline of " + pair);
  EXPECT_FALSE(side_of_baseline("Org+Model.Decode-B2", place));
}

}  // namespace
}  // namespace profgate::cli
