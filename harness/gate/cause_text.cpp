#include <fmt/format.h>

#include <cmath>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "gate/attribution.h"

namespace profgate::gate {
namespace {

std::string launches_text(double launches) {
  return launches == static_cast<double>(static_cast<long long>(launches)) ? fmt::format("{:.0f}", launches)
                                                                           : fmt::format("{:.1f}", launches);
}

/// "1 launch", "28 launches".
std::string counted_launches(double launches) {
  return launches_text(launches) + (launches == 1 ? " launch" : " launches");
}

/// A line of a terminal holds no more.
constexpr std::size_t longest_name_bytes = 100;

std::string shown(const std::string& name) {
  return core::shorten_middle(core::readable_kernel_name(name), longest_name_bytes);
}

/// "+12.3 µs", "+3.21 ms".
std::string size_text(double delta_ns) {
  return std::abs(delta_ns) < 1e6 ? fmt::format("{:+.1f} µs", delta_ns / 1e3)
                                  : fmt::format("{:+.2f} ms", delta_ns / 1e6);
}

/// "a, which was b, in attn.qkv".
std::string subject_of(const cause& cause) {
  std::string text = shown(cause.name);
  if (!cause.baseline_name.empty()) text += ", which was " + shown(cause.baseline_name) + ",";
  if (!cause.path.empty()) text += " in " + cause.path;
  return text;
}

}  // namespace

std::string to_text(const cause& cause) {
  const std::string size = size_text(cause.delta_ns) + ": ";
  const bool more = cause.delta_ns > 0;
  switch (cause.kind) {
    case cause_kind::duration:
      return size + fmt::format("{} is {}: {:.2f} → {:.2f} µs a launch, {}", subject_of(cause),
                                more ? "slower" : "faster", cause.baseline_each_ns / 1000,
                                cause.candidate_each_ns / 1000, counted_launches(cause.candidate_launches));
    case cause_kind::launches:
      return size + fmt::format("{} is launched {}: {} → {} times, {:.2f} µs each", subject_of(cause),
                                more ? "more often" : "less often", launches_text(cause.baseline_launches),
                                launches_text(cause.candidate_launches), cause.candidate_each_ns / 1000);
    case cause_kind::new_operation:
      return size + fmt::format("{} is new: {}, {:.2f} µs each", subject_of(cause),
                                counted_launches(cause.candidate_launches), cause.candidate_each_ns / 1000);
    case cause_kind::gone_operation:
      return size + fmt::format("{} is gone: it had {}, {:.2f} µs each", subject_of(cause),
                                counted_launches(cause.baseline_launches), cause.baseline_each_ns / 1000);
    case cause_kind::idle:
      return size +
             fmt::format("{} idle, {}: {:.1f} → {:.1f} µs", more ? "more" : "less",
                         cause.name == "host" ? "no work for the device" : "waiting for a " + cause.name,
                         cause.baseline_idle_ns / 1000, cause.candidate_idle_ns / 1000);
  }
  return size + cause.name;
}

}  // namespace profgate::gate
