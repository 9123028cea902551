#include <gmock/gmock.h>
#include <unistd.h>

#include "baselines/baseline_store.h"
#include "judging.h"
#include "run_set_source.h"

namespace profgate::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

gate::build_identity made_identity() {
  gate::build_identity identity;
  identity.pair = "m.c";
  identity.model = "m";
  identity.config_sha256 = std::string(64, 'c');
  identity.device_name = "NVIDIA H200";
  identity.multiprocessors = 132;
  return identity;
}

/// As the A/B runner gives them: one that warms up, then `count`.
gate::run_set made_processes(std::size_t count, std::int64_t level_ns) {
  gate::run_set runs;
  runs.identity = made_identity();
  runs.created_utc = "2026-11-15T09:00:00Z";
  for (std::size_t slot = 0; slot <= count; ++slot) {
    gate::process_record process;
    process.slot = slot;
    const auto offset = static_cast<std::int64_t>(slot);
    for (std::int64_t i = 0; i < 23; ++i)
      process.samples_ns["decode_all"].push_back(level_ns + 1000 * offset + i);
    runs.processes.push_back(std::move(process));
  }
  return runs;
}

class stored_gate_of_a_step : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(m_project);
    fs::create_directories(m_run_dir);
    m_manifest.pair = "m.c";
    m_manifest.project_dir = m_project;
    m_manifest.command_has_placeholders = true;
  }
  void TearDown() override { fs::remove_all(m_project); }

  gate::judgement judge(std::int64_t level_ns) {
    step_context context{m_manifest, m_config, m_parts, m_stage2_dir, m_run_dir, m_status, m_display};
    return judge_against_stored(context, made_identity(),
                                [=](std::size_t count) { return made_processes(count, level_ns); });
  }

  fs::path m_project = fs::temp_directory_path() / ("profgate-stored-gate-" + std::to_string(::getpid()));
  fs::path m_stage2_dir = m_project / "tmp/stage2";
  fs::path m_run_dir = m_stage2_dir / "20261115-090000-m.c";
  pair_manifest m_manifest;
  config::resolved m_config = config::parse_resolved("{}", "defaults");
  installation m_parts;
  artifacts::step_status m_status;
  progress m_display{"test"};
};

TEST_F(stored_gate_of_a_step, runs_nothing_without_a_baseline_and_judges_by_an_accepted_one) {
  const gate::judgement first = judge(9'000'000);
  EXPECT_EQ(first.code, core::exit_code::not_possible);
  EXPECT_THAT(first.reason, HasSubstr("profgate baseline record m.c"));
  EXPECT_FALSE(fs::exists(m_run_dir / "gate" / baselines::candidate_runs_name));

  baselines::stored_run_set recorded;
  recorded.runs = made_processes(10, 9'000'000);
  baselines::accept_request accept;
  accept.baselines_dir = m_project / "conf/baselines";
  accept.history_file = m_project / "history.db";
  accept.reason = "first";
  accept.author = "Ada";
  baselines::accept_baseline(recorded, accept);

  EXPECT_EQ(judge(9'000'000).overall, gate::verdict::unchanged);
  EXPECT_EQ(run_set_of(m_run_dir).run_id, "20261115-090000-m.c") << "so that it can be accepted as well";
  EXPECT_EQ(judge(12'000'000).code, core::exit_code::judged_bad);
  EXPECT_THAT(judge(12'000'000).look_deeper, HasSubstr((m_run_dir / "gate/candidate.runs.json").string()))
      << "the run itself decodes more tokens than the baseline";
}

TEST_F(stored_gate_of_a_step, holds_a_loss_against_the_anchor_of_its_configuration) {
  const fs::path baselines_dir = m_project / "conf/baselines";
  const auto accept = [&](std::int64_t level_ns) {
    baselines::stored_run_set recorded;
    recorded.runs = made_processes(10, level_ns);
    baselines::accept_request request;
    request.baselines_dir = baselines_dir;
    request.history_file = m_project / "history.db";
    request.reason = "measured";
    request.author = "Ada";
    return baselines::accept_baseline(recorded, request).file;
  };
  const fs::path baseline = accept(9'000'000);
  m_config = config::parse_resolved("{gate: {anchor: v1.0}}", "a configuration");
  EXPECT_THROW(judge(9'000'000), core::bad_input) << "there is none of that name";
  baselines::set_anchor(baselines_dir, baseline, "v1.0", baselines::move_anchor::no);
  EXPECT_EQ(judge(9'100'000).code, core::exit_code::good);
  accept(10'000'000);
  const gate::judgement crept = judge(10'000'000);
  EXPECT_EQ(crept.overall, gate::verdict::unchanged);
  EXPECT_EQ(crept.code, core::exit_code::judged_bad);
  EXPECT_THAT(crept.reason, HasSubstr("since v1.0 ("));
}

}  // namespace
}  // namespace profgate::cli
