#include "render/verdict_json.h"

#include <fmt/format.h>

#include "analysis/json_object.h"
#include "core/error.h"
#include "core/json.h"
#include "gate_words.h"

namespace profgate::render {
namespace {

using nlohmann::ordered_json;

constexpr std::array<word<bool>, 2> mode_words{{{true, "interleaved"}, {false, "stored"}}};

// The fields of each object, once and in their order: `Fields` writes or reads them. A further argument is
// why a field can be null; what is derived is only written.

template <class Fields>
void visit_fields(Fields& fields, gate::comparison& numbers) {
  const char* too_few_runs = "the arms have too few runs for this bound";
  fields.value("baseline_runs_count", numbers.baseline_runs);
  fields.value("candidate_runs_count", numbers.candidate_runs);
  fields.value("baseline_median_ns", numbers.baseline_median_ns);
  fields.value("candidate_median_ns", numbers.candidate_median_ns);
  fields.value("slowdown_ratio", numbers.slowdown_ratio);
  fields.value("difference_ns", numbers.difference_ns);
  fields.derived("candidate_ns", numbers.candidate_ns());
  fields.value("lower_95_ratio", numbers.lower_95_ratio, too_few_runs);
  fields.value("upper_95_ratio", numbers.upper_95_ratio, too_few_runs);
  fields.value("lower_99_ratio", numbers.lower_99_ratio, too_few_runs);
  fields.value("upper_99_ratio", numbers.upper_99_ratio, too_few_runs);
  fields.value("u_slower_count", numbers.u_slower);
  fields.value("p_slower_ratio", numbers.p_slower);
  fields.value("p_faster_ratio", numbers.p_faster);
}

template <class Fields>
void visit_fields(Fields& fields, gate::exact_change& change) {
  fields.word("kind", change.kind, exact_kind_words);
  fields.value("subject", change.subject, "it is a count, not a kernel");
  fields.later_text("baseline_subject", change.baseline_subject);
  fields.value("baseline", change.baseline, "it is a kernel, not a count");
  fields.value("candidate", change.candidate, "it is a kernel, not a count");
  fields.value("path", change.path, "it is not of one operator");
  fields.value("fails", change.fails);
  fields.derived("text", gate::to_text(change));
}

template <class Fields>
void visit_fields(Fields& fields, gate::exact_comparison& exact) {
  fields.derived("fails", exact.fails());
  fields.objects("changes", exact.changes);
  fields.texts("not_compared", exact.not_compared);
}

template <class Fields>
void visit_fields(Fields& fields, gate::cause& cause) {
  fields.word("kind", cause.kind, cause_kind_words);
  const bool is_idle = cause.kind == gate::cause_kind::idle;
  const char* no_launches = "idle time has no launches";
  fields.value("delta_ns", cause.delta_ns);
  fields.value("traced_delta_ns", cause.traced_delta_ns);
  fields.value("name", cause.name);
  fields.value("baseline_name", cause.baseline_name, "it is the same");
  fields.value("path", cause.path, is_idle ? no_launches : "no range was open around its launches");
  fields.value("baseline_path", cause.baseline_path, "it is the same");
  fields.value("category", cause.category, is_idle ? no_launches : "it has none");
  fields.word("matched_by", cause.match, matched_by_words);
  fields.value_if(!is_idle, "baseline_launches_count", cause.baseline_launches, no_launches);
  fields.value_if(!is_idle, "candidate_launches_count", cause.candidate_launches, no_launches);
  const char* no_calls = "calls are those of ranges on a CPU, and not known of all traces";
  fields.value("baseline_calls_count", cause.baseline_calls, no_calls);
  fields.value("candidate_calls_count", cause.candidate_calls, no_calls);
  fields.value_if(!is_idle, "baseline_each_ns", cause.baseline_each_ns, no_launches);
  fields.value_if(!is_idle, "candidate_each_ns", cause.candidate_each_ns, no_launches);
  fields.value_if(is_idle, "baseline_idle_ns", cause.baseline_idle_ns, "the device was busy");
  fields.value_if(is_idle, "candidate_idle_ns", cause.candidate_idle_ns, "the device was busy");
  fields.value("place", cause.place, is_idle ? "it is not known" : "the device was busy");
  fields.texts("changes", cause.changes);
  fields.texts("evidence", cause.evidence);
  fields.texts("waiting", cause.waiting);
  fields.derived("text", gate::to_text(cause));
}

template <class Fields>
void visit_fields(Fields& fields, gate::trace_scale& scale) {
  fields.value("shown_difference_ns", scale.shown_ns);
  fields.value("all_ratio", scale.all_ratio);
  fields.value("idle_ratio", scale.idle_ratio);
}

template <class Fields>
void visit_fields(Fields& fields, gate::attribution& attributed) {
  fields.value("baseline_ns", attributed.baseline_ns);
  fields.value("candidate_ns", attributed.candidate_ns);
  fields.value("difference_ns", attributed.difference_ns);
  fields.value("busy_difference_ns", attributed.busy_difference_ns);
  fields.value("idle_difference_ns", attributed.idle_difference_ns);
  fields.value("bare_difference_ns", attributed.bare_difference_ns,
               "the stage was not timed without a tracer");
  fields.object("scale", attributed.scaled, "sizes are those of the traces");
  fields.value("unexplained_ns", attributed.unexplained_ns);
  fields.value_if(true, "idle_of_tracer_ns", attributed.idle_of_tracer_ns, "");  // not in older files
  fields.value("residual_ns", attributed.residual_ns);
  fields.value("operations_count", attributed.operations);
  gate::name_causes(attributed.causes);  // in their texts, when they are written
  fields.objects("causes", attributed.causes);
  gate::name_causes(attributed.causes);  // of those that were read
}

template <class Fields>
void visit_fields(Fields& fields, gate::expert_fill& experts) {
  fields.value("worst_imbalance_ratio", experts.imbalance_ratio);
  fields.value("largest_rows_count", experts.largest_rows);
}

template <class Fields>
void visit_fields(Fields& fields, gate::stage_judgement& stage) {
  fields.value("stage", stage.stage);
  fields.enumerator("verdict", stage.which, gate::verdict::no_baseline);
  fields.enumerator("phase", stage.in_phase, gate::phase::stored);
  fields.value("reason", stage.reason);
  fields.object("numbers", stage.numbers, stage.reason);
  fields.value("tokens_count", stage.tokens, "it decodes none, or nobody told how many");
  fields.value("rate_unit", stage.rate_unit, "its samples are times");
  fields.value("detectable_ratio", stage.detectable_ratio, "only an inconclusive comparison has it");
  fields.value("unchanged_below_ratio", stage.unchanged_below_ratio, "only what is unchanged is below it");
  fields.value("fails_from_ratio", stage.fails_from_ratio,
               "only a slowdown whose interval reaches below what counts as unchanged has it");
  fields.value("waived_by", stage.waived_by, "no waiver applies");
  fields.object("exact", stage.exact);
  fields.later_object("experts", stage.experts);
  fields.later_object("baseline_experts", stage.baseline_experts);
  fields.object("attribution", stage.attributed, stage.attribution_reason);
  fields.reason("attribution", stage.attribution_reason);
  fields.value("uncounted_because", stage.uncounted_because, "no counters are missing");
}

template <class Fields>
void visit_fields(Fields& fields, gate::package_change& change) {
  const char* not_installed = "it is not installed there";
  fields.value("name", change.name);
  fields.value("baseline", change.baseline, not_installed);
  fields.value("candidate", change.candidate, not_installed);
}

template <class Fields>
void visit_fields(Fields& fields, gate::anchor_part& part) {
  const char* this_build = "it is the build that is judged";
  fields.value("commit", part.commit, this_build);
  fields.value("measured_utc", part.measured_utc, this_build);
  fields.value("slowdown_ratio", part.ratio);
}

template <class Fields>
void visit_fields(Fields& fields, gate::anchor_stage& stage) {
  fields.value("stage", stage.stage);
  fields.enumerator("verdict", stage.which, gate::verdict::no_baseline);
  fields.value("reason", stage.reason);
  fields.object("numbers", stage.numbers, stage.reason);
  fields.value("rate_unit", stage.rate_unit, "its samples are times");
  fields.value("waived_by", stage.waived_by, "no waiver applies");
  fields.objects("parts", stage.parts);
  fields.value("other_parts_count", stage.other_parts);
  fields.value("other_parts_ratio", stage.other_parts_ratio);
  fields.value("unknown_parts_because", stage.unknown_parts_because, "the parts are known");
}

template <class Fields>
void visit_fields(Fields& fields, gate::anchor_judgement& since) {
  const char* not_found = "the anchor was not read";
  fields.value("name", since.name);
  fields.value("commit", since.commit, not_found);
  fields.value("measured_utc", since.measured_utc, not_found);
  fields.value("not_judged_because", since.not_judged_because, "it was judged");
  fields.objects("stages", since.stages);
  fields.texts("warnings", since.warnings);
}

template <class Fields>
void visit_fields(Fields& fields, gate::judgement& whole) {
  fields.derived("schema_version", std::string(verdict_schema_version));
  fields.value("pair", whole.pair);
  fields.enumerator("verdict", whole.overall, gate::verdict::no_baseline);
  fields.value("exit_code", whole.code);
  fields.value("reason", whole.reason);
  fields.value("failed_by", whole.failed_by, "the runs alone decide");
  fields.word("mode", whole.is_interleaved, mode_words);
  fields.value("baseline_name", whole.baseline_name, "there is no baseline");
  fields.value("candidate_name", whole.candidate_name, "it has no name");
  fields.value("device_name", whole.device_name, "it was not determined");
  fields.value("duration_s", whole.seconds, "nothing was run for it");
  fields.value("discarded_runs_count", whole.discarded_runs);
  fields.value("look_deeper", whole.look_deeper, "no command was named");
  fields.value("is_not_the_code", whole.is_not_the_code);
  fields.texts("circumstances", whole.circumstances);
  fields.texts("warnings", whole.warnings);
  fields.texts("notices", whole.notices);
  fields.later_objects("packages", whole.packages);
  fields.later_texts("unknown_packages", whole.unknown_packages);
  fields.objects("stages", whole.stages);
  fields.later_object("since_anchor", whole.since_anchor);
}

/// Puts every field that it is shown. Texts become valid before anything is derived from them, so that it is
/// the same as of what is read back.
class field_writer {
 public:
  template <class T>
  static ordered_json written(T& object) {
    field_writer fields;
    visit_fields(fields, object);
    return fields.m_object.take();
  }

