#include "run_set_source.h"

#include "../artifacts/test_folder.h"
#include "../gate/made_runs.h"

namespace profgate::cli {
namespace {

namespace fs = std::filesystem;

class run_set_source : public artifacts::folder_test {};

TEST_F(run_set_source, has_one_id_however_its_folder_is_typed) {
  const fs::path run = folder() / "some-run";
  baselines::write_run_set(run / baselines::candidate_runs_name, {"", gate::made_runs(9e6), {}, ""});
  for (const char* typed : {"some-run", "some-run/", "some-run//", "some-run/.", "./some-run/"})
    EXPECT_EQ(run_set_of(folder() / typed).run_id, "some-run") << typed;
  EXPECT_EQ(run_set_of(run / baselines::candidate_runs_name).run_id, "") << "a file is no run";
}

}  // namespace
}  // namespace profgate::cli
