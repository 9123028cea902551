// The pictures beside the Markdown reports: XML whatever kernels are called, readable on any background.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "analysis/profile.h"
#include "golden_cases.h"
#include "judgement_cases.h"
#include "render/render.h"

namespace profgate::render {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> files_of(const analysis::run_facts& facts) {
  std::map<std::string, std::string> files;
  render_reports(
      analysis::profile_json(facts), PROFGATE_TEMPLATES_DIR, "",
      [&](const std::filesystem::path& path, std::string_view text) { files[path.string()] = text; });
  return files;
}

/// The first tag or text that no XML parser would take; empty: there is none.
std::string xml_fault(const std::string& xml) {
  static const std::regex well_formed("/?[a-z]+( [a-zA-Z0-9:-]+=\"[^\"<]*\")* ?/?");
  static const std::regex entity("&(?!(amp|lt|gt|quot|apos|#[0-9]+);)");
  std::vector<std::string> open;
  std::size_t text_start = 0;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::string text = xml.substr(text_start, at - text_start);
    if (std::regex_search(text, entity)) return text;
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return xml.substr(at);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    text_start = end + 1;
    if (!std::regex_match(tag, well_formed) || std::regex_search(tag, entity)) return tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return tag;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  for (const char c : xml)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') return "a control character";
  return open.empty() ? "" : open.back() + " is not closed";
}

TEST(picture_files, are_well_formed_whatever_kernels_and_ranges_are_called) {
  EXPECT_NE(xml_fault("<a b=\"c\"d=\"e\"></a>"), "");
  EXPECT_NE(xml_fault("<a><b></a>"), "");
  EXPECT_NE(xml_fault("<a>&nbsp;</a>"), "");
  analysis::run_facts facts = golden_cases().back().facts;
  core::timeline& timeline = facts.captures[0].timeline;
  const core::kernel_execution last = timeline.kernels.back();
  timeline.kernels.push_back(last);
  timeline.kernels.back().shape = timeline.shapes.keep({hostile_name});
  std::size_t pictures = 0;
  for (const auto& [path, text] : files_of(facts)) {
    if (!path.ends_with(".svg")) continue;
    ++pictures;
    EXPECT_EQ(xml_fault(text), "") << path;
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark")) << path;
    EXPECT_THAT(text, HasSubstr("fill:var(--card)")) << path << " has a background of its own";
  }
  EXPECT_GE(pictures, 4U);
}

TEST(picture_files, are_those_that_the_markdown_reports_show) {
  for (const golden_case& entry : golden_cases()) {
    const std::map<std::string, std::string> files = files_of(entry.facts);
    for (const char* report : {"report.md", "stakeholder_summary.md"}) {
      const std::string& text = files.at(report);
      const std::regex picture("!\\[[^\\]]*\\]\\((pictures/[^)]+)\\)");
      for (std::sregex_iterator found(text.begin(), text.end(), picture), end; found != end; ++found)
        EXPECT_TRUE(files.contains((*found)[1].str())) << entry.name << " " << (*found)[1].str();
    }
  }
}

}  // namespace
}  // namespace profgate::render
