#include "judge_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

#include "config/yaml_tree.h"
#include "core/error.h"
#include "core/json.h"

namespace profgate::changes {
namespace fs = std::filesystem;
namespace {

const std::set<std::string, std::less<>> kinds_of_evidence = {
    "launch configuration", "code",  "new kernel", "more launches", "work", "idle",
    "other kernel",         "moved", "routing",    "early launch",  "none"};

/// Above it the gate's headline says that the cause is not known.
constexpr double most_unexplained_ratio = 0.3;

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw core::bad_input(file.string() + " cannot be read", "check its name");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

double share_in(const std::string& text, const std::string& place) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || share < 0 || share > 1)
    throw core::bad_input(fmt::format("{}: '{}' is no share", place, text), "write a number from 0 to 1");
  return share;
}

/// One, or a list of those that are right.
std::vector<std::string> evidence_in(const config::yaml_node& node, const std::string& place) {
  std::vector<std::string> all;
  for (const config::yaml_node& item : node.items) all.push_back(item.text);
  if (all.empty()) all.push_back(node.text);
  for (const std::string& one : all)
    if (!kinds_of_evidence.contains(one))
      throw core::bad_input(fmt::format("{}: '{}' is no evidence", place, one),
                            fmt::format("choose of: {}", fmt::join(kinds_of_evidence, ", ")));
  return all;
}

bool holds(const std::optional<core::json_cursor>& text, const std::string& wanted) {
  return text && text->text().find(wanted) != std::string::npos;
}

/// One of the wanted kinds must be among what changed; "none": nothing that is exact.
void judge_evidence(const expectation& wanted, const core::json_cursor& cause,
                    std::vector<std::string>& mistakes) {
  if (wanted.evidence.empty()) return;
  std::vector<std::string> told = cause.require("changes").texts();
  if (told.empty()) told.emplace_back("none");
  for (const std::string& one : wanted.evidence)
    if (std::find(told.begin(), told.end(), one) != told.end()) return;
  mistakes.push_back(fmt::format("its evidence is '{}', not '{}'", fmt::join(told, "' and '"),
                                 fmt::join(wanted.evidence, "' or '")));
}

void judge_cause(const expectation& wanted, const core::json_cursor& cause,
                 std::vector<std::string>& mistakes) {
  const bool is_named = holds(cause.find("text"), wanted.cause) || holds(cause.find("name"), wanted.cause);
  if (!is_named) mistakes.push_back(fmt::format("the first cause does not hold '{}'", wanted.cause));
  if (!wanted.op.empty() && !holds(cause.find("path"), wanted.op))
    mistakes.push_back(fmt::format("the first cause is not in {}", wanted.op));
  judge_evidence(wanted, cause, mistakes);
}

void judge_exact(const expectation& wanted, const core::json_cursor& stage,
                 std::vector<std::string>& mistakes) {
  if (wanted.exact.empty()) return;
  for (const core::json_cursor& change : stage.require("exact").require("changes").items())
    if (change.require("kind").text() == wanted.exact) return;
  mistakes.push_back(fmt::format("no exact change of the kind '{}' was named", wanted.exact));
}

core::json_cursor stage_in(const core::json_cursor& verdict, const std::string& name) {
  for (const core::json_cursor& stage : verdict.require("stages").items())
    if (stage.require("stage").text() == name) return stage;
  verdict.fail(fmt::format("it says nothing of the stage {}", name));
}

/// The first that makes the stage slower: what the gate names first.
std::optional<core::json_cursor> first_cause_in(const core::json_cursor& attribution) {
  for (const core::json_cursor& cause : attribution.require("causes").items())
    if (cause.require("delta_ns").number() > 0) return cause;
  return std::nullopt;
}

void judge_causes(const expectation& wanted, const core::json_cursor& stage, judged_change& result) {
  const auto attribution = stage.find("attribution");
  const auto first = attribution ? first_cause_in(*attribution) : std::nullopt;
  if (!first) {
    if (wanted.regresses) result.mistakes.emplace_back("no cause was named");
    return;
  }
  result.first_cause = first->require("text").text();
  const auto bare_ns = attribution->find("bare_difference_ns");
  if (bare_ns && bare_ns->number() > 0)
    result.explained = first->require("delta_ns").number() / bare_ns->number();
  if (!wanted.regresses) return;
  judge_cause(wanted, *first, result.mistakes);
  const auto unexplained_ns = attribution->find("unexplained_ns");
  if (bare_ns && unexplained_ns &&
      std::abs(unexplained_ns->number()) > most_unexplained_ratio * std::abs(bare_ns->number()))
    result.mistakes.emplace_back("the headline says that the cause is not known");
  if (!wanted.explained_at_least) return;
  if (!result.explained)
    result.mistakes.emplace_back("what it explains is not known: there is no bare difference");
  else if (*result.explained < *wanted.explained_at_least)
    result.mistakes.push_back(fmt::format("it explains {:.0f} %, not {:.0f} %", *result.explained * 100,
                                          *wanted.explained_at_least * 100));
  else if (*result.explained > 1.25)
    result.mistakes.push_back(fmt::format("it explains {:.0f} %", *result.explained * 100));
}

}  // namespace

