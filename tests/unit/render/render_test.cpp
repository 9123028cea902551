#include "render/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "analysis/profile.h"
#include "core/error.h"
#include "core/escape.h"
#include "golden_cases.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;

std::string show(const std::string& json, const std::string& text) {
  return render_text(json, text, "t.inja");
}

std::string template_complaint(const std::string& json, const std::string& text) {
  try {
    show(json, text);
    return "";
  } catch (const core::bad_input& error) {
    EXPECT_THAT(error.remedy(), ::testing::HasSubstr("correct the template"));
    return error.what();
  }
}

std::string value_shown(const std::string& value, const std::string& format) {
  return show("{\"o\": {\"x\": " + value + "}}", "{{ cell(o, \"x\", \"" + format + "\") }}\n");
}

TEST(templates, show_a_value_in_each_format) {
  EXPECT_EQ(value_shown("19258171", "ms"), "19.258171\n");
  EXPECT_EQ(value_shown("1500000.5", "ms"), "1.500001\n");
  EXPECT_EQ(value_shown("98700000", "duration"), "98.7 ms\n");
  EXPECT_EQ(value_shown("793000", "bytes"), "793 kB\n");
  EXPECT_EQ(value_shown("0.7234", "percent"), "72.3 %\n");
  EXPECT_EQ(value_shown("2934734080", "count"), "2934734080\n");
  EXPECT_EQ(value_shown("7.71e14", "flops_per_s"), "771 TFLOP/s\n");
  EXPECT_EQ(value_shown("4.29e12", "bytes_per_s"), "4.29 TB/s\n");
  EXPECT_EQ(value_shown("0.00000031", "scientific"), "3.10e-07\n");
  EXPECT_EQ(value_shown("0.7134", "energy"), "713 mJ\n");
  EXPECT_EQ(value_shown("1979.5", "mhz"), "1980 MHz\n");
  EXPECT_EQ(value_shown("716.7", "watts"), "717 W\n");
  EXPECT_EQ(value_shown("41.4", "whole"), "41\n");
  EXPECT_EQ(value_shown("0.9999998", "cosine"), "1.000000\n");
  EXPECT_EQ(value_shown("1730.9", "number"), "1731\n");
  EXPECT_EQ(value_shown("84.214", "number"), "84.21\n");
  EXPECT_EQ(value_shown("0.57744", "number"), "0.5774\n");
  EXPECT_EQ(value_shown("17309.2", "number"), "17309\n");
  EXPECT_EQ(value_shown("28", "number"), "28\n");
  EXPECT_EQ(value_shown("0.27423", "spread"), "0.27\n");
  EXPECT_EQ(value_shown("117.5", "spread"), "118\n");
  EXPECT_EQ(value_shown("0.0996", "spread"), "0.10\n");
  EXPECT_EQ(value_shown("0", "spread"), "0\n");
  EXPECT_EQ(value_shown("8030261248", "amount"), "8.03 B\n");
  EXPECT_EQ(value_shown("0.97", "ceiling"), "97.0 %\n");
  EXPECT_EQ(value_shown("1.03", "ceiling"), "≥ 100 %\n");
  EXPECT_EQ(value_shown("[\"a|b\", \"c\"]", "texts"), "a\\|b, c\n");
  EXPECT_EQ(value_shown("[]", "texts"), "none\n");
  EXPECT_EQ(value_shown("\"a|b\"", "text"), "a\\|b\n");
}

TEST(templates, pick_the_rows_that_were_measured) {
  EXPECT_EQ(show(R"({"rows": [{"n": "a", "x": 1}, {"n": "b", "x": null}, {"n": "c", "x": 0}]})",
                 "{% for r in having(rows, \"x\") %}{{ r.n }}{% endfor %}\n"),
            "ac\n");
}

TEST(templates, list_each_value_of_a_column_once) {
  EXPECT_EQ(show(R"({"rows": [{"x": "a"}, {"x": null}, {"x": "b"}, {"x": "a"}]})",
                 "{% for x in distinct(rows, \"x\") %}{{ x }}{% endfor %}\n"),
            "ab\n");
}

TEST(templates, show_why_a_value_is_missing) {
  const std::string json =
      R"({"o": {"x": null, "y": null, "not_measured": {"x": "no <gpu>", "y": "no <gpu>"}}})";
  EXPECT_EQ(show(json, "{{ cell(o, \"x\", \"ms\") }}\n"), "–\n");
  EXPECT_EQ(show(json, "{{ or_reason(o, \"x\", \"ms\") }}\n"), "not measured: no &lt;gpu&gt;\n");
  EXPECT_EQ(
      show(json, "{% for r in reasons(o, [\"x\", \"y\"]) %}{{ r.fields }}: {{ md(r.reason) }}{% endfor %}\n"),
      "x, y: no &lt;gpu&gt;\n");
}

