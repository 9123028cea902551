#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/library_kernels.h"
#include "core/units.h"
#include "gate/attribution.h"
#include "gate/operator_calls.h"

namespace profgate::gate {
namespace {

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

/// " (cuBLASLt chose another kernel)" of two kernels of one library; empty where there is none.
std::string choice_text(const cause& cause) {
  const std::string_view library = core::library_of_both(cause.name, cause.baseline_name);
  return library.empty() ? "" : fmt::format(" ({} chose another kernel)", library);
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
    text += fmt::format(", which was {}{},", cause.baseline_short_name, choice_text(cause));
  }
  return text + place_text(cause);
}

std::string total_text(const cause& cause, double launches, double each_ns) {
  if (is_of_host(cause))
    return core::format_duration(launches * each_ns);  // of stretches, which nobody counts
  return fmt::format("{}, {}", launch_count_text(cause, launches), core::format_duration(launches * each_ns));
}

/// "cudaStreamSynchronize (in decode)" of "cudaStreamSynchronize in decode".
std::string wait_place(const std::string& place) {
  if (place.starts_with("in ")) return fmt::format("({})", place);
  const std::size_t in = place.find(" in ");
  if (in == std::string::npos) return "in " + place;
  return fmt::format("in {} ({})", place.substr(0, in), place.substr(in + 1));
}

/// Where the host was meanwhile: " in cudaStreamSynchronize (in decode)".
std::string place_of_host(const cause& cause) {
  if (cause.place.empty()) return "";
  return " " + (cause.name == "synchronisation" ? wait_place(cause.place) : cause.place);
}

const char* is_or_are(const cause& cause) {
  return names_several(cause.name) ? "are" : "is";
}

/// How many operations a name stands for, of the few that are told one by one: "f", "f and 1 more", "f and 2
/// more". 0: of more.
int few_of(std::string_view name) {
  if (name.ends_with(" and 1 more")) return 2;
  if (name.ends_with(" and 2 more")) return 3;
  return names_several(name) ? 0 : 1;
}

/// One that became a few of which each is launched as often as it was has been split into them, and the other
/// way round they were fused. Of anything else nobody knows which was what.
std::string replacement_text(const cause& cause) {
  constexpr double same_ratio = 0.02;  // a stage may begin or end within a program's step
  const int before = few_of(cause.baseline_name);
  const int after = few_of(cause.name);
  const bool are_kernels =
      !is_of_host(cause) && !is_copy(cause) && !analysis::is_copy_name(cause.baseline_name);
  const double each_before = before > 0 ? cause.baseline_launches / before : 0;
  const double each_after = after > 0 ? cause.candidate_launches / after : 0;
  const bool is_as_often = std::abs(each_after - each_before) <= same_ratio * each_before;
  if (const std::string choice = choice_text(cause); !choice.empty())
    return fmt::format("{} replaced {}{}", cause.short_name, cause.baseline_short_name, choice);
  if (are_kernels && is_as_often && before == 1 && after > 1)
    return fmt::format("{} is split into {}", cause.baseline_short_name, cause.short_name);
  if (are_kernels && is_as_often && before > 1 && after == 1)
    return fmt::format("{} are fused into {}", cause.baseline_short_name, cause.short_name);
  return fmt::format("{} replaced {}", cause.short_name, cause.baseline_short_name);
}

std::string text_of_kind(const cause& cause) {
  const bool more = cause.delta_ns > 0;
  if (is_of_host(cause) && cause.kind != cause_kind::replaced) {
    const host_words words = words_of_host(cause);
    return fmt::format("{} is {}: {}", subject_of(cause), words.what, words.figures);
  }
  switch (cause.kind) {
    case cause_kind::duration:
      return fmt::format(
          "{} {} {}: {} {}, {}", subject_of(cause), is_or_are(cause), more ? "slower" : "faster",
          times_text(cause.baseline_each_ns, cause.candidate_each_ns), is_copy(cause) ? "each" : "a launch",
          launch_count_text(cause, cause.candidate_launches));
    case cause_kind::launches:
      return fmt::format("{} {} {} {}: {}", subject_of(cause), is_or_are(cause),
                         is_copy(cause) ? "made" : "launched", more ? "more often" : "less often",
                         launches_text(cause));
    case cause_kind::new_operation:
      return fmt::format("{} {} new: {}, {} each", subject_of(cause), is_or_are(cause),
                         launch_count_text(cause, cause.candidate_launches),
                         core::format_duration(cause.candidate_each_ns));
    case cause_kind::gone_operation:
      return fmt::format("{} {} gone: {} {} {}, {} each", subject_of(cause), is_or_are(cause),
                         names_several(cause.name) ? "they" : "it", is_copy(cause) ? "ran" : "had",
                         launch_count_text(cause, cause.baseline_launches),
                         core::format_duration(cause.baseline_each_ns));
    case cause_kind::replaced:
      return fmt::format("{}{}: {} → {}", replacement_text(cause), place_text(cause),
                         total_text(cause, cause.baseline_launches, cause.baseline_each_ns),
                         total_text(cause, cause.candidate_launches, cause.candidate_each_ns));
    case cause_kind::idle:
      return fmt::format("{}{}: {}", idle_text(cause), place_of_host(cause),
                         times_text(cause.baseline_idle_ns, cause.candidate_idle_ns));
  }
  return cause.name;
}

}  // namespace

