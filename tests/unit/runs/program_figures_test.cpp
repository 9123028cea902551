#include "runs/program_figures.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"

namespace profgate::runs {
namespace {

namespace fs = std::filesystem;

TEST(program_figures, are_not_those_that_another_run_has_written_just_before) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = {"workload.figures=[{name: step, unit: ms, file: out.json, path: step}]"};
  const config::resolved config = config::compose(wanted);
  const fs::path folder = fs::path(testing::TempDir()) / ("program_figures." + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto write = [&] { std::ofstream(folder / "out.json") << R"({"step": 3})"; };
  program_figures figures(config, folder);
  for (int i = 0; i < 20; ++i) {
    write();
    figures.note_start();
    process_samples samples;
    EXPECT_THROW(figures.add({}, samples), core::error) << "of the run before";
    write();
    figures.add({}, samples);
    EXPECT_THAT(samples.figures.at(0).values, ::testing::ElementsAre(3));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace profgate::runs