TEST(templates, call_a_missing_field_as_its_column_is_called) {
  EXPECT_EQ(show(R"({"rows": [{"cuda_ns": null, "x": null, "not_measured": {"cuda_ns": "r", "x": "r"}}]})",
                 "{% for e in reasons(rows, [[\"cuda_ns\", \"cuda_time_ms\"], \"x\"]) %}{{ e.fields }}{% "
                 "endfor %}\n"),
            "cuda_time_ms, x\n");
}

TEST(templates, follow_a_pointer_and_say_where_it_ends) {
  const std::string json =
      R"({"e": {"gpus": [{"name": "H200"}], "driver": null, "not_measured": {"driver": "none"}}})";
  EXPECT_EQ(show(json, "{{ fact(e, \"/gpus/0/name\", \"text\") }}\n"), "H200\n");
  EXPECT_EQ(show(json, "{{ fact(e, \"/gpus/1/name\", \"text\") }}\n"), "not recorded\n");
  EXPECT_EQ(show(json, "{{ fact(e, \"/driver/version\", \"text\") }}\n"), "not measured: none\n");
  EXPECT_EQ(show(json, "{{ fact(e, \"/host\", \"text\") }}\n"), "not recorded\n");
}

TEST(templates, know_no_fact_that_is_called_unknown) {
  const std::string json = R"({"e": {"compiler": "unknown unknown", "type": "Release", "none": null}})";
  const auto is_known = [&](const std::string& key) {
    return show(json, "{% if is_known(e, \"/" + key + "\") %}yes{% else %}no{% endif %}\n");
  };
  EXPECT_EQ(is_known("compiler"), "no\n");
  EXPECT_EQ(is_known("type"), "yes\n");
  EXPECT_EQ(is_known("none"), "no\n");
}

TEST(templates, shorten_names_and_escape_links_and_html) {
  const std::string json =
      "{\"n\": \"" + std::string(500, 'k') + "\", \"p\": \"a b(1)|.md\", \"h\": \"<b>\"}";
  EXPECT_LE(show(json, "{{ name(n) }}").size(), 161U);
  EXPECT_EQ(show(json, "{{ link(p) }}\n"), "a%20b%281%29%7C.md\n");
  EXPECT_EQ(show(json, "{{ html(h) }}\n"), "&lt;b&gt;\n");
}

TEST(templates, tell_kernels_apart_whose_short_names_are_alike) {
  const auto kernel = [](char middle, std::size_t length) {
    return "void f<" + std::string(length, middle) + ">(T)";
  };
  const auto long_name = [&](char middle) {
    return std::string(100, 'a') + kernel(middle, 300) + std::string(100, 'z');
  };
  const std::string json = R"({"kernels": {"overall": [{"kernel_name": ")" + long_name('x') +
                           R"("}, {"kernel_name": ")" + long_name('y') + R"("}, {"kernel_name": ")" +
                           kernel('x', 3) + R"("}, {"kernel_name": ")" + kernel('x', 300) +
                           R"("}]}, "stages": [{"kernels": [{"kernel_name": ")" + long_name('y') +
                           R"("}, {"kernel_name": ")" + long_name('x') + R"("}]}]})";
  std::istringstream lines(
      show(json,
           "{% for k in kernels.overall %}{{ cell(k, \"kernel_name\", \"name\") }}\n{% endfor %}"
           "{% for s in stages %}{% for k in s.kernels %}{{ cell(k, \"kernel_name\", \"name\") }}\n"
           "{% endfor %}{% endfor %}"));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) names.push_back(line);
  ASSERT_EQ(names.size(), 6U);
  EXPECT_THAT(names[0], ::testing::HasSubstr("xxx"));
  EXPECT_THAT(names[1], ::testing::HasSubstr("yyy"));
  EXPECT_EQ(names[2], "f&lt;xxx&gt;");
  EXPECT_THAT(names[3], ::testing::StartsWith("f&lt;xxx")) << "cut, but like no other";
  EXPECT_EQ(names[4], names[1]) << "the same in every table";
  EXPECT_EQ(names[5], names[0]);
}

TEST(templates, line_up_tables_and_drop_spare_blank_lines) {
  EXPECT_EQ(show("{}", "\n# T\n\n\n\n|a|number|\n|---|---:|\n| long\\|er | 7 |\n|é|12|\n\n\n"),
            "# T\n\n"
            "| a        | number |\n"
            "| -------- | -----: |\n"
            "| long\\|er |      7 |\n"
            "| é        |     12 |\n");
  EXPECT_EQ(show("{}", "| not a table\n"), "| not a table\n");
}

