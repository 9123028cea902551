#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "gate/attribution.h"
#include "gate/operator_calls.h"

namespace profgate::gate {
namespace {

std::string counted_launches(double launches) {
  return core::format_mean_count(launches, "launch", "launches");
}

/// "+12.3 µs", "+3.21 ms".
std::string size_text(double delta_ns) {
  return (delta_ns < 0 ? "−" : "+") + core::format_duration(std::abs(delta_ns));
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

/// A kernel of NVIDIA's library of matrix products, which chooses among many.
bool is_of_cublas(const std::string& name) {
  for (const char* part : {"nvjet", "cutlass", "xmma", "gemvx", "splitKreduce", "cublas"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

/// " in attn.qkv, once in attn.out".
std::string place_text(const cause& cause) {
  std::string text = cause.path.empty() ? "" : " in " + shown_path(cause.path);
  if (!cause.baseline_path.empty()) text += ", formerly in " + shown_path(cause.baseline_path) + ",";
  return text;
}

/// "a, which was b, in attn.qkv".
std::string subject_of(const cause& cause) {
  std::string text = cause.short_name;
  if (!cause.baseline_name.empty()) {
    const bool is_choice = is_of_cublas(cause.name) && is_of_cublas(cause.baseline_name);
    text += fmt::format(", which was {}{},", cause.baseline_short_name,
                        is_choice ? " (cuBLASLt chose another kernel)" : "");
  }
  return text + place_text(cause);
}

std::string total_text(const cause& cause, double launches, double each_ns) {
  if (is_of_host(cause))
    return core::format_duration(launches * each_ns);  // of stretches, which nobody counts
  return fmt::format("{}, {}", counted_launches(launches), core::format_duration(launches * each_ns));
}

/// What the host did meanwhile: "host work in decode_step".
std::string idle_text(const cause& cause) {
  const bool is_host = cause.name == "host";
  const bool is_wait = cause.name == "synchronisation";
  if (!is_host && !is_wait) return "waiting for a " + cause.name;
  const std::string what = is_host ? "host work" : "synchronisation";
  if (cause.place.empty()) return what;
  return fmt::format("{}{} {}", what, is_wait ? "," : "", cause.place);
}

std::string text_of_kind(const cause& cause) {
  const bool more = cause.delta_ns > 0;
  if (is_of_host(cause) && cause.kind != cause_kind::replaced) {
    const host_words words = words_of_host(cause);
    return fmt::format("{} is {}: {}", subject_of(cause), words.what, words.figures);
  }
  switch (cause.kind) {
    case cause_kind::duration:
      return fmt::format("{} is {}: {} a launch, {}", subject_of(cause), more ? "slower" : "faster",
                         times_text(cause.baseline_each_ns, cause.candidate_each_ns),
                         counted_launches(cause.candidate_launches));
    case cause_kind::launches:
      return fmt::format("{} is launched {}: {}", subject_of(cause), more ? "more often" : "less often",
                         launches_text(cause));
    case cause_kind::new_operation:
      return fmt::format("{} is new: {}, {} each", subject_of(cause),
                         counted_launches(cause.candidate_launches),
                         core::format_duration(cause.candidate_each_ns));
    case cause_kind::gone_operation:
      return fmt::format("{} is gone: it had {}, {} each", subject_of(cause),
                         counted_launches(cause.baseline_launches),
                         core::format_duration(cause.baseline_each_ns));
    case cause_kind::replaced:
      return fmt::format("{} replaced {}{}: {} → {}", cause.short_name, cause.baseline_short_name,
                         place_text(cause),
                         total_text(cause, cause.baseline_launches, cause.baseline_each_ns),
                         total_text(cause, cause.candidate_launches, cause.candidate_each_ns));
    case cause_kind::idle:
      return fmt::format("{} idle, {}: {}", more ? "more" : "less", idle_text(cause),
                         times_text(cause.baseline_idle_ns, cause.candidate_idle_ns));
  }
  return cause.name;
}

}  // namespace

void name_causes(std::vector<cause>& causes) {
  std::vector<std::string> whole_names;  // as a file would hold them: what is read from it says the same
  for (const cause& one : causes) {
    if (one.kind == cause_kind::idle) continue;
    for (const std::string& name : {one.name, one.baseline_name})
      if (!name.empty()) whole_names.push_back(core::to_valid_utf8(name));
  }
  const core::short_kernel_names names(std::move(whole_names));
  for (cause& one : causes) {
    const bool is_idle = one.kind == cause_kind::idle;
    one.short_name = is_idle ? one.name : names.of(core::to_valid_utf8(one.name));
    one.baseline_short_name =
        one.baseline_name.empty() ? "" : names.of(core::to_valid_utf8(one.baseline_name));
  }
}

std::string times_text(double from_ns, double to_ns) {
  struct unit {
    double size_ns;
    const char* name;
  };
  const double larger_ns = std::max(from_ns, to_ns);
  const double smaller_ns = std::min(from_ns, to_ns);
  for (const unit& shown : {unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "µs"}}) {
    if (larger_ns < shown.size_ns) continue;
    if (smaller_ns < shown.size_ns / 2) break;
    const int decimals = larger_ns >= 100 * shown.size_ns ? 1 : 2;
    return fmt::format("{:.{}f} → {:.{}f} {}", from_ns / shown.size_ns, decimals, to_ns / shown.size_ns,
                       decimals, shown.name);
  }
  return fmt::format("{} → {}", core::format_duration(from_ns), core::format_duration(to_ns));
}

std::string launches_text(const cause& cause) {
  constexpr double same_ratio = 0.005;
  constexpr double other_ratio = 0.1;
  const std::string times = fmt::format("{} → {}", core::format_mean_count(cause.baseline_launches),
                                        core::format_mean_count(cause.candidate_launches, "time", "times"));
  const double more = cause.candidate_launches - cause.baseline_launches;
  const double grown_ns = cause.candidate_each_ns - cause.baseline_each_ns;
  const bool are_others_longer =
      more * grown_ns > 0 && std::abs(grown_ns) > other_ratio * cause.baseline_each_ns;
  if (std::abs(grown_ns) < same_ratio * cause.baseline_each_ns)
    return fmt::format("{}, {} each", times, core::format_duration(cause.candidate_each_ns));
  if (!are_others_longer)
    return fmt::format("{}, {} each", times, times_text(cause.baseline_each_ns, cause.candidate_each_ns));
  const double whole_ns =
      cause.candidate_launches * cause.candidate_each_ns - cause.baseline_launches * cause.baseline_each_ns;
  return fmt::format("{}: {} {}, about {} each", times, core::format_mean_count(std::abs(more)),
                     more > 0 ? "more" : "fewer", core::format_duration(whole_ns / more));
}

bool is_apart_from_traces(const cause& cause) {
  return std::abs(cause.delta_ns - cause.traced_delta_ns) > 0.1 * std::abs(cause.delta_ns);
}

std::string to_text(const cause& cause) {
  std::string text = size_text(cause.delta_ns) + ": " + text_of_kind(cause);
  for (const std::string& evidence : cause.evidence) text += "; " + evidence;
  if (!cause.waiting.empty()) {
    std::vector<std::string> paths;
    for (const std::string& path : cause.waiting) paths.push_back(shown_path(path));
    text += fmt::format("; {} {} for it", fmt::join(paths, ", "), paths.size() == 1 ? "waits" : "wait");
  }
  // The times a launch are those of the traces, and so may be another sum.
  if (is_apart_from_traces(cause)) text += fmt::format(" (traced: {})", size_text(cause.traced_delta_ns));
  return text;
}

}  // namespace profgate::gate
