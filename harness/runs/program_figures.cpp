#include "runs/program_figures.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "core/error.h"
#include "core/units.h"
#include "parsers/program_figures.h"

namespace profgate::runs {
namespace fs = std::filesystem;
namespace {

constexpr const char* figures_key = "workload.figures";

bool is_of_client(const config::record& figure) {
  const auto from = figure.find("from");
  return from != figure.end() && from->second == "client";
}

std::string source_of(const config::record& figure) {
  const auto file = figure.find("file");
  if (file != figure.end()) return file->second;
  return is_of_client(figure) ? "the client's standard output" : "standard output";
}

std::int64_t as_duration_ns(double value, double ns_per_unit, const std::string& name) {
  const double duration_ns = value * ns_per_unit;
  if (!(duration_ns >= 0.5) || duration_ns > static_cast<double>(core::longest_plausible_ns)) {
    throw core::bad_input(fmt::format("the program says that {} took {} times {} ns, which no stage does",
                                      name, value, ns_per_unit),
                          fmt::format("correct the unit of {}, or what the program writes", figures_key));
  }
  return std::llround(duration_ns);
}

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The clock of files: the finer one is ahead of it by some milliseconds.
std::int64_t file_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return ns_of(now);
}

/// The figure of that name, made where there is none yet.
analysis::program_figure& figure_called(const config::record& figure, process_samples& samples) {
  const auto found =
      std::find_if(samples.figures.begin(), samples.figures.end(),
                   [&](const analysis::program_figure& each) { return each.name == figure.at("name"); });
  if (found != samples.figures.end()) return *found;
  samples.figures.push_back({figure.at("name"), figure.at("unit"), source_of(figure), {}});
  return samples.figures.back();
}

}  // namespace

program_figures::program_figures(const config::resolved& config, fs::path folder)
    : m_config(config), m_folder(std::move(folder)), m_figures(config.records(figures_key)) {}

bool program_figures::wants_output() const {
  return std::any_of(m_figures.begin(), m_figures.end(),
                     [](const config::record& figure) { return figure.contains("output"); });
}

bool program_figures::wants_client_output() const {
  return std::any_of(m_figures.begin(), m_figures.end(), is_of_client);
}

void program_figures::note_start() {
  // Its clock ticks every few milliseconds: a file that another run wrote within this tick would look as if
  // this one had. One that lies in the future is not waited for.
  constexpr int most_waits = 50;
  std::int64_t latest_write_ns = 0;
  for (const config::record& figure : m_figures) {
    struct stat file {};
    if (figure.contains("file") && ::stat((m_folder / figure.at("file")).c_str(), &file) == 0)
      latest_write_ns = std::max(latest_write_ns, ns_of(file.st_mtim));
  }
  m_started_ns = file_clock_ns();
  for (int waits = 0; m_started_ns <= latest_write_ns && waits < most_waits; ++waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    m_started_ns = file_clock_ns();
  }
}

std::vector<double> program_figures::values_of(const config::record& figure, const outputs& run) const {
  const std::string where = fmt::format("{} ({})", figures_key, m_config.origin(figures_key));
  const parsers::figure_kind kind =
      core::ns_per(figure.at("unit")) ? parsers::figure_kind::duration : parsers::figure_kind::anything;
  if (figure.contains("file")) {
    return parsers::read_figure_file(m_folder / figure.at("file"), core::json_path(figure.at("path"), where),
                                     m_started_ns, kind);
  }
  const core::expression wanted(figure.at("output"), where, core::expression::fits::part_of_text);
  const printed& told = is_of_client(figure) ? run.client : run.program;
  std::vector<double> values = parsers::read_figure_lines(told.text, wanted, source_of(figure), kind);
  if (!values.empty()) return values;
  throw core::step_failure(
      fmt::format("no line of {} fits '{}', which gives '{}'{}", source_of(figure), figure.at("output"),
                  figure.at("name"),
                  told.is_truncated ? fmt::format("; only its first {} were looked at",
                                                  core::format_bytes(static_cast<double>(told.text.size())))
                                    : ""),
      fmt::format("compare {} with what it says: {}", where, told.log_file.string()));
}

void program_figures::add(const outputs& run, process_samples& samples) const {
  const std::vector<std::string> stages = m_config.list("workload.stages");
  for (const config::record& figure : m_figures) {
    const std::string& name = figure.at("name");
    const std::vector<double> values = values_of(figure, run);
    if (std::find(stages.begin(), stages.end(), name) == stages.end()) {
      std::vector<double>& all = figure_called(figure, samples).values;
      all.insert(all.end(), values.begin(), values.end());
      continue;
    }
    // What the program says of a stage counts for more than its ranges.
    if (samples.stage_sources.try_emplace(name, source_of(figure)).second) samples.stages_ns[name].clear();
    for (const double value : values)
      samples.stages_ns[name].push_back(as_duration_ns(value, core::ns_per(figure.at("unit")).value(), name));
  }
}

}  // namespace profgate::runs
