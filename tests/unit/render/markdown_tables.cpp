#include "markdown_tables.h"

#include <regex>
#include <sstream>

namespace profgate::render {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  static const std::regex cell(R"(\| *((?:\\.|[^\\|])*?) *(?=\|))");
  std::vector<std::string> cells;
  for (std::sregex_iterator found(line.begin(), line.end(), cell), end; found != end; ++found)
    cells.push_back((*found)[1].str());
  return cells;
}

}  // namespace

std::vector<table_row> table_below(const std::string& report, const std::string& heading) {
  std::istringstream lines(report.substr(std::min(report.find("\n" + heading + "\n"), report.size())));
  std::vector<std::string> heads;
  std::vector<table_row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      if (!heads.empty()) break;
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (heads.empty()) {
      heads = cells;
    } else if (!cells[0].starts_with("-")) {
      table_row& row = rows.emplace_back();
      for (std::size_t i = 0; i < std::min(cells.size(), heads.size()); ++i) row[heads[i]] = cells[i];
    }
  }
  return rows;
}

}  // namespace profgate::render
