#include "traced_time.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/units.h"
#include "values.h"

namespace profgate::render {
using nlohmann::json;

double host_ns_of(const json& traced) {
  return number(traced, "thread_ns").value_or(number(traced, "duration_ns").value_or(0));
}

json traced_time_texts(const json& stage) {
  if (!stage.contains("traced") || !stage["traced"].is_object()) return nullptr;
  const json& traced = stage["traced"];
  const double ranges = number(traced, "occurrences_count").value_or(0);
  const bool do_overlap = number(traced, "thread_ns").has_value();
  const std::string time = core::format_duration(host_ns_of(traced));
  const std::string wall = core::format_duration(number(traced, "duration_ns").value_or(0));
  return {{"time", time},
          {"times", fmt::format("{:.0f} {}", ranges, ranges == 1 ? "time" : "times")},
          {"ran_often", ranges > 1},
          {"of_it", !do_overlap},
          {"note", do_overlap ? fmt::format("Its occurrences overlap, so that times of the host are thread "
                                            "time, a sum over threads, and shares are of that, {}; by the "
                                            "clock on the wall it took {}.",
                                            time, wall)
                              : ""}};
}

}  // namespace profgate::render
