#include "render/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/profile.h"
#include "core/json.h"
#include "counters_view.h"
#include "earlier_profiles.h"
#include "energy_notes.h"
#include "headline.h"
#include "missing.h"
#include "nested_operators.h"
#include "picture_files.h"
#include "report_page.h"
#include "report_tables.h"
#include "savings_view.h"
#include "short_names.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

json report_list() {
  json list = json::array();
  for (const report& entry : reports()) list.push_back({{"path", entry.output_file}, {"title", entry.title}});
  return list;
}

/// What of the machine the run used: a GPU and a profiler may be there without.
void put_what_was_used(json& document) {
  document["has_run_on_gpu"] = text_or_empty(document["run"], "device") != "cpu" &&
                               is_known(document["environment"], "/gpu_at_start/devices/0/name");
  const json& captures = document["timeline"]["captures"];
  document["has_used_nsys"] = std::any_of(captures.begin(), captures.end(), [](const json& capture) {
    return text_or_empty(capture, "tool") == "nsys";
  });
  document["has_used_ncu"] = !having(document["stages"], "counters").empty();
}

/// A prompt with images is longer than the text that was asked for.
void put_prompt_note(json& document) {
  const auto real = number(document["throughput"], "prompt_tokens_count");
  for (json& input : document["inputs"]) {
    input["note"] = "";
    if (!real || text_or_empty(input, "name") != "prompt_tokens") continue;
    const std::string real_text = fmt::format("{:.0f}", *real);
    const std::string asked = text_or_empty(input, "value");  // "24", or "24, read off the model's inputs"
    if (asked.substr(0, asked.find(',')) != real_text)
      input["note"] = fmt::format(" of text; the prompts that ran had {}", real_text);
  }
}

}  // namespace

const std::vector<report>& reports() {
  static const std::vector<report> table{
      {"stakeholder_summary.md.inja", "stakeholder_summary.md", "Summary for stakeholders"},
      {"report.md.inja", "report.md", "Report"},
      {"report.html.inja", "report.html", "Report with pictures"},
      {"operators.md.inja", "operators.md", "Time by operator"},
      {"kernels.md.inja", "kernels.md", "Time by kernel"},
      {"regions.md.inja", "ncu/regions/report.md", "Time by region"},
  };
  return table;
}

std::string render_text(std::string_view document_text, std::string_view template_text,
                        const std::string& template_file) {
  json document = core::parse_json(document_text);
  shorten_kernel_names(document, kernel_names_of(document));
  return tidy_markdown(fill_template(document, template_text, template_file));
}

std::vector<std::filesystem::path> render_reports(std::string_view profile_json_text,
                                                  const std::filesystem::path& templates_dir,
                                                  const std::filesystem::path& output_dir,
                                                  const report_writer& writer,
                                                  const std::optional<gate::judgement>& judged) {
  analysis::validate_profile(profile_json_text, (output_dir / "profile.json").string());
  json document = core::parse_json(profile_json_text);
  put_later_fields(document);
  const core::short_kernel_names names = kernel_names_of(document);
  document["pictures"] = report_pictures(document, names, judged);
  const std::vector<picture_file> pictures = draw_pictures(document, templates_dir);
  put_stage_words(document);
  put_savings(document);
  document["missing"] = missing_figures(document);
  document["missing_telemetry"] = missing_telemetry(document);
  document["energy_notes"] = energy_notes(document);
  document["findings"]["why_nothing_is_told"] = why_nothing_is_told(document);
  document["reports"] = report_list();
  document["vision_parts"] = parts_of_vision(document);
  put_what_was_used(document);
  put_prompt_note(document);
  document["has_experts"] = std::any_of(document["stages"].begin(), document["stages"].end(),
                                        [](const json& stage) { return stage.contains("experts"); });
  put_counter_tables(document);
  document["token_times_note"] = token_times_note(document);
  document["above_roof"] = kernels_above_roof(document["stages"]);
  put_own_times(document);
  leave_out_unlisted(document);
  shorten_kernel_names(document, names);
  std::vector<std::filesystem::path> written;
  for (const report& entry : reports()) {
    const std::string text = fill_template_file(document, templates_dir / entry.template_file);
    written.push_back(output_dir / entry.output_file);
    writer(written.back(), written.back().extension() == ".md" ? tidy_markdown(text) : text);
  }
  for (const picture_file& picture : pictures) {
    written.push_back(output_dir / picture.path);
    writer(written.back(), picture.text);
  }
  // The regions once more for programs: they may be long, and not everyone wants the rest.
  const auto profile = core::parse_ordered_json(profile_json_text);
  written.push_back(output_dir / "ncu" / "regions" / "report.json");
  writer(written.back(), core::json_text(nlohmann::ordered_json{{"schema_version", profile["schema_version"]},
                                                                {"run", profile["run"]},
                                                                {"regions", profile["regions"]}}));
  return written;
}

}  // namespace profgate::render
