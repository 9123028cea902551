#include <fmt/format.h>
#include <gmock/gmock.h>

#include "analysis/stage_rules.h"
#include "core/error.h"
#include "gate/attribution.h"

/// Layers of a model are one operator; a cause says which of them it is in, if it is not in all.
namespace profgate::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t usual_ns = 31'200;
constexpr std::uint32_t steps = 2;

/// What each layer's mlp costs on the device. Of layers with no kernel at all the range is there.
using layer_times = std::vector<std::int64_t>;

class layered_program {
 public:
  explicit layered_program(const char* extra_kernel = "") : m_extra_kernel(extra_kernel) {}

  /// Every step runs through all layers, the kernels one after the other.
  core::timeline eager(const layer_times& mlp_ns) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::size_t layer = 0; layer < mlp_ns.size(); ++layer) run_layer(layer, mlp_ns[layer]);
    }
    return close();
  }

  /// The layers' ranges are open while a graph is captured, and each step replays it.
  core::timeline replayed(const layer_times& mlp_ns) {
    for (std::size_t layer = 0; layer < mlp_ns.size(); ++layer) {
      const std::int64_t at_ns = -1000 + 10 * static_cast<std::int64_t>(layer);
      open_layer(layer, at_ns, at_ns + 9);
      m_timeline.graph_nodes.push_back({layer + 1, 0, 7, 1, at_ns + 5});
      m_timeline.graph_nodes.push_back({layer + 101, layer + 1, 7, 1, -1});
    }
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::int64_t launched_ns = m_now_ns + 1;
      for (std::size_t layer = 0; layer < mlp_ns.size(); ++layer) {
        add_kernel("gemm", launched_ns, mlp_ns[layer]);
        m_timeline.kernels.back().graph_node = layer + 101;
        m_timeline.kernels.back().correlation = step + 1;
      }
    }
    return close();
  }

  /// On a CPU the ranges themselves take the time.
  core::timeline on_cpu(const layer_times& mlp_ns) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      for (std::size_t layer = 0; layer < mlp_ns.size(); ++layer) {
        open_layer(layer, m_now_ns, m_now_ns + mlp_ns[layer]);
        m_now_ns += mlp_ns[layer];
      }
    }
    return close();
  }

 private:
  void run_layer(std::size_t layer, std::int64_t mlp_ns) {
    open_layer(layer, m_now_ns, m_now_ns + 100);
    const std::int64_t launched_ns = m_now_ns + 50;
    m_now_ns += 100;
    add_kernel("norm", launched_ns, 2000);
    if (mlp_ns > 0) add_kernel(*m_extra_kernel == '\0' ? "gemm" : m_extra_kernel, launched_ns, mlp_ns);
  }

  void open_layer(std::size_t layer, std::int64_t start_ns, std::int64_t end_ns) {
    add_range(fmt::format("model.layers.{}", layer), start_ns, end_ns);
    add_range(fmt::format("model.layers.{}.mlp", layer), start_ns, end_ns);
  }

  void add_range(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) {
    m_timeline.ranges.push_back(
        {"", m_timeline.texts.keep(name), core::range_style::push_pop, 7, 1, start_ns, end_ns});
  }

  void add_kernel(const char* name, std::int64_t launched_ns, std::int64_t duration_ns) {
    core::kernel_execution one;
    one.shape = m_timeline.shapes.keep({name});
    one.process_id = 7;
    one.thread_id = 1;
    one.launched_ns = launched_ns;
    one.start_ns = m_now_ns;
    one.end_ns = m_now_ns += duration_ns;
    m_timeline.kernels.push_back(one);
  }

  core::timeline close() {
    add_range("step 1", 0, m_now_ns);
    return std::move(m_timeline);
  }

  const char* m_extra_kernel;
  core::timeline m_timeline;
  std::int64_t m_now_ns = 0;
};

analysis::stage_operations sums_of(core::timeline timeline) {
  analysis::name_stages(timeline, {{"decode", "step \\d+", std::nullopt, "here"}}, "LLM",
                        analysis::layers::together);
  return analysis::sum_up(analysis::label_operations(timeline, "decode", {"LLM"}).occurrences);
}

using kind_of_run = core::timeline (layered_program::*)(const layer_times&);

/// The evidence of the only cause, which is that the mlp's kernel or range takes longer or shorter.
std::vector<std::string> evidence(kind_of_run run, const layer_times& before, const layer_times& after) {
  const attribution result =
      attribute({sums_of((layered_program().*run)(before))}, {sums_of((layered_program().*run)(after))});
  EXPECT_EQ(result.causes.size(), 1U);
  return result.causes.empty() ? std::vector<std::string>{"no cause"} : result.causes[0].evidence;
}

