#include "render/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/figures.h"
#include "analysis/profile.h"
#include "analysis/statistics.h"
#include "core/json.h"
#include "core/units.h"
#include "counters_view.h"
#include "energy_notes.h"
#include "headline.h"
#include "idle_view.h"
#include "missing.h"
#include "nested_operators.h"
#include "picture_files.h"
#include "report_page.h"
#include "savings_view.h"
#include "short_names.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "traced_time.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// An earlier profgate wrote percentiles of any number of samples.
void leave_out_percentiles_of_few(json& times) {
  const auto samples = number(times, "samples_count");
  if (!samples) return;
  const auto count = static_cast<std::size_t>(*samples);
  for (const auto& [name, fewest] :
       {std::pair{"p90", analysis::fewest_for_p90}, std::pair{"p99", analysis::fewest_for_p99}}) {
    const std::string key = std::string(name) + "_ns";
    if (count >= fewest || !number(times, key.c_str())) continue;
    times[key] = nullptr;
    times["not_measured"][key] = analysis::too_few_for(name, fewest, count);
  }
}

/// An earlier profgate wrote no idle time where the traced kernels took longer than the bare stage.
void leave_out_idle_of_none(json& idle) {
  const bool is_earlier = !idle.contains("idle_at_most_ns");
  if (is_earlier && idle["is_traced"] != true && number(idle, "idle_ns") == 0) {
    for (const char* key :
         {"idle_ns", "idle_ratio", "launch_ns", "pause_ns", "synchronisation_ns", "copy_ns", "other_ns"}) {
      idle[key] = nullptr;
      idle["not_measured"][key] =
          "its kernels took as long in the trace as the whole unprofiled stage, or up to 5 % longer: what it "
          "idled is too little to tell";
    }
  }
  if (!is_earlier) return;
  idle["idle_at_most_ns"] = nullptr;
  idle["not_measured"]["idle_at_most_ns"] =
      "an earlier profgate wrote this profile.json, which did not tell it";
}

/// Splits that earlier ones took from the trace were means.
bool is_mean_of_trace(const json& stage) {
  return stage["idle"]["is_traced"] == true && stage["traced"].is_object() &&
         stage["traced"].value("occurrences_count", 0) > 1;
}

/// What a profile.json of the same version lacks that an earlier profgate wrote: reports are made again of
/// any.
void put_later_fields(json& document) {
  const auto put_null = [](json& object, const char* key) {
    if (object.contains(key)) return;
    object[key] = nullptr;
    object["not_measured"][key] = "an earlier profgate wrote this profile.json, which did not tell it";
  };
  if (!document.contains("changed_settings")) document["changed_settings"] = json::array();
  put_null(document["model"], "variant");
  put_null(document["throughput"]["tpot"], "by_token_ns");
  for (const char* key : {"tokens_samples_count", "lengths_that_differ"})
    put_null(document["throughput"], key);
  for (const char* key : {"ttft", "tpot"}) leave_out_percentiles_of_few(document["throughput"][key]);
  put_null(document["kernels"], "source");
  put_null(document["kernels"], "top_share_ratio");
  for (json& stage : document["stages"]) {
    put_null(stage, "top_kernels_share_ratio");
    put_null(stage, "step");
    if (stage["step"].is_object()) {
      for (const char* key : {"range_cost_ns", "range_cost_ratio"}) put_null(stage["step"], key);
      for (const char* key : {"std_ns", "cv_ratio", "min_ns", "max_ns"}) {
        if (!stage["step"].contains(key) && stage["bare"].is_object() && stage["bare"][key].is_number())
          stage["step"][key] = stage["bare"][key];
        put_null(stage["step"], key);
      }
    }
    if (stage["telemetry"].is_object())
      for (const char* key : {"energy_run_ns", "energy_run_power_w"}) put_null(stage["telemetry"], key);
    if (stage["idle"].is_object()) {
      put_null(stage["idle"], "pause_ns");
      for (const char* key : {"after_ns", "unexplained_ns"}) put_null(stage["idle"], key);
      if (!stage["idle"].contains("is_traced")) stage["idle"]["is_traced"] = false;
      leave_out_idle_of_none(stage["idle"]);
      if (!stage["idle"].contains("is_mean")) stage["idle"]["is_mean"] = is_mean_of_trace(stage);
    }
    if (stage["counters"].is_object())
      for (json& kernel : stage["counters"]["kernels"])
        for (const analysis::figure_description& figure : analysis::figures_of("stages[].counters.kernels[]"))
          put_null(kernel, figure.key.c_str());
    if (stage["traced"].is_object() && stage["traced"]["activity"].is_object())
      for (const char* key : {"gap_pause_ns", "gap_after_ns", "launch_call_ns"})
        put_null(stage["traced"]["activity"], key);
  }
  for (json& capture : document["timeline"]["captures"])
    for (const char* key : {"gpu_names", "recorded_utc"}) put_null(capture, key);
  for (json& item : document["findings"]["recommendations"]) {
    if (!item.is_object()) continue;
    if (!item.contains("saves_at_most_ratio_of")) item["saves_at_most_ratio_of"] = "the whole";
    put_null(item, "kernel_name");
    put_null(item, "op_name");
    put_null(item, "adds_up");
    if (!item.contains("is_about_measuring"))
      item["is_about_measuring"] = item.value("saves_at_most_ns", json()).is_null();
  }
}

