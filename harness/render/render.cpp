#include "render/render.h"

#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "core/json.h"
#include "report_page.h"
#include "short_names.h"
#include "template_engine.h"
#include "tidy_markdown.h"

namespace profgate::render {

const std::vector<report>& reports() {
  static const std::vector<report> table{
      {"kernels.md.inja", "kernels.md"},
      {"operators.md.inja", "operators.md"},
      {"report.md.inja", "report.md"},
      {"stakeholder_summary.md.inja", "stakeholder_summary.md"},
      {"regions.md.inja", "ncu/regions/report.md"},
  };
  return table;
}

std::string render_text(std::string_view profile_json_text, std::string_view template_text,
                        const std::string& template_file) {
  nlohmann::json profile = core::parse_json(profile_json_text);
  tell_short_names_apart(profile);
  return tidy_markdown(fill_template(profile, template_text, template_file));
}

std::vector<std::filesystem::path> render_reports(std::string_view profile_json_text,
                                                  const std::filesystem::path& templates_dir,
                                                  const std::filesystem::path& output_dir,
                                                  const report_writer& writer) {
  analysis::validate_profile(profile_json_text, (output_dir / "profile.json").string());
  std::vector<std::filesystem::path> written;
  for (const report& entry : reports()) {
    const std::filesystem::path template_path = templates_dir / entry.template_file;
    const std::string text =
        render_text(profile_json_text, read_template(template_path), template_path.string());
    written.push_back(output_dir / entry.output_file);
    writer(written.back(), text);
  }
  nlohmann::json page = core::parse_json(profile_json_text);
  page["pictures"] = report_pictures(page);
  written.push_back(output_dir / "report.html");
  writer(written.back(), fill_template_file(page, templates_dir / "report.html.inja"));
  // The regions once more for programs: they may be long, and not everyone wants the rest.
  const auto profile = core::parse_ordered_json(profile_json_text);
  written.push_back(output_dir / "ncu" / "regions" / "report.json");
  writer(written.back(), core::json_text(nlohmann::ordered_json{{"schema_version", profile["schema_version"]},
                                                                {"run", profile["run"]},
                                                                {"regions", profile["regions"]}}));
  return written;
}

}  // namespace profgate::render
