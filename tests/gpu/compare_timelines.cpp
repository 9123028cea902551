// Two timelines of the same pair, side by side: stages, and kernels by mangled name.
//
//   compare_timelines <files of one, comma list> <files of the other>     e.g. run.sqlite embedded.timeline
//
// Exit code 1 where a kernel's count or launch configuration differs, or all kernels of a stage together
// differ by more than 1 %.
// A name whose own time differs by more is marked, not judged: two runs differ in clocks and cache.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/records.h"
#include "profilers/backends.h"

namespace {

using profgate::core::kernel_execution;
using profgate::core::kernel_shape;
using profgate::core::range_record;
using profgate::core::timeline;

struct sum {
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
};

constexpr std::size_t configuration_fields = 13;
using configuration = std::array<std::uint32_t, configuration_fields>;
using told_fields = std::array<bool, configuration_fields>;

struct stage_sums {
  std::int64_t duration_ns = 0;
  std::map<std::string, sum> kernels;
  std::map<std::string, std::set<configuration>> configurations;  ///< by kernel
  sum all;
};

constexpr double allowed_ratio = 0.01;

timeline read(const std::string& comma_list) {
  std::vector<std::filesystem::path> files;
  std::istringstream in(comma_list);
  for (std::string file; std::getline(in, file, ',');) files.emplace_back(file);
  return profgate::profilers::read_timelines(files);
}

/// nsys writes `f<(int)2, (bool)1>`, the C++ library `f<2, true>`; only for tools that give no mangled name.
std::string normalised(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::size_t close = name[i] == '(' ? name.find(')', i) : std::string_view::npos;
    const bool is_cast =
        close != std::string_view::npos && close + 1 < name.size() &&
        (std::isdigit(static_cast<unsigned char>(name[close + 1])) != 0 || name[close + 1] == '-');
    const bool is_suffix = (name[i] == 'u' || name[i] == 'l') && !text.empty() &&
                           std::isdigit(static_cast<unsigned char>(text.back())) != 0;
    if (is_cast) {
      i = close;
    } else if (name.substr(i, 4) == "true") {
      text += '1';
      i += 3;
    } else if (name.substr(i, 5) == "false") {
      text += '0';
      i += 4;
    } else if (name[i] != ' ' && !is_suffix) {
      text += name[i];
    }
  }
  return text;
}

bool has_mangled_names(const timeline& recorded) {
  return std::all_of(recorded.kernels.begin(), recorded.kernels.end(),
                     [](const kernel_execution& kernel) { return !kernel.shape->mangled_name.empty(); });
}

configuration configuration_of(const kernel_shape& shape) {
  return {shape.grid[0],
          shape.grid[1],
          shape.grid[2],
          shape.block[0],
          shape.block[1],
          shape.block[2],
          shape.cluster[0],
          shape.cluster[1],
          shape.cluster[2],
          shape.local_bytes,
          shape.shared_bytes,
          shape.dynamic_shared_bytes,
          shape.registers_per_thread};
}

/// A tool that does not tell a field has it zero for every kernel.
told_fields told_by(const timeline& recorded) {
  told_fields told{};
  for (const kernel_execution& kernel : recorded.kernels) {
    const configuration one = configuration_of(*kernel.shape);
    for (std::size_t i = 0; i < one.size(); ++i) told[i] = told[i] || one[i] != 0;
  }
  return told;
}

/// Kernels by the stage in which they were launched, "" where in none.
std::map<std::string, stage_sums> sums_of(const timeline& recorded, bool by_mangled_name,
                                          const told_fields& compared) {
  std::map<std::string, stage_sums> stages;
  std::vector<const range_record*> ranges;
  for (const range_record& range : recorded.ranges) {
    if (range.domain != "LLM" || !range.end_ns || (range.name != "prefill" && range.name != "decode_all"))
      continue;
    ranges.push_back(&range);
    stages[std::string(range.name)].duration_ns += *range.end_ns - range.start_ns;
  }
  for (const kernel_execution& kernel : recorded.kernels) {
    std::string stage;
    for (const range_record* range : ranges) {
      if (range->process_id == kernel.process_id && range->thread_id == kernel.thread_id &&
          range->start_ns <= kernel.launched_ns && kernel.launched_ns <= *range->end_ns) {
        stage = range->name;
      }
    }
    stage_sums& sums = stages[stage];
    const std::string name =
        by_mangled_name ? std::string(kernel.shape->mangled_name) : normalised(kernel.shape->name);
    configuration launched = configuration_of(*kernel.shape);
    for (std::size_t i = 0; i < launched.size(); ++i)
      if (!compared[i]) launched[i] = 0;
    sums.configurations[name].insert(launched);
    sum& by_name = sums.kernels[name];
    for (sum* one : {&by_name, &sums.all}) {
      ++one->calls;
      one->total_ns += kernel.end_ns - kernel.start_ns;
    }
  }
  return stages;
}

