#include "difference_words.h"

#include <fmt/format.h>

#include <cmath>

#include "core/units.h"
#include "gate/operator_calls.h"

namespace profgate::render {
namespace {

std::string detail_of_kind(const gate::cause& cause) {
  switch (cause.kind) {
    case gate::cause_kind::duration:
      return fmt::format("{} {}: {}, {}", cause.delta_ns > 0 ? "slower" : "faster",
                         gate::is_copy(cause) ? "each" : "a launch",
                         gate::times_text(cause.baseline_each_ns, cause.candidate_each_ns),
                         gate::launch_count_text(cause, cause.candidate_launches));
    case gate::cause_kind::launches:
      return fmt::format("{}: {}", group_of(cause), gate::launches_text(cause));
    case gate::cause_kind::new_operation:
      return fmt::format("new: {}, {} each", gate::launch_count_text(cause, cause.candidate_launches),
                         core::format_duration(cause.candidate_each_ns));
    case gate::cause_kind::gone_operation:
      return fmt::format("gone: {}, {} each", gate::launch_count_text(cause, cause.baseline_launches),
                         core::format_duration(cause.baseline_each_ns));
    case gate::cause_kind::replaced:
      return fmt::format("{} → {}", gate::launch_count_text(cause, cause.baseline_launches),
                         gate::launch_count_text(cause, cause.candidate_launches));
    case gate::cause_kind::idle:
      break;
  }
  // A tracer stretches waits: their difference there is not the one beside these words.
  const std::string times = gate::times_text(cause.baseline_idle_ns, cause.candidate_idle_ns) +
                            (gate::is_apart_from_traces(cause) ? " in the traces" : "");
  return cause.place.empty() ? times : cause.place + ": " + times;
}

std::string host_detail(const gate::cause& cause) {
  const gate::host_words words = gate::words_of_host(cause);
  return words.what + ": " + words.figures;
}

/// What a cause is one of.
std::string things_of(const gate::cause& cause) {
  if (gate::is_of_host(cause)) return "operators";
  if (!gate::is_copy(cause)) return "kernels";
  return cause.name.starts_with("copy") ? "copies" : "memsets";
}

}  // namespace

std::string precise_duration(double duration_ns) {
  if (duration_ns == 0) return "0 ns";
  struct unit {
    double size_ns;
    const char* name;
  };
  for (const unit& candidate : {unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "µs"}, unit{1, "ns"}}) {
    const double scaled = std::abs(duration_ns) / candidate.size_ns;
    if (scaled < 1 && candidate.size_ns > 1) continue;
    return fmt::format("{:.{}f} {}", duration_ns / candidate.size_ns,
                       scaled >= 100  ? 1
                       : scaled >= 10 ? 2
                                      : 3,
                       candidate.name);
  }
  return "0 ns";
}

std::string signed_duration(double delta_ns) {
  const std::string size = core::format_duration(std::abs(delta_ns));
  if (delta_ns == 0) return "0";
  return (delta_ns > 0 ? "+" : "−") + size;
}

std::string group_of(const gate::cause& cause) {
  const bool more = cause.delta_ns > 0;
  const bool is_of_host = gate::is_of_host(cause);
  const std::string things = things_of(cause);
  switch (cause.kind) {
    case gate::cause_kind::duration:
      return things + (more ? " slower" : " faster");
    case gate::cause_kind::launches:
      return (more ? "more " : "fewer ") + (is_of_host             ? "calls"
                                            : gate::is_copy(cause) ? things
                                                                   : "launches");
    case gate::cause_kind::new_operation:
      return "new " + things;
    case gate::cause_kind::gone_operation:
      return "gone " + things;
    case gate::cause_kind::replaced:
      return "replaced " + things;
    case gate::cause_kind::idle:
      return gate::idle_text(cause);
  }
  return "other";
}

std::string detail_of(const gate::cause& cause) {
  std::string text = gate::is_of_host(cause) ? host_detail(cause) : detail_of_kind(cause);
  for (const std::string& evidence : cause.evidence) text += "; " + evidence;
  return text;
}

}  // namespace profgate::render
