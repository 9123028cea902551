#include <gmock/gmock.h>

#include "conf_folder.h"

namespace profgate::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* small_vision =
    "vision:\n  sam: {image_size: 64, patch_size: 4, width: 8, layers: 1, heads: 2, mlp_width: 8, window: 2, "
    "neck_width: 8, compressed_widths: [8, 8]}\n  clip: {width: 8, layers: 1, heads: 2, mlp_width: 8, "
    "position_side: 2}\n";

class rules : public conf_folder {
 protected:
  failure refusal_with(const std::string& override) {
    m_request.command_line_overrides = {override};
    return compose_failure();
  }

  /// A complete tiny model and workload, so that each case can break one thing.
  void write_llm(const std::string& vision = "") {
    write("model/llm/m.yaml",
          std::string(
              "name: m\ndtype: float32\nweights: synthetic\nshape:\n  architecture: llama\n  vocab_size: 8\n"
              "  hidden_size: 8\n  intermediate_size: 8\n  num_hidden_layers: 1\n  num_attention_heads: 4\n"
              "  num_key_value_heads: 2\n  head_dim: 2\n  rms_norm_eps: 1.0e-5\n  rope_theta: 1.0e4\n"
              "  tie_word_embeddings: false\n  attention_bias: false\n  qk_norm: false\n") +
              vision);
    write("workload/w.yaml", "prompt_tokens: 3\ndecode_tokens: 2\n");
    m_request.engine = "llm";
    m_request.model_choice = "llm/m";
    m_request.workload_choice = "w";
  }
};

TEST_F(rules, the_gate_must_be_a_stage) {
  const failure refused = refusal_with("nsys.gate_range=decode");
  EXPECT_EQ(refused.what,
            "command line: nsys.gate_range 'decode' is no stage of the workload: the trace would be empty");
  EXPECT_EQ(
      refused.remedy,
      "set nsys.gate_range to one of workload.stages (prefill, decode_all), or nsys.gating_nvtx to false");
  m_request.command_line_overrides = {"nsys.gate_range=decode", "nsys.gating_nvtx=false"};
  EXPECT_NO_THROW(compose(m_request));
}

TEST_F(rules, what_is_judged_must_be_a_stage) {
  const failure refused = refusal_with("gate.stages=[prefill, decode]");
  EXPECT_EQ(refused.what, "command line: gate.stages names 'decode', which is no stage of the workload");
  EXPECT_EQ(refused.remedy,
            "choose from prefill, decode_all, process (workload.stages, workload.figures), or leave it empty "
            "for all of them");
  m_request.command_line_overrides = {
      "gate.stages=[prefill, latency]",
      "workload.figures=[{name: latency, unit: s, output: 'took ([0-9.]+)'}]"};
  EXPECT_NO_THROW(compose(m_request));
}

TEST_F(rules, the_gate_needs_nvtx) {
  EXPECT_THAT(refusal_with("nsys.trace=[cuda]").what, HasSubstr("needs 'nvtx' in nsys.trace"));
}

TEST_F(rules, there_must_be_a_stage) {
  EXPECT_EQ(refusal_with("workload.stages=[]").what,
            "command line: 'workload.stages' is empty: nothing would be measured");
}

TEST_F(rules, two_stages_have_two_names) {
  for (const char* second : {"prefill", "{name: prefill, range: 'step_.*'}"}) {
    EXPECT_EQ(refusal_with("workload.stages=[prefill, decode_all, " + std::string(second) + "]").what,
              "command line: 'workload.stages' has two stages called 'prefill'")
        << second;
  }
}

TEST_F(rules, a_stage_must_be_able_to_name_files) {
  for (const char* name : {"decode/all", "decode.all", ".."}) {
    const failure refused = refusal_with("workload.stages=[prefill, " + std::string(name) + "]");
    EXPECT_THAT(refused.what, HasSubstr("command line: the stage '")) << name;
    EXPECT_THAT(refused.what, HasSubstr("cannot name files")) << name;
    EXPECT_FALSE(can_name_stage(name)) << name;
  }
}

