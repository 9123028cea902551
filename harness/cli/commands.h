#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

/// One function a command; main.cpp fills the options from the command line.
namespace profgate::cli {

struct doctor_options {
  bool as_json = false;
  std::filesystem::path runs_dir = "tmp/stage2";
};
core::exit_code doctor(const doctor_options& options);

struct list_options {
  std::optional<std::filesystem::path> build_dir;
};
core::exit_code list(const list_options& options);

/// Names a pair: by its name in a build folder, or by its manifest.
struct pair_options {
  std::string pair;
  std::optional<std::filesystem::path> manifest;
  std::optional<std::filesystem::path> build_dir;
  std::vector<std::string> overrides;
};
core::exit_code show_config(const pair_options& options);
core::exit_code run(const pair_options& options);

struct step_options {
  std::string step;
  std::filesystem::path manifest;
};
core::exit_code step(const step_options& options);

struct session_options {
  std::optional<std::filesystem::path> build_dir;
};
core::exit_code session(const session_options& options);

/// `run` is the path of a run directory.
core::exit_code analyze(const std::filesystem::path& run);
core::exit_code render(const std::filesystem::path& run,
                       const std::optional<std::filesystem::path>& templates_dir);

/// `a` and `b`: see compare_inputs.h.
struct compare_options {
  std::string a;
  std::string b;
  std::filesystem::path runs_dir = "tmp/stage2";
  std::optional<std::string> pair;
  std::optional<std::filesystem::path> out;
  bool as_json = false;
};
core::exit_code compare(const compare_options& options);

struct clean_options {
  std::filesystem::path runs_dir = "tmp/stage2";
  std::optional<std::string> pair;
  std::optional<int> keep;
  std::optional<int> older_than_days;
  bool everything = false;
  bool yes = false;
};
core::exit_code clean(const clean_options& options);

}  // namespace profgate::cli
