#pragma once

#include <filesystem>
#include <string>

#include "analysis/timeline_analysis.h"

/// What `nsys stats` says of a report beside what we say of it: every time to the nanosecond, every count.
namespace profgate::test {

/// `<folder>/run.sqlite` and, beside it, `<folder>/run_<report>.csv`: stem is `<folder>/run`.
struct nsys_recording {
  explicit nsys_recording(std::filesystem::path stem);
  std::filesystem::path csv(const std::string& report) const;

  std::filesystem::path stem;
  analysis::timeline_figures figures;
};

void expect_same_kernels(const nsys_recording& recording);
void expect_same_host_time_by_range(const nsys_recording& recording);
void expect_same_projections(const nsys_recording& recording);
void expect_same_kernels_in_each_range(const nsys_recording& recording);

}  // namespace profgate::test