double ratio(std::int64_t a, std::int64_t b) {
  return a == 0 ? 0 : static_cast<double>(b) / static_cast<double>(a) - 1;
}

void print_row(const std::string& name, const sum& a, const sum& b) {
  const char* const mark = a.calls != b.calls                                        ? "COUNT"
                           : std::abs(ratio(a.total_ns, b.total_ns)) > allowed_ratio ? "time"
                                                                                     : "";
  fmt::print("{:>9} {:>9} {:>12.3f} {:>12.3f} {:>+8.2f}% {:<5} {}\n", a.calls, b.calls,
             static_cast<double>(a.total_ns) / 1000, static_cast<double>(b.total_ns) / 1000,
             ratio(a.total_ns, b.total_ns) * 100, mark, name.substr(0, 110));
}

/// True if the stage agrees.
bool compare(const std::string& stage, const stage_sums& a, const stage_sums& b) {
  fmt::print("\n{}: {:.3f} ms and {:.3f} ms, {:+.2f} %\n", stage.empty() ? "(no stage)" : stage,
             static_cast<double>(a.duration_ns) / 1e6, static_cast<double>(b.duration_ns) / 1e6,
             ratio(a.duration_ns, b.duration_ns) * 100);
  fmt::print("{:>9} {:>9} {:>12} {:>12} {:>9}\n", "calls", "calls", "total us", "total us", "differs");
  std::map<std::string, std::pair<sum, sum>> rows;
  for (const auto& [name, one] : a.kernels) rows[name].first = one;
  for (const auto& [name, one] : b.kernels) rows[name].second = one;
  std::vector<std::pair<std::string, std::pair<sum, sum>>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& x, const auto& y) { return x.second.first.total_ns > y.second.first.total_ns; });
  bool agrees = true;
  for (const auto& [name, sums] : sorted) {
    print_row(name, sums.first, sums.second);
    agrees = agrees && sums.first.calls == sums.second.calls;
  }
  for (const auto& [name, launched] : a.configurations) {
    const auto found = b.configurations.find(name);
    if (found == b.configurations.end() || found->second == launched) continue;
    fmt::print("CONFIGURATION of {}: {} and {}\n", name, launched, found->second);
    agrees = false;
  }
  print_row("all kernels", a.all, b.all);
  return agrees && std::abs(ratio(a.all.total_ns, b.all.total_ns)) <= allowed_ratio;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fputs("usage: compare_timelines <file[,file]> <file[,file]>\n", stderr);
    return 2;
  }
  const timeline a = read(argv[1]);
  const timeline b = read(argv[2]);
  const bool by_mangled_name = has_mangled_names(a) && has_mangled_names(b);
  for (const timeline* one : {&a, &b}) {
    fmt::print("{:<9} {} kernels, {} copies, {} calls, {} ranges, {} dropped{}\n", one->tool,
               one->kernels.size(), one->copies.size(), one->calls.size(), one->ranges.size(),
               one->dropped_records, one->kernels_absent_reason ? "; " + *one->kernels_absent_reason : "");
  }
  fmt::print("kernels by {} name\n", by_mangled_name ? "mangled" : "demangled, normalised");
  told_fields compared = told_by(a);
  const told_fields told_by_b = told_by(b);
  for (std::size_t i = 0; i < compared.size(); ++i) compared[i] = compared[i] && told_by_b[i];
  auto stages_of_a = sums_of(a, by_mangled_name, compared);
  auto stages_of_b = sums_of(b, by_mangled_name, compared);
  bool agrees = true;
  for (const auto& [stage, unused] : stages_of_b) stages_of_a.try_emplace(stage);
  for (const auto& [stage, sums] : stages_of_a) {
    const bool stage_agrees = compare(stage, sums, stages_of_b[stage]);
    // What lies outside of the stages is there only without a gate.
    agrees = agrees && (stage_agrees || stage.empty());
  }
  fmt::print("\n{}\n", agrees ? "counts and configurations equal, times within 1 %" : "THEY DIFFER");
  return agrees ? 0 : 1;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 2;
}
