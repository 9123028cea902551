#include "render/render.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/figures.h"
#include "analysis/profile.h"
#include "core/json.h"
#include "missing.h"
#include "report_page.h"
#include "short_names.h"
#include "template_engine.h"
#include "tidy_markdown.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// The columns of counted kernels that their descriptions ask for, and all whose absence is explained.
void put_counter_columns(json& document) {
  json columns = json::array();
  json keys{"share_ratio"};
  for (const analysis::figure_description& figure : analysis::figures_of("stages[].counters.kernels[]")) {
    if (figure.shown.label.empty()) continue;
    columns.push_back({{"key", figure.key}, {"label", figure.shown.label}, {"format", figure.shown.format}});
    keys.push_back(figure.key);
  }
  keys.push_back("bound");
  document["counter_columns"] = std::move(columns);
  document["counter_keys"] = std::move(keys);
}

/// What a profile.json of the same version lacks that an earlier profgate wrote: reports are made again of
/// any.
void put_later_fields(json& document) {
  const auto put_null = [](json& object, const char* key) {
    if (object.contains(key)) return;
    object[key] = nullptr;
    object["not_measured"][key] = "an earlier profgate wrote this profile.json, which did not tell it";
  };
  put_null(document["model"], "variant");
  put_null(document["throughput"]["tpot"], "by_token_ns");
  put_null(document["kernels"], "source");
  put_null(document["kernels"], "top_share_ratio");
  for (json& stage : document["stages"]) {
    put_null(stage, "top_kernels_share_ratio");
    put_null(stage, "step");
    if (stage["idle"].is_object()) {
      put_null(stage["idle"], "pause_ns");
      if (!stage["idle"].contains("is_traced")) stage["idle"]["is_traced"] = false;
    }
    if (stage["counters"].is_object())
      for (json& kernel : stage["counters"]["kernels"])
        for (const analysis::figure_description& figure : analysis::figures_of("stages[].counters.kernels[]"))
          put_null(kernel, figure.key.c_str());
    if (stage["traced"].is_object() && stage["traced"]["activity"].is_object())
      put_null(stage["traced"]["activity"], "gap_pause_ns");
  }
  for (json& item : document["findings"]["recommendations"]) {
    if (!item.is_object()) continue;
    if (!item.contains("saves_at_most_ratio_of")) item["saves_at_most_ratio_of"] = "the whole";
    put_null(item, "kernel_name");
    put_null(item, "op_name");
  }
}

json report_list() {
  json list = json::array();
  for (const report& entry : reports()) list.push_back({{"path", entry.output_file}, {"title", entry.title}});
  return list;
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
  tell_short_names_apart(document);
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
  document["pictures"] = report_pictures(document, judged);
  document["missing"] = missing_figures(document);
  document["reports"] = report_list();
  document["has_experts"] = std::any_of(document["stages"].begin(), document["stages"].end(),
                                        [](const json& stage) { return stage.contains("experts"); });
  put_counter_columns(document);
  tell_short_names_apart(document);
  std::vector<std::filesystem::path> written;
  for (const report& entry : reports()) {
    const std::string text = fill_template_file(document, templates_dir / entry.template_file);
    written.push_back(output_dir / entry.output_file);
    writer(written.back(), written.back().extension() == ".md" ? tidy_markdown(text) : text);
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
