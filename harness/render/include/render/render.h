#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/judgement.h"

/// Turns profile.json into what people read. A pure function of the document and the templates, which see its
/// fields and beside them `pictures` (report_page.h), `reports` and the columns of the counters (render.cpp).
namespace profgate::render {

/// Writes one finished file; the caller decides how (atomically, into memory, ...).
using report_writer = std::function<void(const std::filesystem::path&, std::string_view)>;

struct report {
  std::string template_file;  ///< in templates/
  std::string output_file;    ///< in the run directory
  std::string title;          ///< of the link in report.md
};

/// Every report there is, in the order in which a person reads them. A new report is a template and a row
/// here.
const std::vector<report>& reports();

/// Renders one Markdown template's text; `template_file` is the name that errors carry.
std::string render_text(std::string_view document_text, std::string_view template_text,
                        const std::string& template_file);

/// Renders all reports() into `output_dir` and returns the paths; `judged`: the run's verdict, where it has
/// one. Throws core::bad_input where the profile is not valid, a template is missing, or a template is wrong
/// (file:line:column).
std::vector<std::filesystem::path> render_reports(std::string_view profile_json_text,
                                                  const std::filesystem::path& templates_dir,
                                                  const std::filesystem::path& output_dir,
                                                  const report_writer& writer,
                                                  const std::optional<gate::judgement>& judged = {});

/// What a run comes to, in three lines for a terminal: its headline figures, what bounds the stage that takes
/// most, and the verdict. What is not known says so, with the reason; where nobody wanted a verdict (no
/// reason), its line is left out.
std::vector<std::string> closing_lines(std::string_view profile_json_text,
                                       const std::optional<gate::judgement>& judged,
                                       const std::string& not_judged_because);

}  // namespace profgate::render