TEST(template_errors, name_file_line_and_column) {
  const std::string missing = template_complaint("{}", "fine\n{{ nothing.here }}\n");
  EXPECT_THAT(missing, ::testing::StartsWith("t.inja:2:4: "));
  EXPECT_THAT(missing, ::testing::HasSubstr("'nothing.here'"));
  EXPECT_THAT(template_complaint("{}", "a\nb\n{% frobnicate %}\n"), ::testing::StartsWith("t.inja:3:"));
  EXPECT_THAT(template_complaint("{}", "{{ unknown(1) }}"), ::testing::HasSubstr("t.inja:1:"));
}

TEST(template_errors, name_the_field_or_format_that_a_function_misses) {
  EXPECT_EQ(template_complaint("{\"o\": {}}", "{{ cell(o, \"mean\", \"ms\") }}"),
            "t.inja: there is no field 'mean' to show");
  EXPECT_EQ(template_complaint("{\"o\": {\"x\": 1}}", "{{ cell(o, \"x\", \"km\") }}"),
            "t.inja: there is no format 'km'");
}

TEST(render_reports, refuses_a_profile_that_is_not_valid) {
  EXPECT_THROW(render_reports("{}", PROFGATE_TEMPLATES_DIR, "out", [](const auto&, auto) {}),
               core::bad_input);
}

TEST(render_reports, makes_those_of_a_profile_that_an_earlier_profgate_wrote) {
  std::ifstream stream(std::string(PROFGATE_GOLDEN_DIR) + "/gpu_kernels/profile.json");
  nlohmann::json profile = nlohmann::json::parse(stream);
  profile["model"].erase("variant");
  profile["kernels"].erase("source");
  profile["kernels"].erase("top_share_ratio");
  for (nlohmann::json& stage : profile["stages"]) {
    stage.erase("top_kernels_share_ratio");
    stage.erase("step");
    stage["idle"].erase("pause_ns");
    stage["idle"].erase("is_traced");
    stage["traced"]["activity"].erase("gap_pause_ns");
  }
  for (nlohmann::json& item : profile["findings"]["recommendations"]) item.erase("saves_at_most_ratio_of");
  std::size_t written = 0;
  EXPECT_NO_THROW(
      render_reports(profile.dump(), PROFGATE_TEMPLATES_DIR, "run", [&](const auto&, auto) { ++written; }));
  EXPECT_GE(written, reports().size() + 1);
}

TEST(render_reports, says_which_template_is_missing) {
  const std::string profile = analysis::profile_json(golden_cases().front().facts);
  const fs::path empty_dir =
      fs::path(::testing::TempDir()) / ("profgate-no-templates-" + std::to_string(::getpid()));
  try {
    render_reports(profile, empty_dir, "out", [](const auto&, auto) {});
    FAIL() << "a missing template was accepted";
  } catch (const core::bad_input& error) {
    EXPECT_EQ(error.what(), (empty_dir / "icicle.svg.inja").string() + ": cannot be read");
  }
}

/// The headings of one report of every golden case.
std::vector<std::vector<std::string>> headings_of(const std::string& output_file) {
  std::vector<std::vector<std::string>> all;
  for (const golden_case& entry : golden_cases()) {
    std::vector<std::string> headings;
    render_reports(analysis::profile_json(entry.facts), PROFGATE_TEMPLATES_DIR, "",
                   [&](const fs::path& path, std::string_view text) {
                     if (path != output_file) return;
                     std::istringstream lines{std::string(text)};
                     for (std::string line; std::getline(lines, line);) {
                       if (line.starts_with("## ")) headings.push_back(line.substr(3));
                     }
                   });
    all.push_back(std::move(headings));
  }
  return all;
}

TEST(stakeholder_summary, has_its_sections_and_kernels_only_where_there_are_some) {
  const std::vector<std::string> without_kernels{
      "Executive Summary", "Environment",   "Aggregates",      "Per-Stage Timings", "MFU",
      "Stage Takeaways",   "Top Operators", "Recommendations", "Not Measured"};
  std::vector<std::string> with_kernels = without_kernels;
  with_kernels.insert(with_kernels.end() - 2, "Top Kernels");
  const auto all = headings_of("stakeholder_summary.md");
  EXPECT_EQ(all.front(), without_kernels);
  EXPECT_EQ(all.back(), with_kernels);
}

TEST(stakeholder_summary, of_a_program_that_tells_nothing_has_no_empty_sections) {
  EXPECT_THAT(headings_of("stakeholder_summary.md")[1],  // generic_program
              ::testing::ElementsAre("Executive Summary", "Environment", "Aggregates", "Per-Stage Timings",
                                     "Stage Takeaways", "Recommendations", "Not Measured"));
}

