// The reports of recorded runs, analysed again, as golden files: report.md, stakeholder_summary.md, and of
// report.html what a reader sees of it (report.txt), since the page itself is some hundred kilobytes.
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "pair_fixture.h"

namespace profgate::integration {
namespace {

namespace fs = std::filesystem;

const fs::path recordings = fs::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1";

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Without tags, styles and programs, a line for each block of text.
std::string visible_text(std::string page) {
  for (const char* hidden : {"style", "script"}) {
    for (std::size_t start = page.find(std::string("<") + hidden); start != std::string::npos;
         start = page.find(std::string("<") + hidden)) {
      const std::string closing = std::string("</") + hidden + ">";
      page.erase(start, page.find(closing, start) + closing.size() - start);
    }
  }
  std::string text;
  bool is_in_tag = false;
  for (const char c : page) {
    if (c == '<') is_in_tag = true;
    if (!is_in_tag) text += c;
    if (c == '>') {
      is_in_tag = false;
      text += ' ';
    }
  }
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kept;
    for (std::string word; words >> word;) kept += (kept.empty() ? "" : " ") + word;
    if (!kept.empty()) result += kept + "\n";
  }
  return result;
}

/// What an A4 page holds of text of 8 points within margins of 12 mm.
constexpr std::size_t most_lines_on_paper = 78;

/// Lines of a Markdown text as they are printed: text is wrapped at 100 letters, a picture is as high as the
/// icicle is, and what only parts blocks takes a third of a line.
std::size_t lines_on_paper(const std::string& markdown) {
  constexpr std::size_t letters_a_line = 100;
  constexpr std::size_t picture_lines = 5;
  std::string text = std::regex_replace(markdown, std::regex("\\]\\([^)]*\\)"), "]");
  text = std::regex_replace(text, std::regex("&(lt|gt|amp|quot|#39);"), "'");
  text = std::regex_replace(text, std::regex("\\\\([^A-Za-z0-9])"), "$1");
  text = std::regex_replace(text, std::regex(" +"), " ");  // of tables, which are as wide as their cells
  std::istringstream lines(text);
  std::size_t whole = 0;
  std::size_t blocks = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto letters = static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (line.empty()) {
      ++blocks;
    } else if (line.starts_with("![")) {
      whole += picture_lines;
    } else if (!line.starts_with("| --")) {
      whole += (letters + letters_a_line - 1) / letters_a_line;
    }
  }
  return whole + blocks / 3;
}

/// The first line that differs; empty: none does.
std::string first_other_line(const std::string& expected, const std::string& actual) {
  std::istringstream wanted(expected);
  std::istringstream got(actual);
  for (int number = 1;; ++number) {
    std::string a;
    std::string b;
    const bool has_a = static_cast<bool>(std::getline(wanted, a));
    const bool has_b = static_cast<bool>(std::getline(got, b));
    if (!has_a && !has_b) return "";
    if (a != b || has_a != has_b)
      return "line " + std::to_string(number) + "\n  expected: " + a + "\n  got:      " + b;
  }
}

class recorded_reports : public pair_fixture {
 protected:
  /// What differs from day to day: when files that somebody sent were analysed, and how large files are.
  static std::string masked(std::string text) {
    text = std::regex_replace(text, std::regex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]+Z"), "(time)");
    text = std::regex_replace(text, std::regex("hash [0-9a-f]{16}"), "hash (hash)");
    const std::string data = PROFGATE_TEST_DATA;
    for (std::size_t at = text.find(data); at != std::string::npos; at = text.find(data))
      text.replace(at, data.size(), "(data)");
    return std::regex_replace(
        text, std::regex("((?:\\.json|\\.gz|\\.md|\\.svg|\\.html)\\)?,? )[0-9.]+ [kM]?B"), "$1(size)");
  }

