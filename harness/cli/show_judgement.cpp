#include "show_judgement.h"

#include <fmt/format.h>

#include "artifacts/files.h"
#include "installation.h"
#include "render/gate_views.h"

namespace profgate::cli {

void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder) {
  render::render_gate(judged, find_installation().templates_dir, folder, artifacts::write_file_atomically);
}

void print_judgement(const gate::judgement& judged) {
  for (const std::string& line : render::gate_lines(judged)) fmt::print("{}\n", line);
}

}  // namespace profgate::cli
