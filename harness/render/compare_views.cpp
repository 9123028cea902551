#include "render/compare_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare_figures.h"
#include "compare_stages.h"
#include "core/escape.h"
#include "core/stage_names.h"
#include "difference_words.h"
#include "template_engine.h"
#include "tidy_markdown.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Files are called by where their paths begin to differ.
std::string without_common_folder(const std::string& name, const std::string& other) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < name.size() && i < other.size() && name[i] == other[i]; ++i)
    if (name[i] == '/') begin = i + 1;
  return name.substr(begin);
}

json side_view(const compare::compared_side& side, const compare::compared_side& other) {
  const auto or_dash = [](const std::string& text) {
    return text.empty() ? std::string(empty_cell) : core::to_valid_utf8(text);
  };
  return {{"name", or_dash(side.name)},
          {"title", or_dash(without_common_folder(side.name, other.name))},
          {"source", side.source},
          {"pair", or_dash(side.pair)},
          {"model", or_dash(side.model)},
          {"config", or_dash(side.config)},
          {"device", or_dash(side.device_name)},
          {"commit", or_dash(side.commit.substr(0, 12))},
          {"created", or_dash(side.created_utc)}};
}

/// A pair of bars under two values, the longer one as wide as there is room.
json card_of(const std::string& label, const compare::compared_figure& figure, bool other_work,
             bool may_be_noise) {
  json card = figure_view(figure, other_work, may_be_noise);
  card["change"] = card["change"] == empty_cell
                       ? card["difference"].get<std::string>()
                       : card["change"].get<std::string>() + card["doubt"].get<std::string>();
  const double largest = std::max(*figure.a, *figure.b);
  card["label"] = label;
  card["a_width"] = largest > 0 ? std::round(*figure.a / largest * 1000) / 10 : 0;
  card["b_width"] = largest > 0 ? std::round(*figure.b / largest * 1000) / 10 : 0;
  return card;
}

/// A figure of the whole run may be noise where a stage may that it is made of: TTFT is the prefill's, what
/// is counted by the decoded token the decode's, everything else that of all stages. What the program tells
/// has samples of its own, or nobody knows.
bool may_run_figure_be_noise(const compare::profile_comparison& comparison,
                             const compare::compared_figure& figure) {
  if (figure.is_told()) return !figure.shift || figure.shift->may_be_noise();
  const std::string& key = figure.what.key;
  const auto has = [&](const char* part) { return key.find(part) != std::string::npos; };
  const std::string_view stage_name = has("/ttft/") ? core::prefill_stage
                                      : has("/tpot/") || has("/tokens_") || has("_per_decoded_token_")
                                          ? core::decode_all_stage
                                          : "";
  const auto& stages = comparison.stages;
  const auto of_it = std::find_if(stages.begin(), stages.end(), [&](const compare::compared_stage& stage) {
    return stage.name == stage_name;
  });
  if (of_it != stages.end()) return may_be_noise(*of_it);
  return std::any_of(stages.begin(), stages.end(), may_be_noise);
}

const compare::compared_figure* find_figure(const std::vector<compare::compared_figure>& figures,
                                            std::string_view key) {
  const auto found = std::find_if(
      figures.begin(), figures.end(),
      [&](const compare::compared_figure& figure) { return figure.what.key == key && figure.a && figure.b; });
  return found == figures.end() ? nullptr : &*found;
}

const compare::compared_stage* find_stage(const compare::profile_comparison& comparison,
                                          std::string_view name) {
  const auto found = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                  [&](const compare::compared_stage& stage) { return stage.name == name; });
  return found == comparison.stages.end() ? nullptr : &*found;
}

/// The figures that a person asks for first, where both sides have them; of other programs their stages.
class headline_cards {
 public:
  explicit headline_cards(const compare::profile_comparison& comparison) : m_comparison(comparison) {}

  void add(const std::string& label, const compare::compared_figure& figure, bool may_be_noise) {
    if (figure.a && figure.b)
      m_cards.push_back(card_of(label, figure, m_comparison.is_other_work, may_be_noise));
  }
  bool add_of_run(std::string_view key) {
    const compare::compared_figure* figure = find_figure(m_comparison.figures, key);
    if (figure != nullptr)
      add(figure->what.shown.label, *figure, may_run_figure_be_noise(m_comparison, *figure));
    return figure != nullptr;
  }
  bool add_of_stage(std::string_view stage_name, std::string_view key) {
    const compare::compared_stage* stage = find_stage(m_comparison, stage_name);
    const compare::compared_figure* figure = stage == nullptr ? nullptr : find_figure(stage->figures, key);
    if (figure != nullptr)
      add(fmt::format("{}: {}", stage_name, figure->what.shown.label), *figure, may_be_noise(*stage));
    return figure != nullptr;
  }
  std::size_t size() const { return m_cards.size(); }
  json take() { return std::move(m_cards); }

 private:
  const compare::profile_comparison& m_comparison;
  json m_cards = json::array();
};