  template <class T>
  requires std::is_arithmetic_v<T>
  void value(const char* key, T number) { m_object.put(key, number); }
  void value(const char* key, std::string& text) { m_object.put(key, text = core::to_valid_utf8(text)); }
  void value(const char* key, core::exit_code code) { m_object.put(key, static_cast<int>(code)); }
  void value(const char* key, std::string& text, const char* reason_if_empty) {
    m_object.put_text(key, text = core::to_valid_utf8(text), reason_if_empty);
  }
  template <class T>
  void value(const char* key, const std::optional<T>& maybe, const char* reason) {
    m_object.put(key, analysis::or_absent(maybe, reason));
  }
  void value_if(bool applies, const char* key, double number, const char* reason) {
    value(key, applies ? std::optional(number) : std::nullopt, reason);
  }
  template <class T>
  void derived(const char* key, const T& made) {
    m_object.put(key, made);
  }
  template <class Value, class Words>
  void word(const char* key, Value value, const Words& words) {
    m_object.put(key, std::string(text_of(words, value)));
  }
  template <class Value>
  void enumerator(const char* key, Value value, Value /*last*/) {
    m_object.put(key, gate::to_text(value));
  }
  void texts(const char* key, const std::vector<std::string>& list) {
    ordered_json array = ordered_json::array();
    for (const std::string& text : list) array.push_back(core::to_valid_utf8(text));
    m_object.put(key, std::move(array));
  }
  template <class T>
  void object(const char* key, T& part) {
    m_object.put(key, written(part));
  }
  template <class T>
  void object(const char* key, std::optional<T>& part, const std::string& reason) {
    if (part) {
      object(key, *part);
    } else {
      m_object.put_null(key, reason);
    }
  }
  void reason(const char* /*key*/, const std::string& /*text*/) {}  // object() has put it
  template <class T>
  void objects(const char* key, std::vector<T>& parts) {
    ordered_json array = ordered_json::array();
    for (T& part : parts) array.push_back(written(part));
    m_object.put(key, std::move(array));
  }
  /// Absent, rather than null, where there is none.
  void later_text(const char* key, std::string& text) {
    if (!text.empty()) value(key, text);
  }
  template <class T>
  void later_object(const char* key, std::optional<T>& part) {
    if (part) object(key, *part);
  }
  template <class T>
  void later_objects(const char* key, std::vector<T>& parts) {
    objects(key, parts);
  }
  void later_texts(const char* key, const std::vector<std::string>& list) { texts(key, list); }