json largest_by(const json& rows, const char* key) {
  std::vector<json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const json& a, const json& b) {
    return number(a, key).value_or(-1) > number(b, key).value_or(-1);
  });
  return sorted;
}

/// By their own time, on the device where that is known of any.
json largest_operators(const json& operators) {
  return largest_by(operators,
                    has_any(operators, json::array({"cuda_own_ns"})) ? "cuda_own_ns" : "exclusive_ns");
}

/// What tables show of kernels beside their fields: the own time a launch, which adds up where the traced one
/// does not, and the largest by own time.
void put_own_times(json& document) {
  const auto put = [](json& kernels) {
    for (json& kernel : kernels) {
      const auto own_ns = number(kernel, "own_ns");
      const double calls = std::max(1.0, number(kernel, "calls_count").value_or(0));
      kernel["own_a_launch_ns"] = own_ns ? json(*own_ns / calls) : json(nullptr);
    }
  };
  json& kernels = document["kernels"];
  put(kernels["overall"]);
  for (json& stage : document["stages"]) put(stage["kernels"]);
  const bool has_own_times = has_any(kernels["overall"], json::array({"own_ns"}));
  kernels["has_own_times"] = has_own_times;
  double own_ns = 0;
  double calls_outside = 0;
  for (const json& kernel : kernels["overall"]) {
    own_ns += number(kernel, "own_ns").value_or(0);
    calls_outside += number(kernel, "calls_count").value_or(0);
  }
  for (const json& stage : document["stages"])
    for (const json& kernel : stage["kernels"]) calls_outside -= number(kernel, "calls_count").value_or(0);
  kernels["has_some_outside_of_stages"] = calls_outside > 0;
  kernels["own_ns"] = own_ns;
  kernels["largest"] = first(largest_by(kernels["overall"], has_own_times ? "own_ns" : "total_ns"), 5);
}

/// How long the device worked for a stage, for its operators and for each of its steps: where a graph replays
/// operators, and where the host only submits work, the host's times tell nothing of that. Null without
/// kernels.
json device_times_of(const json& stage) {
  const auto own_ns = stage["traced"].is_object() ? number(stage["traced"], "kernel_own_ns") : std::nullopt;
  if (!own_ns || *own_ns <= 0) return nullptr;
  double covered_ns = 0;
  bool is_host_in_any = false;
  for (const json& op : stage["operators"]) {
    covered_ns += number(op, "cuda_own_ns").value_or(0);
    is_host_in_any = is_host_in_any || number(op, "total_ns");
  }
  const json& steps = stage["traced"]["decode_steps"];
  const double steps_count = steps.is_object() ? number(steps, "calls_count").value_or(1) : 1;
  return {{"own_ns", *own_ns},
          {"uncovered_ns", std::max(0.0, *own_ns - covered_ns)},
          {"are_replayed", !is_host_in_any},
          {"own_a_step_ns", *own_ns / std::max(1.0, steps_count)}};
}

/// Of the summary's table of operators, which is to have about four rows and some of every stage.
std::size_t operators_a_stage(const json& stages) {
  constexpr std::size_t most_rows_in_summary = 4;
  const auto with_operators = std::count_if(stages.begin(), stages.end(),
                                            [](const json& stage) { return !stage["operators"].empty(); });
  return std::max<std::size_t>(
      1, most_rows_in_summary / std::max<std::size_t>(1, static_cast<std::size_t>(with_operators)));
}

