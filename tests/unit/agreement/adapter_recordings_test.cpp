// Unedited PyTorch programs with the adapter, recorded on an H200 (PyTorch 2.11): which module each kernel
// belongs to, beside queries over the same files that know nothing of our code.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "analysis/stage_operations.h"
#include "analysis/stage_rules.h"
#include "parsers/timeline.h"
#include "sql_file.h"

namespace profgate::test {
namespace {

namespace fs = std::filesystem;

const fs::path with_adapter = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11";

/// Kernels of a stage that an adapter opens: all, and by the module (layers as one) that they lie under.
struct stage_kernels {
  std::int64_t count = 0;
  std::int64_t all_ns = 0;
  std::map<std::string, std::int64_t> module_ns{};
  std::size_t occurrences = 0;
};

stage_kernels kernels_of(const fs::path& file, const std::string& stage) {
  core::timeline timeline = parsers::read_nsys_sqlite(file);
  const std::vector<std::string> stages = {"prefill", "decode_all"};
  std::vector<analysis::stage_rule> rules;
  for (const std::string& name : stages) rules.push_back({name, name, "LLM", "here"});
  analysis::name_stages(timeline, rules, "LLM", analysis::layers::together);
  const analysis::labelled_traces traces =
      analysis::label_operations(timeline, stage, {"LLM", nullptr, stages});
  stage_kernels result;
  result.occurrences = traces.occurrences.size();
  for (const auto& occurrence : traces.occurrences)
    for (const analysis::operation& one : occurrence.operations) {
      if (one.is_copy) continue;
      result.count += 1;
      result.all_ns += one.end_ns - one.start_ns;
      if (!one.path.empty())
        result.module_ns[std::string(one.path.substr(one.path.rfind('/') + 1))] += one.end_ns - one.start_ns;
    }
  return result;
}

/// `launched`: each kernel with the adapter's ranges that its launch lies in, by the calling thread: the
/// stage's and the innermost.
void make_launched(const sql_file& sql) {
  sql.rows(R"(
CREATE TEMP TABLE range AS SELECT n.start, n.end, n.globalTid AS thread, s.value AS name
  FROM NVTX_EVENTS AS n JOIN StringIds AS s ON s.id = n.textId
  WHERE n.end IS NOT NULL AND n.domainId = (SELECT domainId FROM NVTX_EVENTS WHERE eventType = 75 AND text = 'LLM');
CREATE TEMP TABLE launched AS
  SELECT k.end - k.start AS ns, r.start AS at,
    (SELECT name FROM range WHERE thread = r.globalTid AND r.start BETWEEN range.start AND range.end
     AND name IN ('prefill', 'decode_step')) AS stage,
    (SELECT name FROM range WHERE thread = r.globalTid AND r.start BETWEEN range.start AND range.end
     ORDER BY range.start DESC LIMIT 1) AS module
  FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.correlationId = k.correlationId;)");
}

/// A text's steps are one stage from the first to the last, with what the program does between them.
void expect_all_kernels(const sql_file& sql, const stage_kernels& ours, const std::string& range) {
  const std::string where = fmt::format(
      "FROM launched WHERE at BETWEEN (SELECT min(start) FROM range WHERE name = '{0}') AND (SELECT max(end) "
      "FROM range WHERE name = '{0}') AND coalesce(stage, '{0}') = '{0}'",
      range);
  EXPECT_EQ(ours.count, sql.number("SELECT count(*) " + where));
  EXPECT_EQ(ours.all_ns, sql.number("SELECT sum(ns) " + where));
}

/// expect(sql, ours, range) for the stages that an adapter opens, whose kernels are all there.
template <typename Expect>
void for_each_stage(const fs::path& file, const Expect& expect) {
  const sql_file sql(file);
  make_launched(sql);
  for (const auto& [stage, range] :
       {std::pair{"prefill", "prefill"}, std::pair{"decode_all", "decode_step"}}) {
    SCOPED_TRACE(stage);
    const stage_kernels ours = kernels_of(file, stage);
    expect_all_kernels(sql, ours, range);
    EXPECT_GT(ours.count, 0);
    expect(sql, ours, range);
  }
}

TEST(adapter_recording, gives_the_kernels_of_generate_their_modules) {
  for_each_stage(with_adapter / "adapter_generate.sqlite", [](const sql_file& sql, const stage_kernels& ours,
                                                              const std::string& range) {
    const std::string sum = fmt::format("SELECT sum(ns) FROM launched WHERE stage = '{}'", range);
    std::int64_t under_modules_ns = 0;
    for (const auto& [module, module_ns] : ours.module_ns) {
      std::string pattern = module;
      if (const std::size_t layer = pattern.find(".*"); layer != std::string::npos)
        pattern.replace(layer, 2, ".[0-9]");
      EXPECT_EQ(module_ns, sql.number(fmt::format("{} AND module GLOB '{}'", sum, pattern))) << module;
      under_modules_ns += module_ns;
    }
    // In a model so small choosing the tokens, between the steps, takes its share.
    EXPECT_GE(static_cast<double>(under_modules_ns), 0.95 * static_cast<double>(sql.number(sum)));
    EXPECT_TRUE(ours.module_ns.contains("model.layers.*.self_attn.q_proj"));
    EXPECT_TRUE(ours.module_ns.contains("lm_head"));
  });
}

/// What is compiled has no modules any more, only the root.
TEST(adapter_recording, has_all_kernels_of_what_was_compiled) {
  for_each_stage(with_adapter / "adapter_compiled.sqlite",
                 [](const sql_file&, const stage_kernels& ours, const std::string& range) {
                   EXPECT_EQ(ours.occurrences, 2U);
                   for (const auto& [module, module_ns] : ours.module_ns) EXPECT_EQ(module, range);
                 });
}

/// An unedited PyTorch program whose decode steps are replayed from a CUDA graph: the adapter's ranges were
/// open when its nodes were made, by the thread that captured.
TEST(adapter_recording, gives_replayed_kernels_the_modules_of_their_capture) {
  const fs::path file = with_adapter / "adapter_graph.sqlite";
  std::map<std::string, std::int64_t> expected_ns;  // by module, layers as one
  const sql_file sql(file);
  // Of a copied node the tool tells twice, once without what it is a copy of.
  sql.rows(R"(
CREATE TEMP TABLE made AS SELECT graphNodeId AS node, max(originalGraphNodeId) AS original, min(start) AS at
  FROM CUDA_GRAPH_NODE_EVENTS GROUP BY graphNodeId;
CREATE TEMP TABLE named AS SELECT copy.node AS node,
  (SELECT textId FROM NVTX_EVENTS AS r WHERE r.start <= first.at AND r.end >= first.at AND r.domainId = 1
   ORDER BY r.start DESC LIMIT 1) AS name
  FROM made AS copy JOIN made AS first ON copy.original = first.node;)");
  const auto sum_ns = [&](const std::string& pattern) {
    return sql.number(
        fmt::format("SELECT coalesce(sum(k.end - k.start), 0) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN "
                    "named ON named.node = "
                    "k.graphNodeId JOIN StringIds AS s ON s.id = named.name WHERE s.value GLOB '{}'",
                    pattern));
  };
  for (const char* module : {"attn.qkv_proj", "attn.o_proj", "mlp.0", "mlp.2", "norm1", "norm2"})
    expected_ns[fmt::format("layers.*.{}", module)] = sum_ns(fmt::format("layers.[0-9].{}", module));
  expected_ns["layers.*.attn"] = sum_ns("layers.[0-9].attn");
  expected_ns["head"] = sum_ns("head");
  EXPECT_GT(expected_ns["layers.*.attn.qkv_proj"], 40'000'000);
  std::map<std::int32_t, std::int64_t> expected_by_layer_ns;
  for (std::int32_t layer = 0; layer < 10; ++layer) {
    const std::int64_t layer_ns = sum_ns(fmt::format("layers.{}.attn.qkv_proj", layer));
    if (layer_ns > 0) expected_by_layer_ns[layer] = layer_ns;
  }
  EXPECT_GT(expected_by_layer_ns.size(), 1U);

  core::timeline timeline = parsers::read_nsys_sqlite(file);
  const std::vector<std::string> stages = {"prefill", "decode_all"};
  std::vector<analysis::stage_rule> rules;
  for (const std::string& stage : stages) rules.push_back({stage, stage, "LLM", "here"});
  analysis::name_stages(timeline, rules, "LLM", analysis::layers::together);
  std::map<std::string, std::int64_t> ours_ns;
  std::map<std::int32_t, std::int64_t> ours_by_layer_ns;
  std::int64_t all_ns = 0;
  std::int64_t under_modules_ns = 0;
  for (const core::kernel_execution& kernel : timeline.kernels)
    if (kernel.graph_node != 0) all_ns += kernel.end_ns - kernel.start_ns;
  const analysis::labelled_traces decodes =
      analysis::label_operations(timeline, "decode_all", {"LLM", nullptr, stages});
  ASSERT_EQ(decodes.occurrences.size(), 3U) << "one step that warms up, and two texts";
  for (std::size_t text : {1U, 2U}) {
    for (const analysis::operation& one : decodes.occurrences[text].operations) {
      if (one.is_copy || one.path.empty()) continue;
      const std::string module(one.path.substr(one.path.rfind('/') + 1));
      ours_ns[module] += one.end_ns - one.start_ns;
      if (module == "layers.*.attn.qkv_proj") ours_by_layer_ns[one.layer] += one.end_ns - one.start_ns;
      under_modules_ns += one.end_ns - one.start_ns;
    }
  }
  for (const auto& [module, module_ns] : expected_ns) EXPECT_EQ(ours_ns[module], module_ns) << module;
  EXPECT_EQ(ours_by_layer_ns, expected_by_layer_ns);
  EXPECT_GT(static_cast<double>(under_modules_ns), 0.95 * static_cast<double>(all_ns));
}

}  // namespace
}  // namespace profgate::test
