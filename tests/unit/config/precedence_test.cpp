#include <gmock/gmock.h>

#include "conf_folder.h"

namespace profgate::config {
namespace {

using ::testing::ElementsAre;

class precedence : public conf_folder {};

TEST_F(precedence, default_below_runner_below_group_below_overrides) {
  EXPECT_EQ(compose(m_request).integer("stage1.repetitions"), 5);
  EXPECT_EQ(compose(m_request).origin("stage1.repetitions"), "default");

  const std::string runner =
      write("runner/stage2.yaml", "defaults:\n  - workload: w\nworkload:\n  batch: 2\n");
  write("workload/w.yaml", "name: w\n");
  EXPECT_EQ(compose(m_request).integer("workload.batch"), 2);
  EXPECT_EQ(compose(m_request).origin("workload.batch"), runner + ":4");

  const std::string group = write("workload/w.yaml", "name: w\nbatch: 3\n");
  EXPECT_EQ(compose(m_request).integer("workload.batch"), 3);
  EXPECT_EQ(compose(m_request).origin("workload.batch"), group + ":2");

  m_request.pair_overrides = {"workload.batch=4"};
  EXPECT_EQ(compose(m_request).integer("workload.batch"), 4);
  EXPECT_EQ(compose(m_request).origin("workload.batch"), "profgate_add_workload");

  m_request.environment_overrides = {"workload.batch=5"};
  EXPECT_EQ(compose(m_request).integer("workload.batch"), 5);
  EXPECT_EQ(compose(m_request).origin("workload.batch"), "PROFGATE_OVERRIDES");

  m_request.command_line_overrides = {"workload.batch=6", "workload.batch=7"};
  EXPECT_EQ(compose(m_request).integer("workload.batch"), 7);
  EXPECT_EQ(compose(m_request).origin("workload.batch"), "command line");
}

TEST_F(precedence, of_a_choice_is_that_of_a_value) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    write(std::string("hardware/") + name + ".yaml", std::string("name: ") + name + "\n");
  }
  write("runner/stage2.yaml", "defaults:\n  - hardware: a\n");
  EXPECT_EQ(compose(m_request).text("hardware.name"), "a");
  write("workload/w.yaml", "defaults:\n  - hardware: b\n");
  m_request.workload_choice = "w";
  EXPECT_EQ(compose(m_request).text("hardware.name"), "b");
  m_request.hardware_choice = "c";
  EXPECT_EQ(compose(m_request).text("hardware.name"), "c");
  m_request.pair_overrides = {"hardware=d"};
  EXPECT_EQ(compose(m_request).text("hardware.name"), "d");
  m_request.environment_overrides = {"hardware=e"};
  EXPECT_EQ(compose(m_request).text("hardware.name"), "e");
  m_request.command_line_overrides = {"hardware=f"};
  EXPECT_EQ(compose(m_request).text("hardware.name"), "f");
  m_request.command_line_overrides = {"hardware=null"};
  EXPECT_TRUE(compose(m_request).is_null("hardware.name"));
}

TEST_F(precedence, a_file_lies_over_its_base) {
  write("profiling/ncu/deep.yaml", "set: roofline\nsections: [A]\n");
  write("profiling/ncu/light.yaml", "defaults:\n  - deep\nset: null\n");
  m_request.command_line_overrides = {"profiling/ncu=light"};
  const resolved composed = compose(m_request);
  EXPECT_TRUE(composed.is_null("ncu.set"));
  EXPECT_THAT(composed.list("ncu.sections"), ElementsAre("A"));
}

TEST_F(precedence, a_files_choice_wins_over_its_bases_choice) {
  write("hardware/a.yaml", "name: a\n");
  write("hardware/b.yaml", "name: b\n");
  write("workload/base.yaml", "defaults:\n  - hardware: a\n");
  write("workload/w.yaml", "defaults:\n  - base\n  - hardware: b\n");
  m_request.workload_choice = "w";
  EXPECT_EQ(compose(m_request).text("hardware.name"), "b");
}

TEST_F(precedence, a_choice_may_follow_a_key_of_the_runner) {
  write("runner/stage2.yaml", "defaults:\n  - profiling/ncu: ${run.mode}\nrun:\n  mode: deep\n");
  write("profiling/ncu/deep.yaml", "set: roofline\n");
  write("profiling/ncu/light.yaml", "set: basic\n");
  EXPECT_EQ(compose(m_request).text("ncu.set"), "roofline");
  m_request.command_line_overrides = {"run.mode=light"};
  EXPECT_EQ(compose(m_request).text("ncu.set"), "basic");
}

TEST_F(precedence, the_first_conf_dir_hides_the_same_file_in_later_ones) {
  write("workload/smoke.yaml", "name: profgate's\n");
  write("workload/other.yaml", "name: other\n");
  const std::filesystem::path own = m_root / "project-conf";
  std::filesystem::create_directories(own / "workload");
  std::ofstream(own / "workload/smoke.yaml") << "name: the project's\n";
  m_request.conf_dirs = {own, m_root / "does-not-exist", conf()};
  m_request.workload_choice = "smoke";
  EXPECT_EQ(compose(m_request).text("workload.name"), "the project's");
  m_request.workload_choice = "other";
  EXPECT_EQ(compose(m_request).text("workload.name"), "other");
  EXPECT_THAT(choices(m_request.conf_dirs, "workload"), ElementsAre("other", "smoke"));
}

TEST_F(precedence, input_paths_start_at_their_file_and_in_overrides_at_the_project) {
  write("model/llm/m.yaml", "reference_file: ../reference.json\n");
  m_request.model_choice = "llm/m";
  m_request.command_line_overrides = {"model.checkpoint=checkpoints/x", "artifacts.stage2_dir=out"};
  const resolved composed = compose(m_request);
  EXPECT_EQ(composed.text("model.reference_file"), (conf() / "model/reference.json").string());
  EXPECT_EQ(composed.text("model.checkpoint"), (m_root / "checkpoints/x").string());
  EXPECT_EQ(composed.text("artifacts.stage2_dir"), "out");
}

TEST_F(precedence, hardware_is_found_by_the_name_the_driver_gives_it) {
  write("hardware/a.yaml", "device_names: [NVIDIA A]\n");
  write("hardware/b.yaml", "device_names: [NVIDIA B, NVIDIA B SXM]\n");
  EXPECT_EQ(hardware_for_device(m_request.conf_dirs, "NVIDIA B SXM"), "b");
  EXPECT_EQ(hardware_for_device(m_request.conf_dirs, "NVIDIA C"), std::nullopt);
}

}  // namespace
}  // namespace profgate::config
