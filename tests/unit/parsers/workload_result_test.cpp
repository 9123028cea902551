#include "parsers/workload_result.h"

#include "file_fixture.h"

namespace profgate::test {
namespace {

using ::testing::HasSubstr;

const std::string whole = R"({"schema_version":1,"mode":"bench",
  "device":{"kind":"cpu","name":"a CPU","threads":2},
  "model":{"name":"llama-tiny","architecture":"llama","dtype":"f32","weights":"synthetic","parameters":1234,
           "active_parameters":1000,"dims":{"hidden":64,"rope_theta":10000.0}},
  "tokens":{"prompt":32,"decode":16,"batch":1},
  "samples_ns":{"prefill":[100,200],"decode_all":[300.4]},
  "decode_step_ns":[1,2,3],
  "work":{"prefill":{"flops":1e9,"bytes":2e6},"decode_all":{"flops":5}},
  "work_assumptions":["no dropout"],
  "ceilings":{"flops_per_s":1e11,"memory_bytes_per_s":2e10,"method":"triad"},
  "memory_peak_bytes":4096,"logits_hash":"abc","greedy":[1,2],"reference":{"name":"torch","distance":1e-5},
  "something_new":[{}]})";

class workload_result : public file_test {
 protected:
  static std::string words(const std::string& text) {
    return words_of_bad_input([&] { parsers::parse_workload_result(text, "result.json"); });
  }
};

TEST_F(workload_result, reads_the_whole_contract) {
  const core::workload_result result = parsers::read_workload_result(write(whole));
  EXPECT_EQ(result.mode, "bench");
  EXPECT_EQ(result.device_kind, "cpu");
  EXPECT_EQ(result.device_name, "a CPU");
  EXPECT_EQ(result.samples_ns.at("prefill"), (std::vector<std::int64_t>{100, 200}));
  EXPECT_EQ(result.samples_ns.at("decode_all"), (std::vector<std::int64_t>{300}));
  EXPECT_EQ(result.decode_step_ns.size(), 3U);
  EXPECT_EQ(result.work.at("prefill").flops, 1e9);
  EXPECT_EQ(result.work.at("decode_all").bytes, std::nullopt);
  EXPECT_EQ(result.work_assumptions, std::vector<std::string>{"no dropout"});
  EXPECT_EQ(result.ceiling_flops_per_s, 1e11);
  EXPECT_EQ(result.ceiling_bytes_per_s, 2e10);
  EXPECT_EQ(result.ceiling_method, "triad");
  EXPECT_EQ(result.tokens.at("decode"), 16);
  EXPECT_EQ(result.model_name, "llama-tiny");
  EXPECT_EQ(result.model_architecture, "llama");
  EXPECT_EQ(result.model_dtype, "f32");
  EXPECT_EQ(result.model_weights, "synthetic");
  EXPECT_EQ(result.model_dims.at("rope_theta"), 10000.0);
  EXPECT_EQ(result.parameters, 1234);
  EXPECT_EQ(result.active_parameters, 1000);
  EXPECT_EQ(result.memory_peak_bytes, 4096);
  EXPECT_EQ(result.logits_hash, "abc");
  EXPECT_EQ(result.reference_name, "torch");
  EXPECT_EQ(result.reference_distance, 1e-5);
}

/// A result with `fields` beside the required ones.
std::string with(const std::string& fields) {
  return R"({"schema_version":1,"samples_ns":{"s":[1]},)" + fields + "}";
}

const std::string decode_telemetry = R"("telemetry":{"decode_all":{
  "windows_count":5,"windows_ns":2000000000,"samples_count":98,
  "sm_clock_mhz":{"min":1755,"median":1980.5,"max":1980},"power_w":null,"power_method":"instant",
  "temperature_c":{"min":40,"median":41,"max":44},"throttle_reasons":["software_power_cap"],
  "energy_j":912.5,"energy_runs_count":7,"energy_runs_ns":1500000000,"energy_uncertainty_ratio":0.25,"not_measured":{"power_w":"NVML: Not Supported"}}})";

