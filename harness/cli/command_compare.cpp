#include <fmt/format.h>

#include "artifacts/files.h"
#include "commands.h"
#include "compare_inputs.h"
#include "installation.h"
#include "render/compare_views.h"
#include "terminal.h"

namespace profgate::cli {
namespace fs = std::filesystem;

core::exit_code compare(const compare_options& options) {
  compare_place place{options.runs_dir, options.pair, options.baselines_dir};
  if (!place.pair) place.pair = common_pair(options.a, options.b, options.runs_dir);
  const compare::profile_comparison comparison =
      compare::compare_sides(find_side(options.a, place), find_side(options.b, place));
  const fs::path templates_dir = find_installation().templates_dir;
  const std::string markdown = render::compare_markdown(comparison, templates_dir);
  if (!options.out) {
    print("{}", options.as_json ? render::compare_json(comparison) : markdown);
    return core::exit_code::good;
  }
  artifacts::make_folder(*options.out);
  const auto write = [&](const char* name, const std::string& text) {
    artifacts::write_file_atomically(*options.out / name, text);
    print("{}\n", (*options.out / name).string());
  };
  write("compare.md", markdown);
  write("compare.html", render::compare_html(comparison, templates_dir));
  write("compare.json", render::compare_json(comparison));
  return core::exit_code::good;
}

}  // namespace profgate::cli
