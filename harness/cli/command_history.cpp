#include <fmt/format.h>

#include "artifacts/files.h"
#include "baselines/history.h"
#include "commands.h"
#include "installation.h"
#include "render/trend_views.h"
#include "run_set_source.h"

namespace profgate::cli {

core::exit_code history_append(const history_append_options& options) {
  const baselines::stored_run_set stored = run_set_of(options.source);
  // The other build of a comparison: the anchor, where it is the one that the trend is drawn against.
  std::optional<gate::run_set> anchor;
  if (const auto other = other_arm_of(options.source); other && std::filesystem::is_directory(options.source))
    anchor = baselines::read_run_set(*other).runs;
  const bool is_new = baselines::append_history(
      options.history_file, stored, baselines::history_kind::nightly, anchor ? &*anchor : nullptr);
  fmt::print("{} {}\n", baselines::measurement_id(stored),
             is_new ? "appended to " + options.history_file.string() : "was there already");
  return core::exit_code::good;
}

core::exit_code history_show(const history_show_options& options) {
  baselines::trend_request request;
  request.stage = options.stage;
  request.anchor = options.anchor;
  const std::vector<baselines::trend> trends = baselines::make_trends(
      options.pair, baselines::read_history(options.history_file, options.pair), request);
  if (!options.out) {
    fmt::print("{}", baselines::trends_markdown(trends));
    return core::exit_code::good;
  }
  const std::string extension = options.out->extension().string();
  if (extension != ".svg" && extension != ".md") {
    throw core::bad_input(fmt::format("cannot draw a trend as '{}'", options.out->string()),
                          "end the file's name in .svg or .md");
  }
  artifacts::write_file_atomically(
      *options.out, extension == ".svg" ? render::trends_svg(trends, find_installation().templates_dir)
                                        : baselines::trends_markdown(trends));
  const std::vector<std::string> changes = baselines::change_sentences(trends);
  for (const std::string& change : changes) fmt::print("{}\n", change);
  if (changes.empty()) fmt::print("no change of level was found\n");
  fmt::print("{}\n", options.out->string());
  return core::exit_code::good;
}

}  // namespace profgate::cli