TEST_F(workload_result, reads_what_the_gpu_did_around_the_samples) {
  std::string text = decode_telemetry;
  text.replace(text.find("1980.5"), 6, "1979.5");
  const core::workload_result result = parsers::parse_workload_result(with(text), "r");
  const core::stage_telemetry& decode = result.telemetry.at("decode_all");
  EXPECT_EQ(decode.windows_count, 5);
  EXPECT_EQ(decode.windows_ns, 2000000000);
  EXPECT_EQ(decode.samples_count, 98);
  EXPECT_EQ(decode.sm_clock_mhz->min, 1755);
  EXPECT_EQ(decode.sm_clock_mhz->median, 1979.5);
  EXPECT_EQ(decode.sm_clock_mhz->max, 1980);
  EXPECT_EQ(decode.temperature_c->max, 44);
  EXPECT_FALSE(decode.memory_clock_mhz);
  EXPECT_FALSE(decode.power_w);
  EXPECT_EQ(decode.power_method, "instant");
  EXPECT_EQ(decode.not_measured.at("power_w"), "NVML: Not Supported");
  EXPECT_EQ(decode.throttle_reasons, (std::vector<std::string>{"software_power_cap"}));
  EXPECT_EQ(decode.energy_j, 912.5);
  EXPECT_EQ(decode.energy_runs_count, 7);
  EXPECT_EQ(decode.energy_runs_ns, 1'500'000'000);
  EXPECT_EQ(decode.energy_uncertainty_ratio, 0.25);
  EXPECT_EQ(parsers::parse_workload_result(with(R"("telemetry":null,"telemetry_reason":"a CPU")"), "r")
                .telemetry_reason,
            "a CPU");
}

TEST_F(workload_result, reads_memory_and_cosine) {
  const core::workload_result result = parsers::parse_workload_result(
      with(R"("memory":{"weight_bytes":16,"kv_cache_bytes":8,"scratch_bytes":0},
        "reference":{"name":"torch","distance":0.1,"cosine":-0.5})"),
      "r");
  EXPECT_EQ(result.weight_bytes, 16);
  EXPECT_EQ(result.kv_cache_bytes, 8);
  EXPECT_EQ(result.scratch_bytes, 0);
  EXPECT_EQ(result.reference_cosine, -0.5);
}

TEST_F(workload_result, reads_how_full_experts_were) {
  const auto with = [](const std::string& layers) {
    return R"({"schema_version":1,"samples_ns":{"prefill":[100]},"experts":{"prefill":{"top_k":6,"experts":64,
              "tokens":283,"layers":)" +
           layers + "}}}";
  };
  const core::workload_result result =
      parsers::parse_workload_result(with(R"([{"layer":1,"largest_rows":53,"mean_rows":26.5,"unused":3},
               {"layer":2,"largest_rows":106,"mean_rows":26.5,"unused":0}])"),
                                     "result.json");
  const core::expert_use& use = result.experts.at("prefill");
  EXPECT_EQ(use.tokens, 283);
  EXPECT_EQ(use.worst_layer().layer, 2);
  EXPECT_DOUBLE_EQ(use.worst_layer().imbalance(), 4);
  EXPECT_DOUBLE_EQ(use.median_imbalance(), 3);
  EXPECT_EQ(use.layers[0].unused, 3);
  EXPECT_THAT(words(with("[]")), HasSubstr("is empty, but must hold the layers with experts"));
  EXPECT_THAT(words(with(R"([{"layer":1}])")), HasSubstr("largest_rows"));
}

TEST_F(workload_result, names_the_field_of_a_part_that_is_wrong) {
  EXPECT_THAT(words(with(decode_telemetry)),
              HasSubstr("telemetry.decode_all.sm_clock_mhz has min 1755, median 1980.5 and max 1980"));
  EXPECT_THAT(words(with(R"("telemetry":{"s":{"windows_count":1}})")),
              HasSubstr("telemetry.s lacks the required key 'windows_ns'"));
  EXPECT_THAT(words(with(R"("telemetry":{"s":{"windows_count":1,"windows_ns":1,"samples_count":0,
                             "throttle_reasons":[4]}})")),
              HasSubstr("telemetry.s.throttle_reasons[0] must be a string"));
  EXPECT_THAT(words(with(R"("telemetry":[])")), HasSubstr("telemetry must be an object"));
  EXPECT_THAT(words(with(R"("memory":{"weight_bytes":-1})")), HasSubstr("memory.weight_bytes is -1"));
  EXPECT_THAT(words(with(R"("reference":{"cosine":"1"})")), HasSubstr("reference.cosine must be a number"));
}

