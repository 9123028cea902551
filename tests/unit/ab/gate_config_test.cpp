#include "ab/gate_config.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace profgate::ab {
namespace {

config::resolved with(const std::vector<std::string>& overrides) {
  config::request wanted;
  wanted.runner = "";
  wanted.command_line_overrides = overrides;
  return config::compose(wanted);
}

/// As a program of its own runs: nsys records all of it.
config::resolved of_program(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), "nsys.gating_nvtx=false");
  return with(overrides);
}

TEST(gate_config, a_process_does_many_short_rounds_and_measures_no_ceilings) {
  const config::resolved config =
      gate_config(with({"workload.decode_tokens=64", "gate.iterations=30", "gate.decode_tokens=16"}));
  EXPECT_EQ(config.integer("stage1.repetitions"), 30);
  EXPECT_EQ(config.integer("workload.decode_tokens"), 16);
  EXPECT_FALSE(config.boolean("stage1.ceilings"));
}

TEST(gate_config, fewer_tokens_than_the_gate_allows_stay) {
  EXPECT_EQ(gate_config(with({"workload.decode_tokens=4"})).integer("workload.decode_tokens"), 4);
  EXPECT_EQ(gate_config(with({"workload.decode_tokens=64", "gate.decode_tokens=null"}))
                .integer("workload.decode_tokens"),
            64);
  EXPECT_TRUE(gate_config(with({})).is_null("workload.decode_tokens"));
}

TEST(gate_config, the_hash_is_of_what_is_computed) {
  const auto hash = [](const std::vector<std::string>& overrides) {
    return config_sha256({with(overrides), "x", {"profgate-llm"}, true, true});
  };
  const std::string plain = hash({"workload.decode_tokens=8"});
  EXPECT_EQ(plain.size(), 64U);
  EXPECT_NE(hash({"workload.decode_tokens=9"}), plain);
  EXPECT_NE(hash({"workload.decode_tokens=8", "gate.iterations=40"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "gate.seed=99"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "artifacts.stage2_dir=elsewhere"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "workload.planted_delay_ns=5000"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "workload.profile_range=generate"}), plain);
}

TEST(gate_config, the_hash_is_of_what_the_inputs_hold_and_not_of_where_they_lie) {
  const auto hash = [](const std::vector<std::string>& overrides) {
    return config_sha256({with(overrides), "x", {"profgate-llm"}, true, true});
  };
  const std::string plain = hash({});
  EXPECT_EQ(hash({"inputs.mode=base"}), plain) << "the default: baselines of text stay";
  const std::string page = hash({"inputs.synthetic_image.width=20", "inputs.synthetic_image.height=30"});
  EXPECT_NE(page, plain);
  EXPECT_NE(hash({"inputs.synthetic_image.width=21", "inputs.synthetic_image.height=30"}), page);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("gate_config." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto with_manifest = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    return hash({"inputs.manifest=" + (folder / name).string()});
  };
  const std::string one = with_manifest("a.yaml", "- {prompt_tokens: 4}");
  EXPECT_NE(one, plain);
  EXPECT_EQ(with_manifest("b.yaml", "- {prompt_tokens: 4}"), one);
  EXPECT_NE(with_manifest("a.yaml", "- {prompt_tokens: 5}"), one);
  std::ofstream(folder / "page.ppm") << "a page";
  const std::string page_seen = with_manifest("a.yaml", "- {image: page.ppm, prompt_tokens: 4}");
  std::ofstream(folder / "page.ppm") << "another";
  EXPECT_NE(with_manifest("a.yaml", "- {image: page.ppm, prompt_tokens: 4}"), page_seen);
  std::filesystem::remove_all(folder);
}

TEST(gate_config, the_hash_of_a_program_is_of_its_command_too_on_whatever_machine) {
  const auto hash = [](const std::vector<std::string>& command, bool is_of_engine = false) {
    return config_sha256({of_program({"workload.stages=[process]"}), "x", command, false, is_of_engine});
  };
  const std::string plain = hash({"/home/ada/build/my_bench"});
  EXPECT_NE(hash({"/home/ada/build/my_bench", "--batch", "64"}), plain);
  EXPECT_NE(hash({"/home/ada/build/other_bench"}), plain);
  EXPECT_EQ(hash({"./my_bench"}), plain);
  EXPECT_EQ(hash({"python3", "/home/ada/bench.py", "--weights=/data/x/", "a/b"}),
            hash({"/opt/venv/bin/python3", "/srv/bench.py", "--weights=/mnt/data/x", "a/b"}));
  EXPECT_NE(hash({"python3", "/home/ada/bench.py"}), hash({"python3", "/home/ada/other.py"}));
  EXPECT_NE(hash({"x", "a b"}), hash({"x", "a", "b"}));
  EXPECT_NE(hash({"x", "c/b"}), hash({"x", "a/b"})) << "a relative path is the same on every machine";
  EXPECT_EQ(hash({"profgate-llm", "--new-option"}, true), hash({"profgate-llm"}, true))
      << "baselines of the engine stay valid, whatever it is told beside its settings";
}

