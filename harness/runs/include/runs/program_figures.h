#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "runs/process_samples.h"

namespace profgate::runs {

/// workload.figures: what a program tells of its run by itself, in a file or on its standard output.
class program_figures {
 public:
  /// `folder`: the program runs there.
  program_figures(const config::resolved& config, std::filesystem::path folder);

  // Whether its standard output has to be kept, and that of its client.
  bool wants_output() const;
  bool wants_client_output() const;

  /// Before each start of the program: files that are older are of another run.
  void note_start();

  /// What a process printed, as far as it was kept.
  struct printed {
    std::string_view text{};
    bool is_truncated = false;
    std::filesystem::path log_file{};  ///< all of it
  };
  struct outputs {
    printed program{};
    printed client{};
  };
  /// Adds what was told in a run that printed this: times of stages, and other figures. bad_input or
  /// step_failure where it did not tell what it should have.
  void add(const outputs& run, process_samples& samples) const;

 private:
  std::vector<double> values_of(const config::record& figure, const outputs& run) const;

  const config::resolved& m_config;
  std::filesystem::path m_folder;
  std::vector<config::record> m_figures;
  std::int64_t m_started_ns = 0;
};

}  // namespace profgate::runs
