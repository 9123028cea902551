#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Whether a comparison named the true cause of a change to the engine that somebody made on purpose.
namespace profgate::changes {

/// What must be said of a change: <name>.yaml beside its patch.
struct expectation {
  std::string pair;
  std::string stage;
  bool regresses = false;               ///< else it passes: unchanged or improved
  std::string cause{};                  ///< what the first cause must hold; empty: nothing is asked, as below
  std::string op{};                     ///< "operator" in the file
  std::vector<std::string> evidence{};  ///< any of them is right
  std::string exact{};                  ///< a kind of exact change that must be named, whatever the verdict
  std::optional<double> explained_at_least{};  ///< share of the bare difference that the first cause is
};

/// Throws core::bad_input with the line of an unknown, missing or wrong value.
expectation parse_expectation(std::string_view yaml, const std::string& file);

/// What was said of it, and what of that is wrong.
struct judged_change {
  std::string verdict{};      ///< of the stage
  std::string first_cause{};  ///< the largest that makes the stage slower, in words; empty: none was named
  std::optional<double> explained{};
  std::optional<double> duration_s{};
  std::vector<std::string> mistakes{};
  bool is_right() const { return mistakes.empty(); }
};

/// Throws core::bad_input where verdict_json is none, or knows nothing of the stage.
judged_change judge(const expectation& wanted, std::string_view verdict_json, const std::string& file);

/// Every change with its yaml, or the named ones, in the order of their names.
std::vector<std::string> names_in(const std::filesystem::path& changes, std::vector<std::string> named);

struct table {
  std::string text;
  std::size_t mistakes = 0;
  std::size_t results = 0;
};

/// A line for each change, of those that have a result (<results>/<name>/verdict.json) with what was said.
table table_of(const std::filesystem::path& changes, const std::filesystem::path& results,
               const std::vector<std::string>& names);

}  // namespace profgate::changes
