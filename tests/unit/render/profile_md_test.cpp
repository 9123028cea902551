#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "analysis/figures.h"
#include "golden_files.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;

/// One row of PROFILE.md's table: figures that share a description.
struct markdown_row {
  std::string keys;
  std::string type;
  std::string description;
};

/// An integer is a number; empty: they have none in common.
std::string common_type(const std::string& a, const std::string& b) {
  const auto as_number = [](const std::string& type) {
    return std::regex_replace(type, std::regex("integer"), "number");
  };
  return a == b ? a : as_number(a) == as_number(b) ? as_number(a) : "";
}

std::string rows_text(const analysis::object_description& object) {
  std::vector<markdown_row> rows;
  bool continues = false;  // an object in between, which has rows of its own, ends a row
  for (const analysis::figure_description& figure : object.figures) {
    if (figure.type.empty()) {
      continues = false;
    } else if (continues && figure.description.empty()) {
      rows.back().keys += ", " + figure.key;
      rows.back().type = common_type(rows.back().type, figure.type);
    } else {
      rows.push_back({figure.key, figure.type, figure.description});
      continues = true;
    }
  }
  std::string text;
  for (const markdown_row& row : rows) {
    const bool is_one = row.keys.find(',') == std::string::npos;
    text += "| `" + object.path + "." + (is_one ? row.keys : "{" + row.keys + "}") + "` |" +
            (row.type.empty() ? "" : " " + row.type) + " |" +
            (row.description.empty() ? "" : " " + row.description) + " |\n";
  }
  return text;
}

/// The document with the rows of this object as they are described, where its first one was.
std::string with_rows_of(const analysis::object_description& object, const std::string& document) {
  const std::string path = std::regex_replace(object.path, std::regex(R"([\[\].])"), R"(\$&)");
  const std::regex own("\\| `" + path + R"(\.(\{[^}`]*\}|[a-z0-9_]+)` \|.*)");
  std::istringstream lines(document);
  std::string result;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, own)) {
      result += line + "\n";
    } else if (!found) {
      result += rows_text(object);
      found = true;
    }
  }
  EXPECT_TRUE(found) << "PROFILE.md has no row of `" << object.path << ".…`: write one where they belong";
  return result;
}

TEST(profile_md, describes_each_figure_as_its_row_does) {
  const fs::path file = PROFGATE_PROFILE_MD;
  std::string document = read(file);
  for (const analysis::object_description& object : analysis::described_objects())
    document = with_rows_of(object, document);
  compare_or_update(file, document);
}

}  // namespace
}  // namespace profgate::render
