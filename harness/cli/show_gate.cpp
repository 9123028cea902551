#include "show_gate.h"

#include <fmt/format.h>

#include <cstdio>

#include "artifacts/atomic_file.h"
#include "installation.h"
#include "render/gate_views.h"

namespace profgate::cli {

core::exit_code show_gate(const gate::judgement& whole, const std::filesystem::path& output_dir) {
  std::filesystem::create_directories(output_dir);
  render::render_gate(whole, find_installation().templates_dir, output_dir, artifacts::write_file_atomically);
  fmt::print("{}\n", render::ctest_measurements(whole));
  for (const std::string& line : render::gate_lines(whole)) fmt::print("{}\n", line);
  std::fflush(stdout);
  return whole.code;
}

}  // namespace profgate::cli