/// What tables show of a stage beside its fields: its time by the token, and its takeaways together.
void put_stage_words(json& document) {
  bool is_above_ceiling = false;
  const auto look_at = [&](const json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (object.is_object() && found != object.end() && found->is_number())
      is_above_ceiling = is_above_ceiling || found->get<double>() > 1 + core::ceiling_rounding_ratio;
  };
  constexpr const char* shares[] = {"mfu_over_measured_ratio", "mfu_over_vendor_ratio",
                                    "mbu_over_measured_ratio", "mbu_over_vendor_ratio"};
  for (const char* key : shares) look_at(document["throughput"]["utilisation"], key);
  for (json& stage : document["stages"]) {
    for (const char* key : shares) look_at(stage["utilisation"], key);
    const double tokens = decoded_tokens(document, stage);
    const json& median_ns =
        stage["step"].is_object() ? stage["step"]["median_ns"] : stage["bare"]["median_ns"];
    stage["a_token_ns"] =
        tokens > 1 && median_ns.is_number() ? json(median_ns.get<double>() / tokens) : json(nullptr);
    stage["device_times"] = device_times_of(stage);
    stage["idle_shown"] = idle_texts(stage);
    stage["traced_shown"] = traced_time_texts(stage);
    stage["largest_operators"] = largest_operators(stage["operators"]);
    stage["takeaways"] = json::array();
    for (const json& takeaway : document["findings"]["takeaways"])
      if (takeaway.is_object() && takeaway.value("stage", json()) == stage["name"])
        stage["takeaways"].push_back(takeaway.value("text", ""));
  }
  json of_run = json::array();
  for (const json& takeaway : document["findings"]["takeaways"])
    if (takeaway.is_object() && takeaway.value("stage", json()).is_null()) of_run.push_back(takeaway);
  document["run_takeaways"] = distinct(of_run, "text");  // report.md has the evidence of each
  document["is_above_ceiling"] = is_above_ceiling;
  // Columns that hold nothing are left out.
  const json& stages = document["stages"];
  document["has_idle"] = !having(stages, "idle").empty();
  document["has_vendor_peaks"] =
      has_any(column(stages, "utilisation"), json::array({"mfu_over_vendor_ratio", "mbu_over_vendor_ratio"}));
  document["operators_a_stage"] = operators_a_stage(stages);
  document["whose_peaks"] = whose_peaks_of(document["ceilings"]);
  document["has_device_times"] = std::any_of(stages.begin(), stages.end(), [](const json& stage) {
    return has_any(stage["operators"], json::array({"cuda_ns"}));
  });
}

/// Whether a kernel was faster than what set its ceiling, that of arithmetic or that of bandwidth, which is
/// explained where it is so.
json kernels_above_roof(const json& stages) {
  bool is_above_flops = false;
  bool is_above_bytes = false;
  for (const json& stage : stages) {
    if (!stage["counters"].is_object()) continue;
    for (const json& kernel : stage["counters"]["kernels"]) {
      bool is_above = false;
      for (const char* key : {"reached_ratio", "reached_alone_ratio"})
        is_above = is_above || number(kernel, key).value_or(0) > 1 + core::ceiling_rounding_ratio;
      const bool is_of_arithmetic = number(kernel, "flops_over_ceiling_ratio").value_or(0) >
                                    number(kernel, "bytes_over_ceiling_ratio").value_or(0);
      is_above_flops = is_above_flops || (is_above && is_of_arithmetic);
      is_above_bytes = is_above_bytes || (is_above && !is_of_arithmetic);
    }
  }
  return {{"flops", is_above_flops}, {"bytes", is_above_bytes}};
}

/// Templates go through lists again and again, and list the largest kernels only: of more they know the
/// count.
void leave_out_unlisted(json& document) {
  const std::size_t listed =
      std::max<std::size_t>(10, document["run"]["top_n_kernels_count"].get<std::size_t>());
  const auto cut = [&](json& object, const char* key) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_array()) return std::size_t{0};
    const std::size_t count = object[key].size();
    if (count > listed) object[key] = first(object[key], listed);
    return count;
  };
  document["kernels"]["overall_count"] = cut(document["kernels"], "overall");
  for (json& stage : document["stages"]) {
    stage["kernels_count"] = cut(stage, "kernels");
    cut(stage, "kernel_groups");
    cut(stage["counters"], "kernels");
  }
}

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
    if (text_or_empty(input, "value") != real_text)
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
