#include <fmt/format.h>

#include "ab/comparison.h"
#include "artifacts/utc_time.h"
#include "baselines/run_set_file.h"
#include "commands.h"
#include "comparison_request.h"
#include "steps/step.h"

namespace profgate::cli {
namespace fs = std::filesystem;

core::exit_code baseline_record(const baseline_record_options& options) {
  const pair_manifest pair = manifest_of(options.pair);
  const config::resolved config = compose_for(pair, options.pair.overrides);
  baselines::stored_run_set stored;
  fs::path file;
  {
    progress display(fmt::format("{} record", pair.pair));
    const ab::surroundings where = surroundings_of(pair, config, display);
    file = options.out.value_or(
        where.folder / fmt::format("{}.runs.json", artifacts::utc_compact(artifacts::utc_clock::now())));
    stored.runs = ab::run_one_arm(where, arm_of(pair, config, ""),
                                  static_cast<std::size_t>(options.processes), ab::traced_too::yes);
  }
  baselines::write_run_set(file, stored);
  const std::string shown = fs::proximate(file).string();
  fmt::print("{}\nto make it the baseline: profgate baseline accept {} --reason \"…\"\n", shown, shown);
  return core::exit_code::good;
}

}  // namespace profgate::cli
