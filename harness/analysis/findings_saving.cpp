#include "findings_saving.h"

#include <algorithm>
#include <utility>

#include "core/escape.h"

namespace profgate::analysis {

std::string short_name(const std::string& name) {
  constexpr std::size_t longest_name_bytes = 80;
  return core::shorten_middle(name, longest_name_bytes);
}

measured<double> mean_ns_of(const stage_figures& stage) {
  return stage.bare.time_ns ? measured<double>(stage.bare.time_ns->mean)
                            : measured<double>::absent(stage.bare.time_ns.reason());
}

measured<double> headroom(const stage_figures& stage) {
  const measured<double> reached = quotient(stage.bare.use.roof_ns, mean_ns_of(stage));
  return reached ? measured<double>(std::max(0.0, 1.0 - *reached)) : reached;
}

recommendation saving(const run_figures& figures, const stage_figures& stage, double ratio_of_stage,
                      std::string text, std::string evidence) {
  const measured<double> mean_ns = mean_ns_of(stage);
  const measured<double> room = headroom(stage);
  const double saved_ratio = room ? std::min(ratio_of_stage, *room) : ratio_of_stage;
  const measured<double> saved_ns = mean_ns ? measured<double>(*mean_ns * saved_ratio) : mean_ns;
  return {stage.bare.name, std::move(text), std::move(evidence), saved_ns,
          quotient(saved_ns, figures.bare.total_mean_ns)};
}

}  // namespace profgate::analysis
