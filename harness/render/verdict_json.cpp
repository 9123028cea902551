#include "render/verdict_json.h"

#include "analysis/json_object.h"
#include "gate_words.h"

namespace profgate::render {
namespace {

using analysis::json_object;
using nlohmann::ordered_json;

constexpr const char* too_few_runs = "the arms have too few runs for this bound";

void put_bound(json_object& object, const char* key, const std::optional<double>& bound) {
  object.put(key, analysis::or_absent(bound, too_few_runs));
}

ordered_json numbers_json(const gate::comparison& numbers) {
  json_object object;
  object.put("baseline_runs_count", numbers.baseline_runs);
  object.put("candidate_runs_count", numbers.candidate_runs);
  object.put("baseline_median_ns", numbers.baseline_median_ns);
  object.put("candidate_median_ns", numbers.candidate_median_ns);
  object.put("slowdown_ratio", numbers.slowdown_ratio);
  object.put("difference_ns", numbers.difference_ns);
  put_bound(object, "lower_95_ratio", numbers.lower_95_ratio);
  put_bound(object, "upper_95_ratio", numbers.upper_95_ratio);
  put_bound(object, "lower_99_ratio", numbers.lower_99_ratio);
  put_bound(object, "upper_99_ratio", numbers.upper_99_ratio);
  object.put("u_slower_count", numbers.u_slower);
  object.put("p_slower_ratio", numbers.p_slower);
  object.put("p_faster_ratio", numbers.p_faster);
  return object.take();
}

ordered_json exact_json(const gate::exact_comparison& exact) {
  ordered_json changes = ordered_json::array();
  for (const gate::exact_change& change : exact.changes) {
    json_object object;
    object.put("kind", std::string(text_of(exact_kind_words, change.kind)));
    object.put_text("subject", change.subject, "it is a count, not a kernel");
    object.put_text("baseline", change.baseline, "it is a kernel, not a count");
    object.put_text("candidate", change.candidate, "it is a kernel, not a count");
    object.put("fails", change.fails);
    object.put("text", gate::to_text(change));
    changes.push_back(object.take());
  }
  json_object object;
  object.put("fails", exact.fails());
  object.put("changes", std::move(changes));
  ordered_json not_compared = ordered_json::array();
  for (const std::string& sentence : exact.not_compared)
    not_compared.push_back(core::to_valid_utf8(sentence));
  object.put("not_compared", std::move(not_compared));
  return object.take();
}

ordered_json cause_json(gate::cause cause) {
  // before the text is made, so that it is the same of what is read back
  cause.name = core::to_valid_utf8(cause.name);
  cause.baseline_name = core::to_valid_utf8(cause.baseline_name);
  cause.path = core::to_valid_utf8(cause.path);
  const bool is_idle = cause.kind == gate::cause_kind::idle;
  const std::string no_launches = "idle time has no launches";
  json_object object;
  object.put("kind", std::string(text_of(cause_kind_words, cause.kind)));
  object.put("delta_ns", cause.delta_ns);
  object.put("name", cause.name);
  object.put_text("baseline_name", cause.baseline_name, "it is the same");
  object.put_text("path", cause.path, is_idle ? no_launches : "no range was open around its launches");
  object.put_text("category", cause.category, is_idle ? no_launches : "it has none");
  object.put("matched_by", std::string(text_of(matched_by_words, cause.match)));
  const auto put = [&](const char* key, double value, bool applies, const std::string& reason) {
    object.put(key, applies ? analysis::measured<double>(value) : analysis::measured<double>::absent(reason));
  };
  put("baseline_launches_count", cause.baseline_launches, !is_idle, no_launches);
  put("candidate_launches_count", cause.candidate_launches, !is_idle, no_launches);
  put("baseline_each_ns", cause.baseline_each_ns, !is_idle, no_launches);
  put("candidate_each_ns", cause.candidate_each_ns, !is_idle, no_launches);
  put("baseline_idle_ns", cause.baseline_idle_ns, is_idle, "the device was busy");
  put("candidate_idle_ns", cause.candidate_idle_ns, is_idle, "the device was busy");
  object.put("text", gate::to_text(cause));
  return object.take();
}

ordered_json attribution_json(const gate::attribution& attributed) {
  json_object object;
  object.put("baseline_ns", attributed.baseline_ns);
  object.put("candidate_ns", attributed.candidate_ns);
  object.put("difference_ns", attributed.difference_ns);
  object.put("busy_difference_ns", attributed.busy_difference_ns);
  object.put("idle_difference_ns", attributed.idle_difference_ns);
  object.put("bare_difference_ns",
             analysis::or_absent(attributed.bare_difference_ns, "the stage was not timed without a tracer"));
  object.put("residual_ns", attributed.residual_ns);
  object.put("operations_count", attributed.operations);
  ordered_json causes = ordered_json::array();
  for (const gate::cause& cause : attributed.causes) causes.push_back(cause_json(cause));
  object.put("causes", std::move(causes));
  return object.take();
}

ordered_json stage_json(const gate::stage_judgement& stage) {
  json_object object;
  object.put("stage", stage.stage);
  object.put("verdict", gate::to_text(stage.which));
  object.put("phase", gate::to_text(stage.in_phase));
  object.put("reason", stage.reason);
  if (stage.numbers) {
    object.put("numbers", numbers_json(*stage.numbers));
  } else {
    object.put_null("numbers", stage.reason);
  }
  object.put("detectable_ratio",
             analysis::or_absent(stage.detectable_ratio, "only an inconclusive comparison has it"));
  object.put_text("waived_by", stage.waived_by.value_or(""), "no waiver applies");
  object.put("exact", exact_json(stage.exact));
  if (stage.attributed) {
    object.put("attribution", attribution_json(*stage.attributed));
  } else {
    object.put_null("attribution", stage.attribution_reason);
  }
  return object.take();
}

ordered_json texts_json(const std::vector<std::string>& texts) {
  ordered_json list = ordered_json::array();
  for (const std::string& text : texts) list.push_back(core::to_valid_utf8(text));
  return list;
}

}  // namespace

std::string verdict_json(const gate::judgement& whole) {
  json_object object;
  object.put("schema_version", std::string(verdict_schema_version));
  object.put("pair", whole.pair);
  object.put("verdict", gate::to_text(whole.overall));
  object.put("exit_code", static_cast<int>(whole.code));
  object.put("reason", whole.reason);
  object.put_text("failed_by", whole.failed_by.value_or(""), "the runs alone decide");
  object.put("mode", whole.is_interleaved ? "interleaved" : "stored");
  object.put_text("baseline_name", whole.baseline_name, "there is no baseline");
  object.put_text("candidate_name", whole.candidate_name, "it has no name");
  object.put_text("device_name", whole.device_name, "it was not determined");
  object.put("duration_s", analysis::or_absent(whole.seconds, "nothing was run for it"));
  object.put("discarded_runs_count", whole.discarded_runs);
  object.put_text("look_deeper", whole.look_deeper, "no command was named");
  object.put("warnings", texts_json(whole.warnings));
  object.put("notices", texts_json(whole.notices));
  ordered_json stages = ordered_json::array();
  for (const gate::stage_judgement& stage : whole.stages) stages.push_back(stage_json(stage));
  object.put("stages", std::move(stages));
  return core::json_text(object.take());
}

}  // namespace profgate::render