TEST_F(rules, only_ranges_that_are_named_can_be_synchronised) {
  const auto refused = [&](const std::string& fields) {
    return refusal_with("workload.stages=[{name: prefill, " + fields + "}, decode_all]").what;
  };
  EXPECT_EQ(refused("range: 'step_.*', sync: true"),
            "command line: the stage 'prefill' of 'workload.stages' has sync: true, and its range 'step_.*' "
            "is an expression");
  EXPECT_THAT(refused("sync: yes"), HasSubstr("has sync: yes"));
  EXPECT_THAT(refused("range: 'a,b', sync: true"), HasSubstr("a ',' or '@'"));
  EXPECT_THAT(refused("range: 'a@b', sync: true"), HasSubstr("a ',' or '@'"));
  EXPECT_THAT(refused("domain: 'a,b', sync: true"), HasSubstr("a ',' or '@'"));
  EXPECT_THAT(refused("sinc: true"), HasSubstr("has no key 'sinc'"));
  std::string many;
  for (int i = 0; i < 33; ++i) many += ", {name: s" + std::to_string(i) + ", sync: true}";
  EXPECT_THAT(refusal_with("workload.stages=[prefill, decode_all" + many + "]").what,
              HasSubstr("has sync: true 33 times, 32 is the most"));
  m_request.command_line_overrides = {
      "workload.stages=[{name: prefill, sync: true}, {name: decode_all, range: '*', domain: '', sync: true}, "
      "{name: steps, range: 'step_.*', sync: false}]"};
  EXPECT_EQ(compose(m_request).records("workload.stages").at(1).at("sync"), "true");
}

TEST_F(rules, a_figure_says_where_it_is_read_and_in_which_unit) {
  const auto refused = [&](const std::string& fields) {
    return refusal_with("workload.figures=[{name: latency, " + fields + "}]").what;
  };
  EXPECT_THAT(refused("file: a.json, path: t"), HasSubstr("command line: the figure 'latency'"));
  EXPECT_THAT(refused("file: a.json, path: t"), HasSubstr("has no unit"));
  EXPECT_THAT(refused("unit: s"), HasSubstr("says neither file nor output"));
  EXPECT_THAT(refused("unit: s, file: a, path: t, output: (b)"), HasSubstr("both a file and an output"));
  EXPECT_THAT(refused("unit: s, file: a.json"), HasSubstr("has a file and no path"));
  EXPECT_THAT(refused("unit: s, output: (b), path: t"), HasSubstr("has a path and no file"));
  EXPECT_THAT(refused("unit: s, file: a.json, path: 't['"), HasSubstr("no path in a JSON document"));
  EXPECT_THAT(refused("unit: s, output: 'b('"), HasSubstr("does not compile"));
  EXPECT_THAT(refused("unit: s, output: 'b'"), HasSubstr("one group"));
  EXPECT_THAT(refused("unit: s, output: '(a)(b)'"), HasSubstr("one group"));
  EXPECT_THAT(refused("unit: s, output: '(a)'}, {name: latency, unit: s, output: '(a)'"),
              HasSubstr("two figures called 'latency'"));
  EXPECT_THAT(refusal_with("workload.figures=[{name: prefill, unit: tokens, output: '(a)'}]").what,
              HasSubstr("is called like a stage"));
  m_request.command_line_overrides = {
      "workload.figures=[{name: prefill, unit: us, output: '(?:a|b)=(c)'}, "
      "{name: rate, unit: tokens/s, file: a.json, path: 'a[].b'}]"};
  EXPECT_NO_THROW(compose(m_request));
}

TEST_F(rules, a_server_needs_a_client_and_a_sign_that_it_is_ready) {
  const auto refused = [&](const std::vector<std::string>& overrides) {
    m_request.command_line_overrides = overrides;
    return compose_failure().what;
  };
  EXPECT_THAT(refused({"workload.server.ready_port=8000"}), HasSubstr("'workload.client' is not set"));
  EXPECT_THAT(refused({"workload.client=[curl]"}), HasSubstr("nothing says when the server is ready"));
  EXPECT_THAT(refused({"workload.client=[curl]", "workload.server.ready_text='a('"}),
              HasSubstr("does not compile"));
  EXPECT_THAT(
      refused({"workload.client=[curl]", "workload.server.ready_text=a", "workload.server.ready_port=1"}),
      HasSubstr("are both set"));
  const std::string figure = "workload.figures=[{name: rate, unit: x, output: '(a)', from: ";
  EXPECT_THAT(refused({figure + "client}]"}), HasSubstr("is from the client, and there is none"));
  EXPECT_THAT(refused({figure + "elsewhere}]"}), HasSubstr("cannot be from 'elsewhere'"));
  m_request.command_line_overrides = {"workload.client=[curl, 'a b']", "workload.server.ready_port=8000",
                                      figure + "client}]"};
  EXPECT_NO_THROW(compose(m_request));
}

TEST_F(rules, a_program_of_any_kind_needs_neither_model_nor_tokens) {
  const resolved composed = compose(m_request);
  EXPECT_TRUE(composed.is_null("model.name"));
  EXPECT_TRUE(composed.is_null("workload.prompt_tokens"));
}

