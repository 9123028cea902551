#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "gate_words.h"
#include "render/verdict_json.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// An object of the document that knows where it stands, so that faults name a place.
class place {
 public:
  place(const json& value, std::string pointer, const std::string& file)
      : m_value(value), m_pointer(std::move(pointer)), m_file(file) {
    if (!value.is_object()) reject("", "is no object");
  }

  std::string text(const char* key) const { return get<std::string>(key, &json::is_string, "text"); }
  double number(const char* key) const { return get<double>(key, &json::is_number, "a number"); }
  bool boolean(const char* key) const { return get<bool>(key, &json::is_boolean, "true or false"); }
  std::size_t count(const char* key) const {
    return get<std::size_t>(key, &json::is_number_unsigned, "a count");
  }
  int integer(const char* key) const { return get<int>(key, &json::is_number_integer, "an integer"); }

  bool is_null(const char* key) const { return field(key).is_null(); }
  std::string text_or_empty(const char* key) const { return is_null(key) ? "" : text(key); }
  double number_or_zero(const char* key) const { return is_null(key) ? 0 : number(key); }
  std::optional<double> optional_number(const char* key) const {
    return is_null(key) ? std::nullopt : std::optional(number(key));
  }
  std::string reason(const char* key) const {
    return m_value.contains("not_measured") ? m_value["not_measured"].value(key, "") : "";
  }

  place object(const char* key) const { return {field(key), pointer_of(key), m_file}; }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    for (const json& element : array(key)) {
      if (!element.is_string()) reject(key, "holds what is no text");
      list.push_back(element.get<std::string>());
    }
    return list;
  }

  template <class Function>
  void each(const char* key, Function&& function) const {
    std::size_t index = 0;
    for (const json& element : array(key))
      function(place(element, fmt::format("{}/{}", pointer_of(key), index++), m_file));
  }

  /// The value whose word the text is.
  template <class Words>
  auto word_of(const char* key, const Words& words) const {
    const std::string wanted = text(key);
    for (const auto& entry : words) {
      if (entry.text == wanted) return entry.value;
    }
    reject(key, fmt::format("is '{}', which means nothing here", wanted));
  }

  /// The enumerator between the first and the last whose to_text is the text.
  template <class Value>
  Value enumerator_of(const char* key, Value last) const {
    const std::string wanted = text(key);
    for (int value = 0; value <= static_cast<int>(last); ++value) {
      if (gate::to_text(static_cast<Value>(value)) == wanted) return static_cast<Value>(value);
    }
    reject(key, fmt::format("is '{}', which means nothing here", wanted));
  }

  [[noreturn]] void reject(const char* key, const std::string& what) const {
    throw core::bad_input(m_file, 0, fmt::format("{}: {}", pointer_of(key), what),
                          "judge again: `profgate gate <run>` writes a new verdict.json");
  }

 private:
  std::string pointer_of(const char* key) const {
    return *key == '\0' ? (m_pointer.empty() ? "/" : m_pointer) : m_pointer + "/" + key;
  }
  const json& field(const char* key) const {
    const auto found = m_value.find(key);
    if (found == m_value.end()) reject(key, "is missing");
    return *found;
  }
  const json& array(const char* key) const {
    const json& list = field(key);
    if (!list.is_array()) reject(key, "is no list");
    return list;
  }
  template <class Value>
  Value get(const char* key, bool (json::*is_right)() const noexcept, const char* wanted) const {
    const json& value = field(key);
    if (!(value.*is_right)()) reject(key, fmt::format("is {} instead of {}", value.type_name(), wanted));
    return value.get<Value>();
  }

  const json& m_value;
  std::string m_pointer;
  const std::string& m_file;
};

gate::comparison numbers_of(const place& from) {
  gate::comparison numbers;
  numbers.baseline_runs = from.count("baseline_runs_count");
  numbers.candidate_runs = from.count("candidate_runs_count");
  numbers.baseline_median_ns = from.number("baseline_median_ns");
  numbers.candidate_median_ns = from.number("candidate_median_ns");
  numbers.slowdown_ratio = from.number("slowdown_ratio");
  numbers.difference_ns = from.number("difference_ns");
  numbers.lower_95_ratio = from.optional_number("lower_95_ratio");
  numbers.upper_95_ratio = from.optional_number("upper_95_ratio");
  numbers.lower_99_ratio = from.optional_number("lower_99_ratio");
  numbers.upper_99_ratio = from.optional_number("upper_99_ratio");
  numbers.u_slower = from.count("u_slower_count");
  numbers.p_slower = from.number("p_slower_ratio");
  numbers.p_faster = from.number("p_faster_ratio");
  return numbers;
}

