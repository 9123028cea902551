#include <fmt/format.h>

#include "ab/comparison.h"
#include "commands.h"
#include "comparison_request.h"
#include "print_judgement.h"
#include "steps/step.h"

namespace profgate::cli {

core::exit_code compare_builds(const ab_options& options) {
  const pair_manifest manifest = manifest_of(options.pair);
  const auto settings_with = [&](const std::vector<std::string>& further) {
    std::vector<std::string> all = options.pair.overrides;
    all.insert(all.end(), further.begin(), further.end());
    return compose_for(manifest, all);
  };
  ab::comparison_result result;
  {
    progress display(fmt::format("{} ab", manifest.pair));
    result =
        ab::run_comparison(comparison_request(manifest,
                                              {options.baseline, settings_with(options.baseline_overrides),
                                               settings_with(options.candidate_overrides), options.out},
                                              display));
  }
  fmt::print("runs, logs and traces: {}\n", result.folder.string());
  print_judgement(result.judged);
  return result.judged.code;
}

}  // namespace profgate::cli