TEST(odd_layers, name_the_one_that_grew) {
  const layer_times before(4, usual_ns);
  const layer_times after = {usual_ns, usual_ns, 43'900, usual_ns};
  EXPECT_THAT(evidence(&layered_program::eager, before, after),
              ElementsAre("model.layers.2 of 4: 31.20 → 43.90 µs a launch"));
  EXPECT_THAT(evidence(&layered_program::eager, after, before),
              ElementsAre("model.layers.2 of 4: 43.90 → 31.20 µs a launch"));
  const attribution result =
      attribute({sums_of(layered_program().eager(before))}, {sums_of(layered_program().eager(after))});
  EXPECT_EQ(to_text(result.causes.at(0)),
            "+25.4 µs: gemm in model.layers.*.mlp is slower: 31.20 → 34.38 µs a launch, 8 launches; "
            "model.layers.2 of 4: 31.20 → 43.90 µs a launch");
  EXPECT_THAT(result.causes[0].changes, IsEmpty()) << "it only takes longer, wherever that is";
}

TEST(odd_layers, of_a_replayed_graph_are_those_of_its_capture) {
  EXPECT_THAT(
      evidence(&layered_program::replayed, layer_times(4, usual_ns), {usual_ns, 43'900, usual_ns, usual_ns}),
      ElementsAre("model.layers.1 of 4: 31.20 → 43.90 µs a launch"));
  EXPECT_THAT(evidence(&layered_program::replayed, layer_times(4, usual_ns), layer_times(4, 43'900)),
              IsEmpty());
}

TEST(odd_layers, of_a_cpu_are_told_in_all) {
  EXPECT_THAT(
      evidence(&layered_program::on_cpu, layer_times(4, usual_ns), {usual_ns, usual_ns, usual_ns, 43'900}),
      ElementsAre("model.layers.3 of 4: 62.40 → 87.80 µs in all"));
  EXPECT_THAT(evidence(&layered_program::on_cpu, layer_times(4, usual_ns), layer_times(4, 43'900)),
              IsEmpty());
}

TEST(odd_layers, are_not_told_where_all_or_many_grew) {
  EXPECT_THAT(evidence(&layered_program::eager, layer_times(4, usual_ns), layer_times(4, 43'900)), IsEmpty());
  EXPECT_THAT(
      evidence(&layered_program::eager, layer_times(4, usual_ns), {43'900, 43'900, usual_ns, usual_ns}),
      IsEmpty());
  EXPECT_THAT(evidence(&layered_program::eager, layer_times(4, usual_ns), {43'900, 36'000, 36'000, 36'000}),
              IsEmpty())
      << "the others have more than a fifth of it";
}

TEST(odd_layers, are_not_told_of_noise) {
  EXPECT_THAT(evidence(&layered_program::eager, layer_times(4, usual_ns), {35'900, 30'100, 31'100, 32'400}),
              IsEmpty())
      << "others differ by a third as much";
  EXPECT_THAT(
      evidence(&layered_program::eager, layer_times(4, usual_ns), {33'900, usual_ns, usual_ns, usual_ns}),
      IsEmpty())
      << "9 % of its own time";
  const analysis::stage_operations same = sums_of(layered_program().eager(layer_times(4, usual_ns)));
  EXPECT_THAT(attribute({same}, {same}).causes, IsEmpty());
}

TEST(odd_layers, are_a_quarter_at_most) {
  const layer_times before(16, usual_ns);
  layer_times after = before;
  for (const std::size_t layer : {4U, 5U, 6U, 11U}) after[layer] = 43'900;
  EXPECT_THAT(evidence(&layered_program::eager, before, after),
              ElementsAre("model.layers.4–6, 11 of 16: 31.20 → 43.90 µs a launch"));
  after[12] = 43'900;
  EXPECT_THAT(evidence(&layered_program::eager, before, after), IsEmpty());
}

TEST(odd_layers, say_where_a_kernel_is_that_the_others_do_not_have) {
  const attribution result = attribute({sums_of(layered_program("spin").eager({0, 0, 0, 0}))},
                                       {sums_of(layered_program("spin").eager({0, 0, 12'700, 0}))});
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].kind, cause_kind::new_operation);
  EXPECT_THAT(result.causes[0].evidence, ElementsAre("only in model.layers.2 of 4"));
}

TEST(odd_layers, are_not_known_of_run_sets_that_older_versions_recorded) {
  const std::vector before(2, sums_of(layered_program().eager(layer_times(4, usual_ns))));
  const std::vector after(2, sums_of(layered_program().eager({usual_ns, usual_ns, 43'900, usual_ns})));
  const auto without_layers = [](std::vector<analysis::stage_operations> processes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      for (analysis::operation_sum& sum : processes[i].operations) sum.layers.clear();
    return processes;
  };
  const attribution known = attribute(before, after);
  EXPECT_EQ(known.causes.at(0).evidence.size(), 1U);
  for (const std::size_t processes : {1U, 2U}) {
    SCOPED_TRACE(processes);
    for (const attribution& result :
         {attribute(without_layers(before, processes), after),
          attribute(before, without_layers(after, processes)),
          attribute(without_layers(before, processes), without_layers(after, processes))}) {
      ASSERT_EQ(result.causes.size(), 1U);
      EXPECT_THAT(result.causes[0].evidence, IsEmpty());
      EXPECT_EQ(result.causes[0].delta_ns, known.causes[0].delta_ns);
    }
  }
}

TEST(odd_layers, are_not_kept_of_more_layers_than_a_file_should_hold) {
  const auto layers_of_gemm = [](std::size_t count) {
    for (const analysis::operation_sum& sum :
         sums_of(layered_program().eager(layer_times(count, usual_ns))).operations)
      if (sum.name == "gemm") return sum.layers;
    return std::vector<analysis::layer_sum>{};
  };
  ASSERT_EQ(layers_of_gemm(analysis::most_layers).size(), analysis::most_layers);
  EXPECT_EQ(layers_of_gemm(analysis::most_layers).back().layer, 255);
  EXPECT_EQ(layers_of_gemm(analysis::most_layers).back().launches, steps);
  EXPECT_EQ(layers_of_gemm(analysis::most_layers).back().cost_ns, steps * usual_ns);
  EXPECT_THAT(layers_of_gemm(analysis::most_layers + 1), IsEmpty());
}

}  // namespace
}  // namespace profgate::gate