TEST(render_reports, every_report_says_why_there_are_no_counters) {
  const std::string reason = "the driver gives GPU counters to <administrators> only (ERR_NVGPUCTRPERM)";
  analysis::run_facts facts = golden_cases().back().facts;
  facts.counters = {};
  facts.counters.absent_reason = reason;
  facts.steps[3] = {"counters", core::step_state::skipped, reason, "run as root", {}, "ncu", "2025.3.1", {}};
  std::map<std::string, std::string> text_of;
  render_reports(analysis::profile_json(facts), PROFGATE_TEMPLATES_DIR, "",
                 [&](const fs::path& path, std::string_view text) { text_of[path.string()] = text; });
  for (const report& entry : reports()) {
    const bool is_html = entry.output_file.ends_with(".html");
    EXPECT_THAT(text_of[entry.output_file],
                ::testing::HasSubstr(is_html ? core::escape_html(reason) : core::escape_markdown(reason)))
        << entry.output_file;
  }
}

TEST(report, tells_which_part_of_the_run_was_recorded) {
  analysis::run_facts facts = golden_cases().back().facts;
  for (analysis::capture& capture : facts.captures) {
    capture.gate.reset();
    capture.part = "from 1 s, for 2 s";
  }
  std::string shown;
  render_reports(analysis::profile_json(facts), PROFGATE_TEMPLATES_DIR, "",
                 [&](const fs::path& path, std::string_view text) {
                   if (path == "report.md") shown = text;
                 });
  EXPECT_THAT(shown, ::testing::AllOf(::testing::HasSubstr(", from 1 s, for 2 s."),
                                      ::testing::Not(::testing::HasSubstr("the whole run"))));
}

TEST(report, leaves_out_what_holds_no_figure_and_keeps_the_order_of_the_rest) {
  const std::vector<std::string> sections{
      "What to Do",       "Model", "Per-Stage Timings", "Tokens, Memory and Energy",
      "Clocks and Power", "MFU",   "Busy and Idle",     "Tracing Overhead",
      "Counters",         "Steps", "Artifacts",         "Provenance",
      "Not Measured"};
  const auto all = headings_of("report.md");
  for (const auto& headings : all) {
    auto next = sections.begin();
    for (const std::string& heading : headings) {
      next = std::find(next, sections.end(), heading);
      ASSERT_NE(next, sections.end()) << heading;
    }
  }
  EXPECT_THAT(all[1],  // generic_program: one process that was timed
              ::testing::ElementsAre("Per-Stage Timings", "Tokens, Memory and Energy", "Steps", "Artifacts",
                                     "Provenance", "Not Measured"));
}

TEST(report, says_that_nothing_stands_out_only_where_something_was_measured_that_would_tell) {
  const auto what_is_said = [](const analysis::run_facts& facts) {
    nlohmann::json profile = nlohmann::json::parse(analysis::profile_json(facts));
    profile["findings"]["recommendations"] = nlohmann::json::array();
    profile["findings"]["takeaways"] = nlohmann::json::array();
    std::string html;
    std::string summary;
    render_reports(profile.dump(), PROFGATE_TEMPLATES_DIR, "",
                   [&](const fs::path& path, std::string_view text) {
                     if (path == "report.html") html = text;
                     if (path == "stakeholder_summary.md") summary = text;
                   });
    return std::pair(html, summary);
  };
  const auto [measured_html, measured_summary] = what_is_said(golden_cases().front().facts);
  EXPECT_THAT(measured_html, ::testing::HasSubstr("<p class=\"quiet\">Nothing stands out.</p>"));
  EXPECT_THAT(measured_summary,
              ::testing::AllOf(::testing::HasSubstr("\nNothing stands out.\n"),
                               ::testing::HasSubstr("\nThe data of this run suggests nothing to change.\n")));
  analysis::run_facts program = golden_cases()[1].facts;
  const auto [html, summary] = what_is_said(program);
  for (const std::string& text : {html, summary}) {
    EXPECT_THAT(text, ::testing::HasSubstr("Nothing was measured that would tell what to change: no trace "
                                           "(timeline is set to none; set timeline=auto), no counters ("));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("Nothing stands out")));
    EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("suggests nothing to change")));
  }
  program.steps[2].state = core::step_state::ok;
  EXPECT_THAT(what_is_said(program).first, ::testing::HasSubstr("a trace without operators and kernels"));
}

TEST(report, says_a_reason_once) {
  const auto times_in = [](const std::string& text, const std::string& words) {
    std::size_t count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
  };
  const analysis::run_facts program = golden_cases()[1].facts;
  render_reports(analysis::profile_json(program), PROFGATE_TEMPLATES_DIR, "",
                 [&](const fs::path& path, std::string_view text) {
                   if (path != "report.md" && path != "report.html" && path != "stakeholder_summary.md")
                     return;
                   EXPECT_EQ(times_in(std::string(text), program.bare.bench_absent_reason), 1U) << path;
                 });
}

}  // namespace
}  // namespace profgate::render
