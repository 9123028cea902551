#include "rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "config/schema.h"
#include "core/error.h"
#include "core/expression.h"
#include "core/json_path.h"
#include "core/records.h"
#include "core/slips.h"
#include "core/stage_names.h"
#include "core/units.h"

namespace profgate::config {
namespace {

[[noreturn]] void refuse(const resolved& composed, std::string_view key, const std::string& what,
                         std::string remedy) {
  throw core::bad_input(composed.origin(key), 0, what, std::move(remedy));
}

bool contains(const std::vector<std::string>& items, const std::string& wanted) {
  return std::find(items.begin(), items.end(), wanted) != items.end();
}

void require(const resolved& composed, std::string_view key, std::string_view why) {
  if (!composed.is_null(key)) return;
  refuse(composed, key, fmt::format("'{}' is not set, but {}", key, why),
         fmt::format("set it ({}) in the YAML of the {}", accepted_values(*find_row(key)),
                     key.substr(0, key.find('.'))));
}

void check_heads(const resolved& composed) {
  const std::int64_t heads = composed.integer("model.shape.num_attention_heads");
  const std::int64_t kv_heads = composed.integer("model.shape.num_key_value_heads");
  if (heads % kv_heads != 0) {
    refuse(composed, "model.shape.num_key_value_heads",
           fmt::format("{} query heads cannot share {} key and value heads evenly", heads, kv_heads),
           "make model.shape.num_attention_heads a multiple of model.shape.num_key_value_heads");
  }
  if (composed.integer("model.shape.head_dim") % 2 != 0) {
    refuse(composed, "model.shape.head_dim", "'model.shape.head_dim' is odd, but RoPE rotates two halves",
           "make it even");
  }
}

constexpr const char* experts_key = "model.shape.num_experts";
constexpr const char* rope_type_key = "model.shape.rope_scaling.rope_type";

/// The key whose value says whether `key` of the shape has a meaning; nothing: it always has.
std::optional<const char*> governing_key(const std::string& key) {
  if (key.starts_with("model.shape.rope_scaling.")) return rope_type_key;
  for (const char* name : {"num_experts", "num_experts_per_tok", "moe_intermediate_size",
                           "shared_intermediate_size", "first_dense_layers", "norm_topk_prob"}) {
    if (key == std::string("model.shape.") + name) return experts_key;
  }
  return std::nullopt;
}

void check_shape(const resolved& composed) {
  for (const schema_row& row : schema()) {
    if (!row.key.starts_with("model.shape.")) continue;
    const auto governing = governing_key(row.key);
    if (!governing) {
      require(composed, row.key, "synthetic weights need the whole shape");
    } else if (!composed.is_null(*governing)) {
      require(composed, row.key, fmt::format("'{}' is set, which needs it", *governing));
    } else if (!composed.is_null(row.key)) {
      refuse(composed, row.key, fmt::format("'{}' is set, but '{}' is not", row.key, *governing),
             fmt::format("set {} too, or remove this key", *governing));
    }
  }
  check_heads(composed);
  if (!composed.is_null(experts_key) &&
      composed.integer("model.shape.num_experts_per_tok") > composed.integer(experts_key)) {
    refuse(composed, "model.shape.num_experts_per_tok",
           fmt::format("a token cannot go to {} of {} experts",
                       composed.integer("model.shape.num_experts_per_tok"), composed.integer(experts_key)),
           "make model.shape.num_experts_per_tok at most model.shape.num_experts");
  }
}

/// One entry of workload.figures.
void check_figure(const resolved& composed, const record& figure) {
  const std::string key = "workload.figures";
  const std::string& name = figure.at("name");
  const auto refuse_it = [&](const std::string& what, const std::string& remedy) {
    refuse(composed, key, fmt::format("the figure '{}' of '{}' {}", name, key, what), remedy);
  };
  if (!figure.contains("unit"))
    refuse_it("has no unit", "give it one: s, ms, us and ns are times, all else is kept as it is");
  const bool is_from_file = figure.contains("file");
  if (is_from_file == figure.contains("output")) {
    refuse_it(is_from_file ? "has both a file and an output" : "says neither file nor output",
              "give it {file, path} to read a JSON file, or {output} to read lines of the standard output");
  }
  if (is_from_file != figure.contains("path")) {
    refuse_it(is_from_file ? "has a file and no path" : "has a path and no file",
              "path tells where in the JSON file the numbers are: latencies[]");
  }
  if (const auto from = figure.find("from"); from != figure.end()) {
    if (is_from_file || (from->second != "client" && from->second != "program")) {
      refuse_it(fmt::format("cannot be from '{}'", from->second),
                "say from: client beside output, for a line that workload.client prints");
    }
    if (from->second == "client" && composed.list("workload.client").empty())
      refuse_it("is from the client, and there is none",
                "set workload.client and workload.server.ready_port");
  }
  if (contains(composed.list("workload.stages"), name) && !core::ns_per(figure.at("unit"))) {
    refuse_it(fmt::format("is called like a stage, whose times it gives, but is in '{}'", figure.at("unit")),
              "give it s, ms, us or ns, or another name");
  }
  const std::string where = fmt::format("{} ({})", key, composed.origin(key));
  if (is_from_file) {
    const core::json_path is_path(figure.at("path"), where);
  } else if (core::expression(figure.at("output"), where, core::expression::fits::part_of_text)
                 .group_count() != 1) {
    refuse_it(
        "needs an expression with one group",
        R"(put the number into parentheses, and no others: 'latency: ([0-9.]+) s'; (?:…) groups without taking)");
  }
}

void check_figures(const resolved& composed) {
  std::vector<std::string> names;
  for (const record& figure : composed.records("workload.figures")) {
    if (contains(names, figure.at("name"))) {
      refuse(composed, "workload.figures",
             fmt::format("'workload.figures' has two figures called '{}'", figure.at("name")),
             "give one of them another name");
    }
    names.push_back(figure.at("name"));
    check_figure(composed, figure);
  }
}

/// The collector knows names and no expressions, and is told them in a list: "range@domain,range@domain".
void check_synchronised(const resolved& composed, const record& stage, const std::string& range) {
  const auto refuse_it = [&](const std::string& what, const std::string& remedy) {
    refuse(composed, "workload.stages",
           fmt::format("the stage '{}' of 'workload.stages' {}", stage.at("name"), what), remedy);
  };
  const std::string& wish = stage.at("sync");
  if (wish != "true" && wish != "false")
    refuse_it(fmt::format("has sync: {}", wish), "say sync: true, or false");
  if (wish == "false") return;
  if (range != core::every_text && core::has_expression_characters(range)) {
    refuse_it(fmt::format("has sync: true, and its range '{}' is an expression", range),
              R"(name one range, without \^$.|?*+()[]{}, or all of a domain by '*'; or leave sync away)");
  }
  const auto own = stage.find("domain");
  const std::string domain = own == stage.end() ? composed.text("workload.nvtx_domain") : own->second;
  if (range.find_first_of(",@") != std::string::npos || domain.find_first_of(",@") != std::string::npos)
    refuse_it("has sync: true, and a ',' or '@' in its range or domain", "call the range otherwise");
}

void check_ranges(const resolved& composed) {
  constexpr std::size_t max_synchronised = 32;  // as many names as the collector keeps
  std::size_t synchronised = 0;
  for (const record& stage : composed.records("workload.stages")) {
    const auto own = stage.find("range");
    const std::string& range = own == stage.end() ? stage.at("name") : own->second;
    if (own != stage.end() && range != core::every_text && core::has_expression_characters(range))
      const core::expression compiles(range, composed.origin("workload.stages"));
    if (!stage.contains("sync")) continue;
    check_synchronised(composed, stage, range);
    if (stage.at("sync") == "true") ++synchronised;
  }
  if (synchronised > max_synchronised) {
    refuse(composed, "workload.stages",
           fmt::format("'workload.stages' has sync: true {} times, {} is the most", synchronised,
                       max_synchronised),
           "leave sync away where the program waits for the device itself");
  }
}

void check_server(const resolved& composed) {
  const std::string port_key = "workload.server.ready_port";
  const std::string text_key = "workload.server.ready_text";
  const bool has_port = !composed.is_null(port_key);
  const bool has_text = !composed.is_null(text_key);
  const bool has_client = !composed.list("workload.client").empty();
  if (has_port && has_text)
    refuse(composed, text_key, fmt::format("'{}' and '{}' are both set", port_key, text_key), "set one");
  if (has_client && !has_port && !has_text) {
    refuse(composed, "workload.client",
           "'workload.client' is set, but nothing says when the server is ready for it",
           fmt::format("set {} or {}", port_key, text_key));
  }
  if (!has_client && (has_port || has_text)) {
    refuse(composed, has_port ? port_key : text_key,
           "the program is a server, but 'workload.client' is not set: it would never be stopped",
           "set workload.client to the words of a command that uses it");
  }
  if (has_text) {
    const core::expression compiles(composed.text(text_key), composed.origin(text_key),
                                    core::expression::fits::part_of_text);
  }
}

void check_gate_stages(const resolved& composed, const std::vector<std::string>& stages) {
  std::vector<std::string> known = stages;
  for (const std::string& figure : composed.list("workload.figures")) known.push_back(figure);
  if (!contains(known, core::whole_process_stage)) known.emplace_back(core::whole_process_stage);
  for (const std::string& stage : composed.list("gate.stages")) {
    if (contains(known, stage)) continue;
    refuse(
        composed, "gate.stages",
        fmt::format("gate.stages names '{}', which is no stage of the workload", stage),
        fmt::format("choose from {} (workload.stages, workload.figures), or leave it empty for all of them",
                    core::first_few(known)));
  }
}

}  // namespace

bool can_name_stage(std::string_view name) {
  return name.find_first_of("/.") == std::string_view::npos;
}

void check_combinations(const resolved& composed) {
  const std::vector<std::string> stages = composed.list("workload.stages");
  if (stages.empty()) {
    refuse(composed, "workload.stages", "'workload.stages' is empty: nothing would be measured",
           "name at least one NVTX range that the workload opens");
  }
  for (const std::string& stage : stages) {
    if (std::count(stages.begin(), stages.end(), stage) == 1) continue;
    refuse(composed, "workload.stages", fmt::format("'workload.stages' has two stages called '{}'", stage),
           "give one of them another name; ranges of several names are one stage by an expression: {name: "
           "step, range: 'a|b'}");
  }
  for (const std::string& stage : stages) {
    if (can_name_stage(stage)) continue;
    refuse(
        composed, "workload.stages",
        fmt::format("the stage '{}' cannot name files: a '/' is a folder and a '.' begins an ending", stage),
        "call its NVTX range otherwise, such as decode_all, or give the stage a name of its own: {name: "
        "decode_all, range: …}");
  }
  check_ranges(composed);
  check_figures(composed);
  check_server(composed);
  check_gate_stages(composed, stages);
  if (!composed.boolean("nsys.gating_nvtx")) return;
  const std::string gate = composed.text("nsys.gate_range");
  if (!contains(stages, gate) && composed.is_null("workload.profile_range")) {
    refuse(composed, "nsys.gate_range",
           fmt::format("nsys.gate_range '{}' is no stage of the workload: the trace would be empty", gate),
           fmt::format("set nsys.gate_range to one of workload.stages ({}), or nsys.gating_nvtx to false",
                       fmt::join(stages, ", ")));
  }
  if (!contains(composed.list("nsys.trace"), "nvtx")) {
    refuse(composed, "nsys.trace", "nsys.gating_nvtx needs 'nvtx' in nsys.trace: the gate would never open",
           "add nvtx to nsys.trace, or set nsys.gating_nvtx to false");
  }
}

bool has_vision(const resolved& composed) {
  return !composed.is_null("model.vision.clip.width");
}

void check_vision(const resolved& composed) {
  constexpr std::size_t compressor_layers = 2;
  std::optional<std::string> given;
  for (const schema_row& row : schema())
    if (row.key.starts_with("model.vision.") && row.nullable && !composed.is_null(row.key)) given = row.key;
  if (!given) return;
  for (const schema_row& row : schema()) {
    if (row.key.starts_with("model.vision.") && row.nullable)
      require(composed, row.key, fmt::format("'{}' is set: a vision encoder needs its whole shape", *given));
  }
  if (composed.list("model.vision.sam.compressed_widths").size() != compressor_layers) {
    refuse(composed, "model.vision.sam.compressed_widths",
           "'model.vision.sam.compressed_widths' must have two widths", "give it as [512, 1024]");
  }
}

void check_inputs(const resolved& composed) {
  const bool has_width = !composed.is_null("inputs.synthetic_image.width");
  if (has_width || !composed.is_null("inputs.synthetic_image.height") ||
      !composed.is_null("inputs.synthetic_image.seed")) {
    for (const char* key : {"inputs.synthetic_image.width", "inputs.synthetic_image.height"})
      require(composed, key, "a synthetic image needs its size");
  }
  std::optional<std::string> given;
  for (const char* key : {"inputs.manifest", "inputs.image", "inputs.synthetic_image.width"}) {
    if (composed.is_null(key)) continue;
    if (given) {
      refuse(composed, key, fmt::format("'{}' and '{}' are both set", *given, key),
             "set one of them; inputs=null takes back those of the pair");
    }
    given = key;
  }
  if (given && *given != "inputs.manifest" && !has_vision(composed) &&
      composed.text("model.weights") != "checkpoint") {
    refuse(composed, *given, fmt::format("'{}' is set, but the model has no vision encoder", *given),
           "choose a model with model.vision, or set it to null");
  }
}

void check_llm(const resolved& composed) {
  for (const char* key :
       {"model.name", "model.dtype", "model.weights", "workload.prompt_tokens", "workload.decode_tokens"}) {
    require(composed, key, "the engine llm needs it");
  }
  if (!composed.is_null("model.reference")) {
    require(composed, "model.reference_file", "model.reference names an entry of it");
  }
  check_vision(composed);
  check_inputs(composed);
  if (composed.text("model.weights") == "checkpoint") {
    require(composed, "model.checkpoint", "model.weights is checkpoint");
    return;  // the shape comes with it
  }
  check_shape(composed);
}

}  // namespace profgate::config