TEST(gate_config, the_hash_of_a_server_is_of_its_client_too_and_not_of_how_it_is_waited_for) {
  const auto server = [](const std::string& client, const std::string& readiness) {
    return arm_build{of_program({"workload.stages=[process]", "workload.client=" + client, readiness}),
                     "x",
                     {"serve"},
                     false};
  };
  const std::string on_port = "workload.server.ready_port=8000";
  const std::string plain = config_sha256(server("[/home/ada/ask, 5]", on_port));
  EXPECT_NE(config_sha256({of_program({"workload.stages=[process]"}), "x", {"serve"}, false}), plain);
  EXPECT_NE(config_sha256(server("[/home/ada/ask, 6]", on_port)), plain);
  EXPECT_EQ(config_sha256(server("[/srv/ask, 5]", "workload.server.ready_text=listening")), plain);
  EXPECT_EQ(settings_sha256(server("[tell]", on_port)), settings_sha256(server("[ask]", on_port)))
      << "the clients of two servers that were typed are parts of their commands";
}

TEST(gate_config, a_program_that_does_not_time_itself_has_one_stage_of_one_sample) {
  const arm_build plain{of_program({"workload.stages=[process]"}), "x", {"prog"}, false};
  const comparison_settings settings = settings_of(plain);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("process"));
  EXPECT_EQ(settings.reduction.discarded_iterations, 0U);
  EXPECT_EQ(settings.reduction.min_iterations, 1U);
  EXPECT_EQ(settings.traced_processes, 0U);
}

TEST(gate_config, a_program_that_does_not_time_itself_is_judged_and_traced_by_the_ranges_it_is_told_to_have) {
  const arm_build plain{with({"gate.stages=[decode_all]"}), "x", {"prog"}, false};
  const comparison_settings settings = settings_of(plain);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("decode_all"));
  EXPECT_EQ(settings.reduction.min_iterations, 1U) << "a process is one sample, its median";
  EXPECT_GT(settings.traced_processes, 0U);
}

TEST(gate_config, none_named_are_all_stages_of_the_workload) {
  EXPECT_THAT(gated_stages(with({}), true), ::testing::ElementsAre("prefill", "decode_all"));
  const arm_build foreign{of_program({"workload.stages=[load, compute]"}), "x", {"prog"}, false};
  EXPECT_THAT(settings_of(foreign).stages, ::testing::ElementsAre("load", "compute"));
  EXPECT_THAT(gated_stages(of_program({}), false), ::testing::ElementsAre("process"))
      << "nobody named the stages of the contract";
  EXPECT_THAT(
      gated_stages(of_program({"workload.adapter=pytorch", "workload.stages=[prefill, decode_all, forward]"}),
                   false),
      ::testing::ElementsAre("prefill", "decode_all"))
      << "whether it is a decoder turns out when it has run";
}

TEST(gate_config, figures_are_judged_like_stages_where_their_unit_says_which_way_is_better) {
  const std::string printed =
      "workload.figures=[{name: load, unit: ms, output: 'load ([0-9]+)'}, {name: rate, unit: tokens/s, "
      "output: 'rate ([0-9]+)'}, {name: memory, unit: MB, output: 'memory ([0-9]+)'}]";
  const auto settings_with = [&](const std::vector<std::string>& further) {
    std::vector<std::string> all = {printed};
    all.insert(all.end(), further.begin(), further.end());
    return settings_of({of_program(all), "x", {"prog"}, false});
  };
  const comparison_settings alone = settings_with({"workload.device=cpu"});
  EXPECT_THAT(alone.stages, ::testing::ElementsAre("load", "rate")) << "and not the process as well";
  EXPECT_THAT(alone.traced_stages(), ::testing::IsEmpty());
  EXPECT_EQ(alone.traced_processes, 0U);
  EXPECT_EQ(alone.units_of_figures.at("memory"), "MB");

  const comparison_settings beside = settings_with({"workload.stages=[load, compute]"});
  EXPECT_THAT(beside.stages, ::testing::ElementsAre("load", "compute", "rate"));
  EXPECT_THAT(beside.traced_stages(), ::testing::ElementsAre("load", "compute"));
  EXPECT_GT(beside.traced_processes, 0U);

  EXPECT_THAT(settings_with({"gate.stages=[rate]"}).stages, ::testing::ElementsAre("rate"));
  EXPECT_THROW(settings_with({"gate.stages=[memory]"}), core::bad_input);
}

TEST(gate_config, the_rules_come_from_the_settings) {
  const arm_build build{with({"gate.stages=[decode_all]", "gate.confirm_ratio=0.04", "gate.seed=5",
                              "gate.ignored_difference_us=9", "gate.launches=fail"}),
                        "x",
                        {"prog"},
                        true};
  const comparison_settings settings = settings_of(build);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("decode_all"));
  EXPECT_EQ(settings.rules.confirm_ratio, 0.04);
  EXPECT_EQ(settings.rules.ignored_difference_ns, 9000);
  EXPECT_EQ(settings.seed, 5U);
  EXPECT_TRUE(settings.compares_structure);
}

}  // namespace
}  // namespace profgate::ab
