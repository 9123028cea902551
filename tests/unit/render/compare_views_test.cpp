#include "render/compare_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/escape.h"
#include "golden_files.h"
#include "judgement_cases.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

compare::compared_side side_at(const fs::path& file) {
  return compare::side_of_profile(read(file), file.string(), file.stem().string());
}

compare::compared_side recorded(const std::string& name) {
  return side_at(fs::path(PROFGATE_TEST_DATA) / "profiles" / "h200" / (name + ".json"));
}

void expect_golden(const std::string& name, const compare::profile_comparison& comparison) {
  const fs::path folder = fs::path(PROFGATE_GOLDEN_DIR) / "compare" / name;
  compare_or_update(folder / "compare.json", compare_json(comparison));
  compare_or_update(folder / "compare.md", compare_markdown(comparison, PROFGATE_TEMPLATES_DIR));
  compare_or_update(folder / "compare.html", compare_html(comparison, PROFGATE_TEMPLATES_DIR));
}

TEST(compare_golden, of_two_models_on_a_gpu) {
  expect_golden("two_models", compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"),
                                                     recorded("llama-3.1-8b.decode-b1")));
}

TEST(compare_golden, of_a_gpu_and_a_cpu) {
  const fs::path golden = PROFGATE_GOLDEN_DIR;
  expect_golden("gpu_and_cpu", compare::compare_sides(side_at(golden / "gpu_kernels" / "profile.json"),
                                                      side_at(golden / "cpu_embedded" / "profile.json")));
}

TEST(compare_html, needs_nothing_from_elsewhere) {
  const std::string html = compare_html(compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"),
                                                               recorded("qwen3-0.6b.decode-b1.embedded")),
                                        PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")), Not(HasSubstr("<script")),
                          Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
  EXPECT_THAT(html, HasSubstr("<svg"));
}

TEST(compare_views, show_hostile_names_as_text) {
  compare::compared_side a = recorded("qwen3-0.6b.decode-b1.nsys");
  a.name = "<script>alert(1)</script>";
  a.facts["<img src=x>"] = "\"><b>\xff";
  a.stages[1].kernels[0].name = hostile_name;
  a.stages[1].operators[0].name = "<i>|op";
  const compare::profile_comparison both =
      compare::compare_sides(a, recorded("qwen3-0.6b.decode-b1.embedded"));
  const std::string html = compare_html(both, PROFGATE_TEMPLATES_DIR);
  const std::string markdown = compare_markdown(both, PROFGATE_TEMPLATES_DIR);
  for (const std::string& text : {html, markdown, compare_json(both)})
    EXPECT_EQ(core::to_valid_utf8(text), text);
  for (const std::string& text : {html, markdown})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<img")), Not(HasSubstr("<i>|op")),
                            Not(HasSubstr("\x1b")), Not(HasSubstr("<CTest"))));
}

TEST(compare_views, put_a_label_on_what_no_gate_would_compare) {
  compare::compared_side other = recorded("qwen3-0.6b.decode-b1.nsys");
  other.device_name = "NVIDIA H100";
  const compare::profile_comparison both =
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), other);
  EXPECT_THAT(compare_markdown(both, PROFGATE_TEMPLATES_DIR),
              HasSubstr("**Two devices: nothing below is a gate's verdict.**"));
  EXPECT_THAT(compare_html(both, PROFGATE_TEMPLATES_DIR), HasSubstr("Two devices: nothing here"));
  EXPECT_THAT(compare_json(both), HasSubstr("\"is_cross_device\": true"));
}

TEST(compare_views, fold_what_is_the_same_and_explain_what_is_empty) {
  const std::string text = compare_markdown(
      compare::compare_sides(recorded("qwen3-0.6b.decode-b1.nsys"), recorded("llama-3.1-8b.decode-b1")),
      PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(text,
              HasSubstr("Measured only in B: energy of a decoded token, because one run of the stage takes"));
  EXPECT_THAT(text, HasSubstr("- The same in both: "));
  EXPECT_THAT(text, Not(HasSubstr("| gpu.0.name ")));  // in the list of what is the same
}

}  // namespace
}  // namespace profgate::render