 private:
  analysis::json_object m_object;
};

/// Sets every field that it is shown; what is null stays as it is.
class field_reader {
 public:
  explicit field_reader(core::json_cursor from) : m_from(std::move(from)) {}

  void value(const char* key, std::string& text) { set(m_from.require(key), text); }
  void value(const char* key, double& number) { set(m_from.require(key), number); }
  void value(const char* key, std::int64_t& count) { set(m_from.require(key), count); }
  void value(const char* key, bool& truth) { truth = m_from.require(key).boolean(); }
  void value(const char* key, std::size_t& count) {
    count = static_cast<std::size_t>(m_from.require(key).integer());
  }
  void value(const char* key, core::exit_code& code) {
    const core::json_cursor field = m_from.require(key);
    for (const core::exit_code known : {core::exit_code::good, core::exit_code::judged_bad,
                                        core::exit_code::bad_input, core::exit_code::not_possible}) {
      if (static_cast<int>(known) != field.integer()) continue;
      code = known;
      return;
    }
    field.fail(fmt::format("is {}, which no gate returns", field.shown()));
  }
  void value(const char* key, std::string& text, const char* /*reason*/) {
    if (const auto field = m_from.find(key)) set(*field, text);
  }
  template <class T>
  void value(const char* key, std::optional<T>& maybe, const char* /*reason*/) {
    if (const auto field = m_from.find(key)) set(*field, maybe.emplace());
  }
  void value_if(bool /*applies*/, const char* key, double& number, const char* /*reason*/) {
    if (const auto field = m_from.find(key)) set(*field, number);
  }
  template <class T>
  void derived(const char* /*key*/, const T& /*made*/) {}
  template <class Value, class Words>
  void word(const char* key, Value& value, const Words& words) {
    const core::json_cursor field = m_from.require(key);
    for (const auto& entry : words) {
      if (entry.text != field.text()) continue;
      value = entry.value;
      return;
    }
    field.fail(fmt::format("is '{}', which means nothing here", field.text()));
  }
  /// The one up to the last whose to_text() it is.
  template <class Value>
  void enumerator(const char* key, Value& value, Value last) {
    const core::json_cursor field = m_from.require(key);
    for (int number = 0; number <= static_cast<int>(last); ++number) {
      value = static_cast<Value>(number);
      if (gate::to_text(value) == field.text()) return;
    }
    field.fail(fmt::format("is '{}', which means nothing here", field.text()));
  }
  void texts(const char* key, std::vector<std::string>& list) { list = m_from.require(key).texts(); }
  template <class T>
  void object(const char* key, T& part) {
    field_reader fields(m_from.require(key));
    visit_fields(fields, part);
  }
  template <class T>
  void object(const char* key, std::optional<T>& part, const std::string& /*reason*/) {
    if (m_from.find(key)) object(key, part.emplace());
  }
  void reason(const char* key, std::string& text) {
    if (const auto reasons = m_from.find("not_measured"))
      if (const auto field = reasons->find(key)) set(*field, text);
  }
  template <class T>
  void objects(const char* key, std::vector<T>& parts) {
    for (const core::json_cursor& item : m_from.require(key).items()) {
      field_reader fields(item);
      visit_fields(fields, parts.emplace_back());
    }
  }
  // What an earlier profgate did not write.
  void later_text(const char* key, std::string& text) {
    if (const auto field = m_from.find(key)) set(*field, text);
  }
  template <class T>
  void later_object(const char* key, std::optional<T>& part) {
    if (m_from.find(key)) object(key, part.emplace());
  }
  template <class T>
  void later_objects(const char* key, std::vector<T>& parts) {
    if (m_from.find(key)) objects(key, parts);
  }
  void later_texts(const char* key, std::vector<std::string>& list) {
    if (m_from.find(key)) texts(key, list);
  }

 private:
  static void set(const core::json_cursor& field, std::string& text) { text = field.text(); }
  static void set(const core::json_cursor& field, double& number) { number = field.number(); }
  static void set(const core::json_cursor& field, std::int64_t& count) { count = field.integer(); }

  core::json_cursor m_from;
};

}  // namespace

std::string verdict_json(gate::judgement whole) {
  return core::json_text(field_writer::written(whole));
}

gate::judgement read_verdict(std::string_view text, const std::string& file) {
  const core::json_document document(text, file,
                                     "judge again: `profgate gate <run>` writes a new verdict.json");
  const core::json_cursor version = document.root().require("schema_version");
  if (version.text() != verdict_schema_version)
    version.fail(fmt::format("is {}, and this program reads {}", version.text(), verdict_schema_version));
  gate::judgement whole;
  field_reader fields(document.root());
  visit_fields(fields, whole);
  return whole;
}

}  // namespace profgate::render