  void expect_golden(const fs::path& run, const std::string& name) const {
    const fs::path golden = fs::path(PROFGATE_GOLDEN_DIR) / "recorded" / name;
    const std::map<std::string, std::string> shown{
        {"report.md", content_of(run / "report.md")},
        {"stakeholder_summary.md", content_of(run / "stakeholder_summary.md")},
        {"report.txt", visible_text(content_of(run / "report.html"))}};
    for (const auto& [file, text] : shown) {
      ASSERT_FALSE(text.empty()) << file;
      if (std::getenv("PROFGATE_UPDATE_GOLDENS") != nullptr) {
        fs::create_directories(golden);
        std::ofstream(golden / file, std::ios::binary) << masked(text);
      }
      EXPECT_EQ(first_other_line(content_of(golden / file), masked(text)), "")
          << golden / file << "; if that is meant, run this test with PROFGATE_UPDATE_GOLDENS=1";
    }
    const std::string summary = shown.at("stakeholder_summary.md");
    EXPECT_LE(lines_on_paper(summary), most_lines_on_paper) << "it is one page";
    EXPECT_LE(fs::file_size(run / "report.html"), 300'000U);
    for (const std::string& report : {shown.at("report.md"), summary}) {
      const std::regex picture("!\\[[^\\]]*\\]\\(([^)]+)\\)");
      for (std::sregex_iterator found(report.begin(), report.end(), picture), end; found != end; ++found)
        EXPECT_TRUE(fs::exists(run / (*found)[1].str())) << (*found)[1].str();
    }
  }

  static void expect_links(const fs::path& run) {
    const std::string page = content_of(run / "report.html");
    const std::regex link("href=\"([^\"]+)\"");
    for (std::sregex_iterator found(page.begin(), page.end(), link), end; found != end; ++found)
      EXPECT_TRUE(fs::exists(run / (*found)[1].str())) << (*found)[1].str() << " leads nowhere";
  }

  fs::path bundle(const std::string& started, const std::string& pair) const {
    const fs::path run = m_project / (started + "-" + pair);
    fs::copy(recordings / pair, run, fs::copy_options::recursive);
    return run;
  }

  /// A run of which only its profile was kept.
  fs::path profile_only(const std::string& name) const {
    const fs::path data = fs::path(PROFGATE_TEST_DATA) / "profiles/cpu" / name;
    const fs::path run = m_project / content_of(data / "run_id.txt");
    fs::create_directories(run);
    for (const char* file : {"profile.json", "run.json"}) fs::copy_file(data / file, run / file);
    return run;
  }
};

TEST_F(recorded_reports, of_a_dense_model) {
  const fs::path run = bundle("20261117-235756", "llama-3.1-8b.decode-b1");
  const command_result result = profgate({"analyze", run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_golden(run, "dense");
  expect_links(run);
}

TEST_F(recorded_reports, of_a_run_without_counters) {
  const fs::path run = bundle("20261117-235756", "llama-3.1-8b.decode-b1");
  fs::remove_all(run / "ncu");
  fs::remove(run / "profile.json");
  const command_result result = profgate({"analyze", run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_golden(run, "without_counters");
}

TEST_F(recorded_reports, of_a_pytorch_program) {
  const fs::path out = m_project / "llama_steps";
  const command_result result =
      profgate({"analyze", "--timeline", (recordings / "pytorch-2.11/llama_steps.sqlite").string(), "--out",
                out.string(), "--set", "workload.stages=[prefill, decode]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_golden(out, "pytorch");
  expect_links(out);
  for (const char* report : {"report.md", "stakeholder_summary.md"})
    EXPECT_NE(
        content_of(out / report)
            .find("llama\\_steps.sqlite: recorded 2026-11-16T12:03:03Z on NVIDIA H200 by nsys 2025.3.2.0"),
        std::string::npos)
        << report;
  EXPECT_NE(content_of(out / "report.html").find("llama_steps.sqlite, 2026-11-16T12:03:03Z, on NVIDIA H200"),
            std::string::npos);
}

TEST_F(recorded_reports, of_a_trace_that_was_sent_have_its_layers_as_one) {
  const fs::path out = m_project / "modules";
  const command_result result =
      profgate({"analyze", "--timeline", (recordings / "pytorch-2.11/adapter_graph.sqlite").string(), "--out",
                out.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::string operators = content_of(out / "operators.md");
  EXPECT_NE(operators.find("layers.\\*.attn"), std::string::npos) << operators;
  EXPECT_EQ(operators.find("layers.0"), std::string::npos) << operators;
}

TEST_F(recorded_reports, of_a_trace_of_the_adapter_have_those_of_its_stages_that_it_saw) {
  const fs::path out = m_project / "adapter";
  const command_result result =
      profgate({"analyze", "--timeline", (recordings / "pytorch-2.11/adapter_graph.sqlite").string(), "--out",
                out.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("prefill 47.4 ms, decode_all 108 ms\n"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("note: ranges as profgate's engine and adapter have them"), std::string::npos);
  EXPECT_NE(content_of(out / "report.html").find("<h1>adapter_graph.sqlite</h1>"), std::string::npos);
  const command_result without =
      profgate({"analyze", "--timeline", (recordings / "pytorch-2.11/adapter_graph.sqlite").string(), "--out",
                (m_project / "ranges").string(), "--set", "workload.stages=[prefill, decode_all]"});
  EXPECT_NE(without.output.find("decode_all 5.87 ms (the host's alone)\n"), std::string::npos)
      << without.output;
}

TEST_F(recorded_reports, of_a_run_on_the_cpu) {
  const fs::path run = profile_only("llama-tiny.smoke");
  const command_result result = profgate({"render", run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_golden(run, "cpu");
}

TEST_F(recorded_reports, of_a_model_with_experts) {
  const fs::path run = bundle("20261117-174516", "deepseek-ocr-decoder.decode-b1");
  const command_result result = profgate({"analyze", run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  expect_golden(run, "moe");
  expect_links(run);
}

}  // namespace
}  // namespace profgate::integration