json cards_of(const compare::profile_comparison& comparison) {
  headline_cards cards(comparison);
  for (const char* key :
       {"/throughput/ttft/p50_ns", "/throughput/tpot/p50_ns", "/throughput/tokens_median_per_s"})
    cards.add_of_run(key);
  // Compute bounds a prefill, memory a decode: the same shares that a run and its report tell.
  const bool has_mfu = cards.add_of_stage(core::prefill_stage, "/utilisation/mfu_over_measured_ratio");
  const bool has_mbu = cards.add_of_stage(core::decode_all_stage, "/utilisation/mbu_over_measured_ratio");
  if (!has_mfu && !has_mbu) cards.add_of_run("/throughput/utilisation/mbu_over_measured_ratio");
  for (const char* key : {"/throughput/memory_peak_bytes", "/throughput/energy_per_decoded_token_j"})
    cards.add_of_run(key);
  const bool has_tokens = cards.size() > 0;
  constexpr std::size_t most = 6;
  for (const compare::compared_figure& figure : comparison.figures)
    if (figure.is_told() && cards.size() < most)
      cards.add(figure.what.shown.label, figure, may_run_figure_be_noise(comparison, figure));
  if (has_tokens) return cards.take();
  for (const compare::compared_stage& whole : comparison.stages) {
    if (cards.size() >= most) break;
    const compare::compared_stage stage = in_units(whole);
    cards.add(core::to_valid_utf8(stage.name) + per_text(stage), stage.figures.front(), may_be_noise(stage));
  }
  return cards.take();
}

/// Why TPOT is not quite the decode's time per token, where both stand there and differ; else empty.
std::string token_time_note(const compare::profile_comparison& comparison) {
  const compare::compared_figure* tpot = find_figure(comparison.figures, "/throughput/tpot/p50_ns");
  const compare::compared_stage* whole = find_stage(comparison, core::decode_all_stage);
  if (tpot == nullptr || whole == nullptr || whole->per != "token") return "";
  const compare::compared_stage decode = in_units(*whole);
  const compare::compared_figure* per_token = find_figure(decode.figures, "/bare/median_ns");
  if (per_token == nullptr) return "";
  const auto differ = [](double one_ns, double other_ns) {
    return precise_duration(one_ns) != precise_duration(other_ns);
  };
  if (!differ(*tpot->a, *per_token->a) && !differ(*tpot->b, *per_token->b)) return "";
  return fmt::format(
      "TPOT is the median of single tokens; {} per token is the median of its repetitions, each over the "
      "tokens that it decodes, so slow tokens count there too.",
      decode.name);
}

json view_of(const compare::profile_comparison& comparison, const std::filesystem::path& templates_dir) {
  json labels = json::array();
  for (const std::string& label : comparison.labels) labels.push_back(core::to_valid_utf8(label));
  json differs = json::array();
  for (const compare::differing_fact& fact : comparison.differs) {
    differs.push_back({{"name", core::to_valid_utf8(fact.name)},
                       {"a", core::to_valid_utf8(fact.a.value_or("not recorded"))},
                       {"b", core::to_valid_utf8(fact.b.value_or("not recorded"))}});
  }
  json same = json::array();
  for (const auto& [name, value] : comparison.same)
    same.push_back({{"name", core::to_valid_utf8(name)}, {"value", core::to_valid_utf8(value)}});
  json stages = json::array();
  for (const compare::compared_stage& stage : comparison.stages)
    stages.push_back(stage_view(stage, comparison.is_other_work, templates_dir));
  return {{"a", side_view(comparison.a, comparison.b)},
          {"b", side_view(comparison.b, comparison.a)},
          {"is_cross_device", comparison.is_cross_device},
          {"is_cross_model", comparison.is_cross_model},
          {"is_other_work", comparison.is_other_work},
          {"is_same_run", comparison.is_same_run},
          {"are_run_sets", comparison.a.source == "run set" && comparison.b.source == "run set"},
          {"cards", cards_of(comparison)},
          {"token_time_note", token_time_note(comparison)},
          {"labels", labels},
          {"figures", figures_view(comparison.figures, comparison.is_other_work,
                                   [&](const compare::compared_figure& figure) {
                                     return may_run_figure_be_noise(comparison, figure);
                                   })},
          {"stages", stages},
          {"differs", differs},
          {"same", same}};
}

}  // namespace

compare_files compare_documents(const compare::profile_comparison& comparison,
                                const std::filesystem::path& templates_dir) {
  json view = view_of(comparison, templates_dir);
  compare_files files;
  for (json& stage : view["stages"]) {
    if (stage["svg"].get<std::string>().empty()) continue;
    stage["picture"] = fmt::format("compare-{}.svg", files.size() + 1);  // a stage's name may be anything
    files.emplace_back(stage["picture"], stage["svg"]);
  }
  files.emplace_back("compare.md",
                     tidy_markdown(fill_template_file(view, templates_dir / "compare.md.inja")));
  files.emplace_back("compare.html", fill_template_file(view, templates_dir / "compare.html.inja"));
  files.emplace_back("compare.json", compare_json(comparison));
  return files;
}

std::string compare_markdown(const compare::profile_comparison& comparison,
                             const std::filesystem::path& templates_dir) {
  return tidy_markdown(
      fill_template_file(view_of(comparison, templates_dir), templates_dir / "compare.md.inja"));
}

std::string compare_html(const compare::profile_comparison& comparison,
                         const std::filesystem::path& templates_dir) {
  return fill_template_file(view_of(comparison, templates_dir), templates_dir / "compare.html.inja");
}

}  // namespace profgate::render