TEST_F(rules, llm_needs_tokens_and_the_whole_shape) {
  write_llm();
  EXPECT_NO_THROW(compose(m_request));
  failure refused = refusal_with("workload.prompt_tokens=null");
  EXPECT_EQ(refused.what, "command line: 'workload.prompt_tokens' is not set, but the engine llm needs it");
  EXPECT_EQ(refused.remedy, "set it (a whole number from 1 to 1000000, or null) in the YAML of the workload");
  refused = refusal_with("model.shape.head_dim=null");
  EXPECT_EQ(refused.what,
            "command line: 'model.shape.head_dim' is not set, but synthetic weights need the whole shape");
}

TEST_F(rules, llm_takes_the_shape_from_a_checkpoint) {
  write_llm();
  EXPECT_THAT(refusal_with("model.weights=checkpoint").what, HasSubstr("'model.checkpoint' is not set, but"));
  m_request.command_line_overrides = {"model.weights=checkpoint", "model.checkpoint=x",
                                      "model.shape.head_dim=null"};
  EXPECT_NO_THROW(compose(m_request));
}

TEST_F(rules, llm_refuses_shapes_that_cannot_be) {
  write_llm();
  EXPECT_EQ(refusal_with("model.shape.num_key_value_heads=3").what,
            "command line: 4 query heads cannot share 3 key and value heads evenly");
  EXPECT_THAT(refusal_with("model.shape.head_dim=3").what, HasSubstr("is odd"));
}

TEST_F(rules, experts_and_a_rope_scaling_are_whole_or_absent) {
  write_llm();
  EXPECT_EQ(refusal_with("model.shape.moe_intermediate_size=8").what,
            "command line: 'model.shape.moe_intermediate_size' is set, but 'model.shape.num_experts' is not");
  EXPECT_THAT(refusal_with("model.shape.rope_scaling.factor=8").what,
              HasSubstr("is set, but 'model.shape.rope_scaling.rope_type' is not"));
  EXPECT_EQ(
      refusal_with("model.shape.num_experts=8").what,
      "default: 'model.shape.num_experts_per_tok' is not set, but 'model.shape.num_experts' is set, which "
      "needs it");
  EXPECT_THAT(refusal_with("model.shape.rope_scaling.rope_type=llama3").what,
              HasSubstr("'model.shape.rope_scaling.factor' is not set, but"));
  m_request.command_line_overrides = {
      "model.shape.architecture=qwen3_moe",     "model.shape.num_experts=8",
      "model.shape.num_experts_per_tok=8",      "model.shape.moe_intermediate_size=8",
      "model.shape.shared_intermediate_size=0", "model.shape.first_dense_layers=0",
      "model.shape.norm_topk_prob=true"};
  EXPECT_NO_THROW(compose(m_request));
  m_request.command_line_overrides.push_back("model.shape.num_experts_per_tok=9");
  EXPECT_EQ(compose_failure().what, "command line: a token cannot go to 9 of 8 experts");
}

TEST_F(rules, a_reference_needs_its_file) {
  write_llm();
  EXPECT_THAT(refusal_with("model.reference=m").what,
              StartsWith("default: 'model.reference_file' is not set, but"));
}

TEST_F(rules, a_vision_encoder_needs_its_whole_shape) {
  write_llm(small_vision);
  EXPECT_EQ(compose(m_request).integer("model.vision.clip.position_side"), 2);
  EXPECT_THAT(refusal_with("model.vision.clip.heads=null").what,
              HasSubstr("'model.vision.clip.heads' is not set"));
  EXPECT_THAT(refusal_with("model.vision.sam.compressed_widths=[8]").what, HasSubstr("must have two widths"));
}

TEST_F(rules, an_image_needs_a_vision_encoder) {
  write_llm();
  EXPECT_THAT(refusal_with("inputs.image=page.png").what,
              HasSubstr("'inputs.image' is set, but the model has no vision encoder"));
  m_request.command_line_overrides = {"inputs.manifest=pages.yaml"};  // its entries may be text
  EXPECT_NO_THROW(compose(m_request));
  write_llm(small_vision);
  m_request.command_line_overrides = {"inputs.image=page.png"};
  EXPECT_THAT(compose(m_request).text("inputs.image"), ::testing::EndsWith("/page.png"));
}

TEST_F(rules, there_is_one_kind_of_input) {
  write_llm(small_vision);
  m_request.command_line_overrides = {"inputs.image=page.png", "inputs.manifest=pages.yaml"};
  EXPECT_THAT(compose_failure().what, HasSubstr("'inputs.manifest' and 'inputs.image' are both set"));
  EXPECT_THAT(refusal_with("inputs.synthetic_image.width=9").what,
              HasSubstr("'inputs.synthetic_image.height' is not set"));
}

}  // namespace
}  // namespace profgate::config
