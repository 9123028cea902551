#pragma once

#include <cstddef>

/// The gate's settings with their defaults. Ratios are slowdowns: 0.02 is 2 % more time.
namespace profgate::gate {

/// Which of a process's samples count.
struct reduction_rules {
  std::size_t discarded_processes = 1;  ///< of each arm, the first ones: they warm the GPU and the disk cache
  std::size_t discarded_iterations = 3;  ///< of each process, the first ones
  std::size_t min_iterations = 5;        ///< that must be left
};

/// Of a program that is timed from outside: a process is one sample, the whole of it.
constexpr reduction_rules whole_process_rules() {
  return {.discarded_iterations = 0, .min_iterations = 1};
}

/// Baseline and candidate interleaved on one GPU.
struct decision_rules {
  std::size_t screen_runs = 6;        ///< of each arm
  std::size_t extended_runs = 10;     ///< of each arm, those of the screen included
  std::size_t confirm_runs = 10;      ///< of each arm, after a flag, judged alone
  std::size_t early_runs = 6;         ///< of each arm, those of the confirming block that are looked at first
  std::size_t min_runs = 6;           ///< of each arm, for any judgement
  std::size_t most_repetitions = 10;  ///< of spoiled runs, in all; then what survived is judged
  double screen_alpha = 0.05;
  double screen_ratio = 0.015;
  double confirm_alpha = 0.01;
  double early_alpha = 0.0011;  ///< of 6 and 6: each run of the candidate is slower than each of the baseline
  double confirm_ratio = 0.02;
  double improved_alpha = 0.01;
  double improved_ratio = 0.02;
  double unchanged_alpha = 0.05;
  double unchanged_ratio = 0.03;
  double ignored_difference_ns = 5000;
};

/// Against numbers of another session, or of another GPU of the same kind.
struct stored_rules {
  std::size_t min_runs = 8;  ///< of each arm
  double alpha = 0.01;
  double ratio = 0.08;
  double unchanged_alpha = 0.05;
  double ignored_difference_ns = 5000;
};

}  // namespace profgate::gate
