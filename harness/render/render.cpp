#include "render/render.h"

#include <fmt/format.h>

#include <fstream>
#include <inja/inja.hpp>
#include <iterator>

#include "analysis/profile.h"
#include "core/error.h"
#include "core/escape.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

const std::string& text_argument(const inja::Arguments& arguments, std::size_t index) {
  if (!arguments.at(index)->is_string()) {
    throw std::invalid_argument(fmt::format("argument {} is no text", index + 1));
  }
  return arguments.at(index)->get_ref<const std::string&>();
}

void add_callbacks(inja::Environment& environment) {
  environment.add_callback(
      "md", 1, [](inja::Arguments& a) { return json(core::escape_markdown(text_argument(a, 0))); });
  environment.add_callback("name", 1,
                           [](inja::Arguments& a) { return json(markdown_name(text_argument(a, 0))); });
  environment.add_callback("html", 1,
                           [](inja::Arguments& a) { return json(core::escape_html(text_argument(a, 0))); });
  environment.add_callback("link", 1,
                           [](inja::Arguments& a) { return json(link_target(text_argument(a, 0))); });
  environment.add_callback("cell", 3, [](inja::Arguments& a) {
    return json(cell(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("or_reason", 3, [](inja::Arguments& a) {
    return json(or_reason(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("column", 2,
                           [](inja::Arguments& a) { return column(*a.at(0), text_argument(a, 1)); });
  environment.add_callback("having", 2,
                           [](inja::Arguments& a) { return having(*a.at(0), text_argument(a, 1)); });
  environment.add_callback("reasons", 2, [](inja::Arguments& a) { return reasons(*a.at(0), *a.at(1)); });
  environment.add_callback("fact", 3, [](inja::Arguments& a) {
    return json(fact(*a.at(0), text_argument(a, 1), text_argument(a, 2)));
  });
  environment.add_callback("is_null", 1, [](inja::Arguments& a) { return json(a.at(0)->is_null()); });
  environment.add_callback("take", 2,
                           [](inja::Arguments& a) { return first(*a.at(0), a.at(1)->get<std::size_t>()); });
}

inja::Environment make_environment() {
  inja::Environment environment;
  // The engine's own "##" for line statements would swallow every Markdown heading.
  environment.set_line_statement("#!statement");
  environment.set_trim_blocks(true);
  environment.set_lstrip_blocks(true);
  environment.set_search_included_templates_in_files(false);
  add_callbacks(environment);
  return environment;
}

[[noreturn]] void reject_template(const std::string& file, const std::string& what) {
  throw core::bad_input(file + ": " + what,
                        "correct the template; harness/analysis/PROFILE.md lists the fields");
}

std::string read_template(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw core::bad_input(path.string(), 0, "cannot be read",
                          "point at profgate's templates folder, or install profgate again");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

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
  const json profile = json::parse(profile_json_text);
  inja::Environment environment = make_environment();
  try {
    const inja::Template parsed = environment.parse(std::string(template_text));
    return tidy_markdown(environment.render(parsed, profile));
  } catch (const inja::InjaError& error) {
    reject_template(fmt::format("{}:{}:{}", template_file, error.location.line, error.location.column),
                    error.message);
  } catch (const std::exception& error) {
    // A callback's own complaint; the engine does not say from where it was called.
    reject_template(template_file, error.what());
  }
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
  // The regions once more for programs: they may be long, and not everyone wants the rest.
  const auto profile = nlohmann::ordered_json::parse(profile_json_text);
  written.push_back(output_dir / "ncu" / "regions" / "report.json");
  writer(written.back(), nlohmann::ordered_json{{"schema_version", profile["schema_version"]},
                                                {"run", profile["run"]},
                                                {"regions", profile["regions"]}}
                                 .dump(2) +
                             "\n");
  return written;
}

}  // namespace profgate::render
