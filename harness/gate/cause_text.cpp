#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

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

/// "request/model.layers.*.mlp" of "request/model/model.layers.*/model.layers.*.mlp": a module's path holds
/// those of the modules around it.
std::string shown_path(std::string_view path) {
  std::string text;
  while (true) {
    const std::string_view part = path.substr(0, path.find('/'));
    const std::string_view rest = path.substr(std::min(path.size(), part.size() + 1));
    const bool is_named_by_next =
        rest.size() > part.size() && rest.starts_with(part) && rest[part.size()] == '.';
    if (!is_named_by_next) text += text.empty() ? std::string(part) : "/" + std::string(part);
    if (rest.empty()) return text;
    path = rest;
  }
}

/// "a, which was b, in attn.qkv".
std::string subject_of(const cause& cause) {
  std::string text = shown(cause.name);
  if (!cause.baseline_name.empty()) text += ", which was " + shown(cause.baseline_name) + ",";
  if (!cause.path.empty()) text += " in " + shown_path(cause.path);
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