gate::exact_comparison exact_of(const place& from) {
  gate::exact_comparison exact;
  from.each("changes", [&](const place& change) {
    exact.changes.push_back({change.word_of("kind", exact_kind_words), change.text_or_empty("subject"),
                             change.text_or_empty("baseline"), change.text_or_empty("candidate"),
                             change.boolean("fails")});
  });
  exact.not_compared = from.texts("not_compared");
  return exact;
}

gate::cause cause_of(const place& from) {
  gate::cause cause;
  cause.kind = from.word_of("kind", cause_kind_words);
  cause.delta_ns = from.number("delta_ns");
  cause.name = from.text("name");
  cause.baseline_name = from.text_or_empty("baseline_name");
  cause.path = from.text_or_empty("path");
  cause.category = from.text_or_empty("category");
  cause.match = from.word_of("matched_by", matched_by_words);
  cause.baseline_launches = from.number_or_zero("baseline_launches_count");
  cause.candidate_launches = from.number_or_zero("candidate_launches_count");
  cause.baseline_each_ns = from.number_or_zero("baseline_each_ns");
  cause.candidate_each_ns = from.number_or_zero("candidate_each_ns");
  cause.baseline_idle_ns = from.number_or_zero("baseline_idle_ns");
  cause.candidate_idle_ns = from.number_or_zero("candidate_idle_ns");
  return cause;
}

gate::attribution attribution_of(const place& from) {
  gate::attribution attributed;
  attributed.baseline_ns = from.number("baseline_ns");
  attributed.candidate_ns = from.number("candidate_ns");
  attributed.difference_ns = from.number("difference_ns");
  attributed.busy_difference_ns = from.number("busy_difference_ns");
  attributed.idle_difference_ns = from.number("idle_difference_ns");
  attributed.bare_difference_ns = from.optional_number("bare_difference_ns");
  attributed.residual_ns = from.number("residual_ns");
  attributed.operations = from.count("operations_count");
  from.each("causes", [&](const place& cause) { attributed.causes.push_back(cause_of(cause)); });
  return attributed;
}

gate::stage_judgement stage_of(const place& from) {
  gate::stage_judgement stage;
  stage.stage = from.text("stage");
  stage.which = from.enumerator_of("verdict", gate::verdict::no_baseline);
  stage.in_phase = from.enumerator_of("phase", gate::phase::stored);
  stage.reason = from.text("reason");
  if (!from.is_null("numbers")) stage.numbers = numbers_of(from.object("numbers"));
  stage.detectable_ratio = from.optional_number("detectable_ratio");
  if (!from.is_null("waived_by")) stage.waived_by = from.text("waived_by");
  stage.exact = exact_of(from.object("exact"));
  if (from.is_null("attribution")) {
    stage.attribution_reason = from.reason("attribution");
  } else {
    stage.attributed = attribution_of(from.object("attribution"));
  }
  return stage;
}

core::exit_code exit_code_of(const place& from) {
  const int number = from.integer("exit_code");
  for (const core::exit_code code : {core::exit_code::good, core::exit_code::judged_bad,
                                     core::exit_code::bad_input, core::exit_code::not_possible}) {
    if (static_cast<int>(code) == number) return code;
  }
  from.reject("exit_code", fmt::format("is {}, which no gate returns", number));
}

}  // namespace

gate::judgement read_verdict(std::string_view text, const std::string& file) {
  const json document = json::parse(text, nullptr, false);
  const place root(document, "", file);
  if (root.text("schema_version") != verdict_schema_version) {
    root.reject("schema_version", fmt::format("is {}, and this program reads {}", root.text("schema_version"),
                                              verdict_schema_version));
  }
  gate::judgement whole;
  whole.pair = root.text("pair");
  whole.overall = root.enumerator_of("verdict", gate::verdict::no_baseline);
  whole.code = exit_code_of(root);
  whole.reason = root.text("reason");
  if (const std::string failed_by = root.text_or_empty("failed_by"); !failed_by.empty())
    whole.failed_by = failed_by;
  whole.is_interleaved = root.text("mode") == "interleaved";
  whole.baseline_name = root.text_or_empty("baseline_name");
  whole.candidate_name = root.text_or_empty("candidate_name");
  whole.device_name = root.text_or_empty("device_name");
  whole.seconds = root.optional_number("duration_s");
  whole.discarded_runs = root.count("discarded_runs_count");
  whole.look_deeper = root.text_or_empty("look_deeper");
  whole.warnings = root.texts("warnings");
  whole.notices = root.texts("notices");
  root.each("stages", [&](const place& stage) { whole.stages.push_back(stage_of(stage)); });
  return whole;
}

}  // namespace profgate::render
