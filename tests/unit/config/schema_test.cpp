#include "config/schema.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/escape.h"
#include "profilers/backends.h"

namespace profgate::config {
namespace {

TEST(schema, has_unique_keys_in_contiguous_sections) {
  // to_yaml() opens a section when its first key comes: a section in two places would be written twice.
  std::set<std::string> keys;
  std::set<std::string> opened;
  std::string previous;
  for (const schema_row& row : schema()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.description.empty()) << row.key;
    for (std::size_t dot = row.key.find('.'); dot != std::string::npos; dot = row.key.find('.', dot + 1)) {
      const std::string section = row.key.substr(0, dot + 1);
      if (previous.starts_with(section)) continue;
      EXPECT_TRUE(opened.insert(section).second) << section << " is in two places";
    }
    previous = row.key;
  }
}

TEST(schema, tells_keys_from_sections) {
  EXPECT_NE(find_row("model.shape.head_dim"), nullptr);
  EXPECT_EQ(find_row("model.shape"), nullptr);
  EXPECT_TRUE(is_section("model.shape"));
  EXPECT_FALSE(is_section("model.sha"));
  EXPECT_FALSE(is_section("timeline"));
}

TEST(schema, says_what_a_key_accepts) {
  EXPECT_EQ(accepted_values(*find_row("run.mode")), "one of: deep, light");
  EXPECT_EQ(accepted_values(*find_row("ncu.replay_mode")), "one of: kernel, application")
      << "range and app-range give no row a kernel";
  EXPECT_EQ(accepted_values(*find_row("stage1.warmup")), "a whole number from 0 to 100");
  EXPECT_EQ(accepted_values(*find_row("model.checkpoint")), "the path of an input, or null");
}

/// One table a section.
std::string schema_markdown() {
  std::string text;
  std::string section;
  for (const schema_row& row : schema()) {
    const std::string section_of_row = row.key.substr(0, row.key.find('.'));
    if (section_of_row != section) {
      section = section_of_row;
      text += "\n### " + section + "\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
    }
    text += "| `" + row.key + "` | " + core::escape_markdown(accepted_values(row)) + " | `" +
            row.default_yaml + "` | " + core::escape_markdown(row.description) + " |\n";
  }
  return text;
}

/// The part of conf/README.md below this line is schema_markdown().
constexpr const char* generated_marker = "<!-- generated from the schema -->\n";

TEST(schema, is_what_the_readme_says) {
  const std::string file = PROFGATE_CONF_DIR "/README.md";
  std::stringstream content;
  content << std::ifstream(file).rdbuf();
  const std::string readme = content.str();
  const std::size_t marker = readme.find(generated_marker);
  ASSERT_NE(marker, std::string::npos) << file << " lacks the line " << generated_marker;
  const std::string written_by_hand = readme.substr(0, marker + std::string(generated_marker).size());
  if (std::getenv("PROFGATE_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(file) << written_by_hand << schema_markdown();
    return;
  }
  EXPECT_EQ(readme, written_by_hand + schema_markdown())
      << "conf/README.md is out of date: run this test with PROFGATE_UPDATE_GOLDENS=1";
}

TEST(schema, knows_every_profiler_and_its_settings) {
  for (const profilers::timeline_backend& backend : profilers::timeline_backends())
    EXPECT_THAT(find_row("timeline")->allowed, ::testing::Contains(backend.tool.name));
  for (const profilers::profiler* tool : profilers::all_profilers()) {
    if (tool->settings == nullptr) continue;
    for (const core::setting& own : tool->settings()) EXPECT_NE(find_row(own.key), nullptr) << own.key;
  }
}

}  // namespace
}  // namespace profgate::config