TEST_F(workload_result, needs_only_version_and_samples) {
  const core::workload_result result =
      parsers::parse_workload_result(R"({"schema_version":1,"samples_ns":{"s":[7]},"ceilings":null,
                                         "ceilings_reason":"not asked for"})",
                                     "r");
  EXPECT_EQ(result.samples_ns.at("s"), std::vector<std::int64_t>{7});
  EXPECT_EQ(result.memory_peak_bytes, std::nullopt);
  EXPECT_EQ(result.ceiling_flops_per_s, std::nullopt);
  EXPECT_EQ(result.ceilings_reason, "not asked for");
}

TEST_F(workload_result, names_the_place_of_what_is_wrong) {
  EXPECT_THAT(words(""), HasSubstr("result.json: empty"));
  EXPECT_THAT(words("{\"schema_version\":1,\n\"samples_ns\":{"),
              HasSubstr("result.json:2: not valid JSON at column"));
  EXPECT_THAT(words("[]"), HasSubstr("the document must be an object, but is array"));
  EXPECT_THAT(words("{}"), HasSubstr("lacks the required key 'schema_version'"));
  EXPECT_THAT(words(R"({"schema_version":2,"samples_ns":{"s":[1]}})"),
              HasSubstr("schema_version is 2, this profgate reads 1"));
  EXPECT_THAT(words(R"({"schema_version":1})"), HasSubstr("lacks the required key 'samples_ns'"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{}})"), HasSubstr("samples_ns names no stage"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1],"t":[]}})"),
              HasSubstr("samples_ns.t is empty"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[100000000000001]}})"),
              HasSubstr("samples_ns.s[0] is 100000000000001 ns, more than 28 hours"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1,-2]}})"), HasSubstr("samples_ns.s[1] is -2"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1,0]}})"),
              HasSubstr("samples_ns.s[1] is 0 ns: leave out what did not run"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1e30]}})"),
              HasSubstr("samples_ns.s[0] is 1e+30, too large"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1e999]}})"), HasSubstr("too large"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[18446744073709551615]}})"),
              HasSubstr("too large"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[NaN]}})"), HasSubstr("not valid JSON"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":"1"}})"),
              HasSubstr("samples_ns.s must be an array, but is string"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1]},"mode":"fast"})"),
              HasSubstr("mode is 'fast'"));
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"s":[1]},"tokens":{"prompt":true}})"),
              HasSubstr("tokens.prompt must be a number"));
}

TEST_F(workload_result, survives_a_hundred_thousand_brackets) {
  EXPECT_THAT(words(std::string(100000, '[')), HasSubstr("not valid JSON"));
}

TEST_F(workload_result, reads_inputs) {
  const std::string text = R"({"schema_version":1,"samples_ns":{"prefill":[9]},"inputs":[
    {"name":"page","tokens":{"prompt":12,"image":8},"samples_ns":{"prefill":[7],"vision":[5]},
     "image":{"width":30,"height":20,"mode":"gundam","tiles":6}},
    {"name":"text","samples_ns":{"prefill":[2]}}]})";
  const core::workload_result result = parsers::read_workload_result(write(text));
  ASSERT_EQ(result.inputs.size(), 2U);
  EXPECT_EQ(result.inputs[0].name, "page");
  EXPECT_EQ(result.inputs[0].image, "30 x 20, gundam, 6 tiles");
  EXPECT_EQ(result.inputs[0].tokens.at("image"), 8);
  EXPECT_EQ(result.inputs[0].samples_ns.at("vision"), std::vector<std::int64_t>{5});
  EXPECT_EQ(result.inputs[1].image, "");
  EXPECT_THAT(words(R"({"schema_version":1,"samples_ns":{"prefill":[9]},"inputs":[{"samples_ns":{}}]})"),
              HasSubstr("name"));
}

}  // namespace
}  // namespace profgate::test