bool names_several(std::string_view name) {
  return name.ends_with(" more") && name.find(" and ") != std::string_view::npos;
}

bool is_copy(const cause& cause) {
  return cause.kind != cause_kind::idle && analysis::is_copy_name(cause.name);
}

bool is_other_choice(const cause& cause) {
  return is_other_choice(cause.name, cause.baseline_name);
}

bool is_other_choice(std::string_view name, std::string_view baseline_name) {
  return !core::library_of_both(name, baseline_name).empty();
}

std::string launch_count_text(const cause& cause, double count) {
  return is_copy(cause) ? core::format_mean_count(count, "time", "times")
                        : core::format_mean_count(count, "launch", "launches");
}

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

std::string idle_text(const cause& cause) {
  const char* const length = cause.delta_ns > 0 ? "longer" : "shorter";
  if (cause.name == "host") return fmt::format("{} idle: host work", length);
  if (cause.name == "synchronisation") return fmt::format("{} idle: the host waits", length);
  return fmt::format("{} idle: waiting for a {}", length, cause.name);
}

std::string shown_text(const attribution& attributed) {
  if (!attributed.scaled || !attributed.bare_difference_ns) return "";
  const double shown_ns = attributed.scaled->shown_ns;
  const double bare_ns = *attributed.bare_difference_ns;
  const bool is_opposite = shown_ns * bare_ns < 0;
  return fmt::format("the traces show {}{} {} the {} measured without a tracer",
                     core::format_duration(std::abs(shown_ns)), is_opposite ? " the other way," : "",
                     is_opposite                              ? "not"
                     : std::abs(shown_ns) > std::abs(bare_ns) ? "for"
                                                              : "of",
                     core::format_duration(std::abs(bare_ns)));
}

std::string scale_text(const attribution& attributed) {
  constexpr double told_from_ratio = 0.05;
  const std::string shown = shown_text(attributed);
  if (shown.empty()) return "";
  const trace_scale& scaled = *attributed.scaled;
  const double bare_ns = *attributed.bare_difference_ns;
  if (std::abs(scaled.shown_ns - bare_ns) <= told_from_ratio * std::abs(bare_ns)) return "";
  if (std::abs(scaled.all_ratio - 1) > told_from_ratio)
    return fmt::format("{}, so sizes are theirs × {:.2f}", shown, scaled.all_ratio);
  if (scaled.idle_ratio < told_from_ratio)
    return "idle time of the traces is left out: a tracer stretches it, and without one there is no room for "
           "it";
  if (std::abs(scaled.idle_ratio - 1) > told_from_ratio)
    return fmt::format("{}, which stretches idle time, so sizes of idle time are theirs × {:.2f}", shown,
                       scaled.idle_ratio);
  return shown;
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