expectation parse_expectation(std::string_view yaml, const std::string& file) {
  const config::text_source source{file};
  const config::yaml_node root = config::parse_yaml(yaml, source);
  expectation wanted;
  std::set<std::string> seen;
  for (const config::yaml_member& member : root.members) {
    const std::string place = source.at(member.line);
    const std::string& text = member.content.text;
    const bool is_null = member.content.kind == config::node_kind::null;
    seen.insert(member.key);
    if (member.key == "pair") {
      wanted.pair = text;
    } else if (member.key == "stage") {
      wanted.stage = text;
    } else if (member.key == "verdict" && (text == "regressed" || text == "passes")) {
      wanted.regresses = text == "regressed";
    } else if (member.key == "cause") {
      wanted.cause = text;
    } else if (member.key == "operator") {
      wanted.op = text;
    } else if (member.key == "evidence") {
      wanted.evidence = evidence_in(member.content, place);
    } else if (member.key == "exact") {
      wanted.exact = text;
    } else if (member.key == "explained_at_least") {
      if (!is_null) wanted.explained_at_least = share_in(text, place);
    } else {
      throw core::bad_input(fmt::format("{}: '{}: {}' means nothing", place, member.key, text),
                            "see tests/README.md");
    }
  }
  std::vector<std::string> needed = {"pair", "stage", "verdict"};
  if (wanted.regresses) needed.insert(needed.end(), {"cause", "evidence", "explained_at_least"});
  if (wanted.pair.empty()) seen.erase("pair");
  if (wanted.stage.empty()) seen.erase("stage");
  if (wanted.cause.empty()) seen.erase("cause");
  for (const std::string& key : needed)
    if (!seen.contains(key))
      throw core::bad_input(fmt::format("{}: '{}' is missing", file, key), "see tests/README.md");
  return wanted;
}

judged_change judge(const expectation& wanted, std::string_view verdict_json, const std::string& file) {
  const core::json_document document(verdict_json, file, "compare the two builds again");
  const core::json_cursor root = document.root();
  judged_change result;
  if (root.require("pair").text() != wanted.pair)
    root.fail(fmt::format("it is of the pair {}, not {}", root.require("pair").text(), wanted.pair));
  if (const auto duration_s = root.find("duration_s")) result.duration_s = duration_s->quantity();
  const core::json_cursor stage = stage_in(root, wanted.stage);
  result.verdict = stage.require("verdict").text();
  const bool passes = result.verdict == "unchanged" || result.verdict == "improved";
  if (wanted.regresses ? result.verdict != "regressed" : !passes)
    result.mistakes.push_back(
        fmt::format("it is {}, not {}", result.verdict, wanted.regresses ? "regressed" : "passed"));
  judge_exact(wanted, stage, result.mistakes);
  judge_causes(wanted, stage, result);
  return result;
}

std::vector<std::string> names_in(const fs::path& changes, std::vector<std::string> named) {
  if (named.empty())
    for (const fs::directory_entry& entry : fs::directory_iterator(changes))
      if (entry.path().extension() == ".yaml") named.push_back(entry.path().stem().string());
  std::sort(named.begin(), named.end());
  return named;
}

table table_of(const fs::path& changes, const fs::path& results, const std::vector<std::string>& names) {
  table all;
  const auto add = [&](const auto&... cells) {
    all.text += fmt::format("{:<22} {:<9} {:<12} {:<6} {:>9} {:>7}  {}\n", cells...);
  };
  add("change", "wanted", "got", "", "explained", "seconds", "first cause");
  for (const std::string& name : names) {
    const fs::path file = changes / (name + ".yaml");
    const expectation wanted = parse_expectation(contents_of(file), file.string());
    const char* wanted_text = wanted.regresses ? "regressed" : "passes";
    const fs::path verdict = results / name / "verdict.json";
    if (!fs::exists(verdict)) {
      add(name, wanted_text, "no result", "", "", "", "");
      continue;
    }
    const judged_change said = judge(wanted, contents_of(verdict), verdict.string());
    ++all.results;
    if (!said.is_right()) ++all.mistakes;
    add(name, wanted_text, said.verdict, said.is_right() ? "right" : "WRONG",
        said.explained ? fmt::format("{:.0f} %", *said.explained * 100) : "",
        said.duration_s ? fmt::format("{:.0f}", *said.duration_s) : "",
        said.first_cause.empty() ? "-" : said.first_cause);
    if (!said.is_right()) all.text += fmt::format("{:22} {}\n", "", fmt::join(said.mistakes, "; "));
  }
  all.text += fmt::format("{} of {} first causes right\n", all.results - all.mistakes, all.results);
  return all;
}

}  // namespace profgate::changes
