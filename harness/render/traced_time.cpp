#include "traced_time.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Of ranks that run a stage together an occurrence is all of theirs: each ran it.
double ranges_of(const json& traced) {
  double ranges = 0;
  for (const json& rank : traced.value("ranks", json::array()))
    ranges += number(rank, "occurrences_count").value_or(0);
  return ranges > 0 ? ranges : number(traced, "occurrences_count").value_or(0);
}

}  // namespace

double host_ns_of(const json& traced) {
  return number(traced, "thread_ns").value_or(number(traced, "duration_ns").value_or(0));
}

json traced_time_texts(const json& stage) {
  if (!stage.contains("traced") || !stage["traced"].is_object()) return nullptr;
  const json& traced = stage["traced"];
  const double ranges = ranges_of(traced);
  const std::size_t processes = traced.value("ranks", json::array()).size();
  const bool do_overlap = number(traced, "thread_ns").has_value();
  const std::string time = core::format_duration(host_ns_of(traced));
  const std::string wall = core::format_duration(number(traced, "duration_ns").value_or(0));
  return {{"time", time},
          {"times", fmt::format("{:.0f} {}", ranges, ranges == 1 ? "time" : "times")},
          {"by", processes > 1 ? fmt::format(", by {} processes", processes) : ""},
          {"ran_often", ranges > 1},
          {"of_it", !do_overlap},
          {"note", do_overlap ? fmt::format("Its occurrences overlap, so that times of the host are thread "
                                            "time, a sum over threads, and shares are of that, {}; by the "
                                            "clock on the wall it took {}.",
                                            time, wall)
                              : ""}};
}

}  // namespace profgate::render
