#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The figures of a stage, each described in one row (figure_table.h): profile.json, its description in
/// PROFILE.md, the columns of the counters and what compare sets side by side come from there.
namespace profgate::analysis {

enum class better { lower, higher, neither };

/// How people see a figure in a table.
struct shown_as {
  std::string label{};   ///< empty: it is shown in none
  std::string format{};  ///< of render/values.h
  better which = better::neither;
};

struct figure_description {
  std::string key;  ///< ends in the unit
  std::string type;
  std::string description;  ///< empty: that of the row before holds for both
  shown_as shown;
};

/// An object of profile.json. Objects inside of it are described on their own.
struct object_description {
  std::string path;  ///< as PROFILE.md writes it: "stages[].idle"
  std::vector<figure_description> figures;
};

const std::vector<object_description>& described_objects();

/// Of one of them. Throws std::out_of_range where there is none.
const std::vector<figure_description>& figures_of(std::string_view path);

}  // namespace profgate::analysis
