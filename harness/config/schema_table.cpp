#include <string>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "core/stage_names.h"
#include "profilers/backends.h"

namespace profgate::config {
namespace {

using words = std::vector<std::string>;

constexpr double most_tokens = 1e6;  ///< the engine llm takes no more

using namespace core::setting_rows;

/// What `timeline` may be: a profiler's name, the first that is there, or none.
words timeline_choices() {
  words choices = {"auto"};
  for (const profilers::timeline_backend& backend : profilers::timeline_backends())
    choices.emplace_back(backend.tool.name);
  choices.emplace_back("none");
  return choices;
}

std::vector<schema_row> runner_rows() {
  return {
      choice("run.mode", "deep", {"deep", "light"},
             "deep: the roofline counters of the top kernels; light: fewer counters, and one start of the "
             "program for its whole timeline"),
      integer("run.top_n_kernels", "20", 1, 1000,
              "kernels, by total time, that tables list and counters cover"),
      ratio("run.top_kernels_share_ratio", "1",
            "counters stop earlier: once their kernels make up this share of a stage's GPU time; 1: they do "
            "not"),
      integer("run.step_timeout_s", "600", 1, 86400, "a step that takes longer is interrupted and fails"),
      integer("run.interrupt_grace_s", "20", 1, 600,
              "time between the interrupt and the kill, in which a tool finishes its report"),
      of_kind(value_kind::output_path,
              text("artifacts.stage2_dir", "tmp/stage2", "where run directories are made")),
      integer("artifacts.max_run_bytes", "2000000000", 1e6, 1e15, "a run that grows beyond this is stopped"),
      integer("artifacts.keep_runs", "5", 1, 10000,
              "the last runs of a pair that stay uncompressed; of older ones what people read does"),
      flag("artifacts.hash_whole_inputs", "false",
           "hash every byte of model.checkpoint's files; false: of weights the header and the size only"),
      choice("timeline", "auto", timeline_choices(),
             "what records the timeline; auto: nsys where there is one (broken, it fails the step), else the "
             "embedded collector"),
      integer(
          "stage1.repetitions", "5", 1, 1000,
          "timed repetitions of the bare run; of a command that takes no {result}, starts of the program"),
      integer("stage1.warmup", "1", 0, 100, "untimed rounds (or starts) before them"),
      integer("stage1.energy_limit_s", "5", 0, 3600,
              "seconds for which a stage too short for the driver's energy counter may be repeated after "
              "them, until "
              "its energy is known to ±5 %; 0: not at all"),
      flag("stage1.ceilings", "true", "measure in the same process what the device reaches at best"),
  };
}

std::vector<schema_row> gate_rows() {
  const words report_or_fail = {"report", "fail"};
  return {
      integer("gate.iterations", "23", 8, 1000,
              "timed rounds of each process, of which the first 3 do not count; a command that takes no "
              "{result} runs as it is"),
      integer("gate.decode_tokens", "16", 1, most_tokens,
              "tokens that an iteration decodes, where the workload's own number is larger; null: its own",
              nullable),
      list("gate.stages", "[]",
           "stages and figures that are judged; none named: all of workload.stages, and those of "
           "workload.figures whose unit is a time (s, ms, us, ns, ms/token) or a rate (…/s: more is better)"),
      choice("gate.inconclusive", "skip", {"skip", "fail"},
             "what a comparison that is too noisy does to the test"),
      choice("gate.kernels", "report", report_or_fail, "what a kernel that is new or gone does to the test"),
      choice("gate.launches", "report", report_or_fail, "what another number of launches a token does"),
      choice("gate.graph_nodes", "report", report_or_fail,
             "what another number of graph nodes does: kernels, copies, memsets"),
      choice("gate.launch_configuration", "report", report_or_fail,
             "what a kernel with another grid, block, number of registers or shared memory does, whatever it "
             "is called and wherever it is launched"),
      ratio("gate.screen_ratio", "0.015", "a slowdown from here on is worth a second look"),
      ratio("gate.confirm_ratio", "0.02", "a confirmed slowdown from here on is a regression"),
      ratio("gate.improved_ratio", "0.02", "a speedup from here on is an improvement"),
      ratio("gate.unchanged_ratio", "0.03", "unchanged: a slowdown of this size can be ruled out"),
      ratio("gate.stored_ratio", "0.08", "the margin against numbers of another session"),
      integer("gate.ignored_difference_us", "5", 0, 1e9, "differences of a stage below this are ignored"),
      integer(
          "gate.traced_processes", "3", 1, 20,
          "of each arm, after a regression: they name the cause; three times as many where they take next to "
          "nothing"),
      integer(
          "gate.counter_budget_s", "40", 0, 3600,
          "in which ncu counts the kernels that a regression is put down to, in both builds, the baseline "
          "in half of it; more for a program that takes seconds to start; 0: it does not"),
      integer("gate.seed", "1", 0, 1e15, "of the coin that orders the processes of both arms"),
      integer("gate.process_timeout_s", "300", 1, 86400, "a process that takes longer has hung"),
      text("gate.anchor", "null",
           "a baseline that moves by hand only (profgate baseline anchor), such as that of a release: a loss "
           "since then fails as well, however small its parts; null: none",
           nullable),
      of_kind(value_kind::output_path,
              text("gate.baselines_dir", "conf/baselines", "where baselines are kept")),
      of_kind(value_kind::output_path, text("gate.history_file", "tmp/history.sqlite",
                                            "where accepted baselines and nightly runs are appended")),
  };
}

std::vector<schema_row> workload_rows() {
  return {
      text("workload.name", "null", "for reports; null: the config part of the pair's name", nullable),
      choice("workload.device", "cpu", {"cpu", "cuda"}, "where the workload runs"),
      integer("workload.prompt_tokens", "null", 1, most_tokens,
              "prompt length; null: the program has no such notion", nullable),
      integer("workload.decode_tokens", "null", 1, most_tokens,
              "tokens generated after the prompt; null: the program has no such notion", nullable),
      integer("workload.batch", "1", 1, 65536, "sequences at once"),
      integer("workload.threads", "0", 0, 4096, "host threads; 0: all cores"),
      text("workload.seed_tag", "null", "tag of the synthetic prompt; null: the model's name", nullable),
      flag("workload.cuda_graphs", "true", "replay decode steps from CUDA graphs"),
      choice(
          "workload.adapter", "none", {"none", "pytorch"},
          "what opens ranges in the program without an edit of it; pytorch: stages prefill, decode_all and "
          "forward, and a range for each module by its path, where a Python of the program imports torch"),
      text("workload.nvtx_domain", core::llm_domain,
           "NVTX domain of the workload's ranges; any: they may be in any"),
      records("workload.stages", "[prefill, decode_all]", {"name", "range", "domain", "sync"},
              "NVTX ranges that are stages, in order; {name, range, domain}: the ranges that the expression "
              "fits (* is every range), in that domain ('' is the default one, any is any); sync: true, of a "
              "plain name or *: unprofiled runs wait for the device at both ends of the range, so that its "
              "time is the device's, too"),
      text("workload.profile_range", "null",
           "a range around all stages, opened once: nsys.gating_nvtx records it by one start of the program; "
           "null: one start for each stage",
           nullable),
      flag("workload.calls_profiler_api", "false",
           "the program calls cudaProfilerStart and cudaProfilerStop: profilers see what lies between"),
      records("workload.figures", "[]", {"name", "unit", "file", "path", "output", "from"},
              "numbers that the program tells itself: {name, unit, file, path} out of a JSON file (relative "
              "to the folder that it runs in; path such as results[].latency), {name, unit, output} by an "
              "expression's one group in lines of its standard output, or of its client's with from: client; "
              "one named like a stage gives that stage's times, in s, ms, us or ns"),
      integer("workload.server.ready_port", "null", 1, 65535,
              "the program is a server: once this port takes connections workload.client runs beside it, and "
              "then it is stopped; null: it ends by itself, or ready_text tells",
              nullable),
      text("workload.server.ready_text", "null",
           "the same, once a line of its output has this expression; null: none", nullable),
      integer("workload.server.ready_within_s", "600", 1, 86400, "a server that takes longer failed"),
      integer("workload.server.stop_within_s", "30", 1, 3600,
              "time that it has to stop: it gets SIGINT, after half of it SIGTERM, at its end SIGKILL"),
      list("workload.client", "[]",
           "words of the command that uses the server, not profiled; it has run.step_timeout_s, in the "
           "gate's processes gate.process_timeout_s; none: the program is no server"),
      flag("workload.decode_step_ranges", "true", "open a range around each decode step"),
      integer(
          "workload.planted_delay_ns", "0", 0, 1e9,
          "a kernel (on the CPU a loop) of this length is added to every decode step, to see the gate alarm"),
  };
}

std::vector<schema_row> model_rows() {
  return {
      text("model.name", "null", "for reports and provenance; null: the workload has no model", nullable),
      text("model.variant", "null", "such as 8B or instruct; null: none", nullable),
      integer("model.params", "null", 1, 1e15, "number of parameters; null: counted from the shape",
              nullable),
      choice("model.dtype", "null", {"float32", "bfloat16"}, "of weights and activations; null: no model",
             nullable),
      choice("model.weights", "null", {"synthetic", "checkpoint"},
             "made by formula, or read from model.checkpoint; null: no model", nullable),
      of_kind(value_kind::input_path,
              text("model.checkpoint", "null", "a Hugging Face directory; null: none", nullable)),
      text("model.reference", "null", "entry of the reference file to check against; null: no check",
           nullable),
      of_kind(value_kind::input_path,
              text("model.reference_file", "null", "JSON with reference outputs; null: none", nullable)),
  };
}

std::vector<schema_row> shape_rows() {
  constexpr double most = 1 << 24;
  return {
      choice("model.shape.architecture", "null", {"llama", "qwen2", "qwen3", "qwen3_moe", "deepseek_v2"},
             "null, here and below: from the checkpoint's config.json", nullable),
      integer("model.shape.vocab_size", "null", 1, most, "rows of the embedding", nullable),
      integer("model.shape.hidden_size", "null", 1, most, "width of the residual stream", nullable),
      integer("model.shape.intermediate_size", "null", 1, most, "width of a dense layer's SwiGLU", nullable),
      integer("model.shape.num_hidden_layers", "null", 1, 4096, "decoder layers", nullable),
      integer("model.shape.num_attention_heads", "null", 1, 65536, "query heads", nullable),
      integer("model.shape.num_key_value_heads", "null", 1, 65536, "key and value heads", nullable),
      integer("model.shape.head_dim", "null", 2, 65536, "width of one head", nullable),
      number("model.shape.rms_norm_eps", 0, 1, "epsilon of the RMSNorms"),
      number("model.shape.rope_theta", 1, 1e12, "base of the rotary frequencies"),
      flag("model.shape.tie_word_embeddings", "null", "the LM head is the embedding", nullable),
      flag("model.shape.attention_bias", "null", "biases on q, k and v", nullable),
      flag("model.shape.qk_norm", "null", "RMSNorm on each head of q and k", nullable),
      integer("model.shape.num_experts", "null", 1, 1024,
              "routed experts of a layer; null: the model is dense, and the five keys below are null too",
              nullable),
      integer("model.shape.num_experts_per_tok", "null", 1, 1024, "experts that a token goes to", nullable),
      integer("model.shape.moe_intermediate_size", "null", 1, most, "width of one routed expert", nullable),
      integer("model.shape.shared_intermediate_size", "null", 0, most,
              "width of the shared experts together; 0: there are none", nullable),
      integer("model.shape.first_dense_layers", "null", 0, 4096, "layers before the first one with experts",
              nullable),
      flag("model.shape.norm_topk_prob", "null", "the chosen experts' weights are scaled to sum to 1",
           nullable),
      choice("model.shape.rope_scaling.rope_type", "null", {"llama3"},
             "how the rotary frequencies are stretched; null: they are not, and the four keys below are null "
             "too",
             nullable),
      number("model.shape.rope_scaling.factor", 1, 1e6, "what the slow frequencies are divided by"),
      number("model.shape.rope_scaling.low_freq_factor", 0, 1e6,
             "a frequency with fewer turns in the original window is slow"),
      number("model.shape.rope_scaling.high_freq_factor", 0, 1e6,
             "one with more turns is fast and stays as it is"),
      number("model.shape.rope_scaling.original_max_position_embeddings", 1, most,
             "the original window, in positions"),
  };
}

std::vector<schema_row> vision_rows() {
  constexpr double most = 1 << 20;
  return {
      integer("model.vision.sam.image_size", "null", 1, 4096,
              "side of the square whose positions the weights hold; null, here and below: the model has no "
              "vision encoder, or its checkpoint's config.json tells",
              nullable),
      integer("model.vision.sam.patch_size", "null", 1, 4096, "side of a patch, in pixels", nullable),
      integer("model.vision.sam.width", "null", 1, most, "of SAM's layers", nullable),
      integer("model.vision.sam.layers", "null", 1, 4096, "SAM's", nullable),
      integer("model.vision.sam.heads", "null", 1, 65536, "of SAM's attention", nullable),
      integer("model.vision.sam.mlp_width", "null", 1, most, "of SAM's MLPs", nullable),
      integer("model.vision.sam.window", "null", 1, 4096,
              "side of the squares of patches that attend to each other", nullable),
      list("model.vision.sam.global_layers", "[]", "layers in which all patches do, counted from 0"),
      integer("model.vision.sam.neck_width", "null", 1, most, "behind SAM's layers", nullable),
      list("model.vision.sam.compressed_widths", "[]", "of the two convolutions that follow"),
      integer("model.vision.clip.width", "null", 1, most, "of CLIP's layers", nullable),
      integer("model.vision.clip.layers", "null", 1, 4096, "CLIP's", nullable),
      integer("model.vision.clip.heads", "null", 1, 65536, "of CLIP's attention", nullable),
      integer("model.vision.clip.mlp_width", "null", 1, most, "of CLIP's MLPs", nullable),
      integer("model.vision.clip.position_side", "null", 1, 4096,
              "side of the square of positions that the weights hold", nullable),
  };
}

std::vector<schema_row> input_rows() {
  return {
      of_kind(value_kind::input_path,
              text("inputs.manifest", "null",
                   "a YAML list of inputs, run one after the other in each repetition; null: there is one "
                   "input, which workload.prompt_tokens, workload.decode_tokens and the keys below describe",
                   nullable)),
      of_kind(value_kind::input_path, text("inputs.image", "null",
                                           "a PPM, PGM, PNG or JPEG file that is shown to the model before "
                                           "the text of the prompt; null: none",
                                           nullable)),
      integer("inputs.synthetic_image.seed", "null", 0, 1e9, "of an image made by formula; null: 1",
              nullable),
      integer("inputs.synthetic_image.width", "null", 1, 65535, "its pixels a row; null: there is none",
              nullable),
      integer("inputs.synthetic_image.height", "null", 1, 65535, "its rows; null: there is none", nullable),
      choice("inputs.mode", "base", {"tiny", "small", "base", "large", "gundam"},
             "how the model looks at an image, where the manifest does not say"),
  };
}

/// Each profiler brings its own.
std::vector<schema_row> profiler_rows() {
  std::vector<schema_row> rows;
  for (const profilers::profiler* tool : profilers::all_profilers()) {
    if (tool->settings == nullptr) continue;
    for (schema_row& row : tool->settings()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<schema_row> hardware_rows() {
  return {
      text("hardware.name", "null", "for reports; null: nobody named it", nullable),
      choice("hardware.kind", "null", {"cpu", "gpu"}, "what the peaks belong to; null: unknown", nullable),
      list("hardware.device_names", "[]", "names under which the driver reports this device"),
      number("hardware.peak_tflops.float32", 0, 1e9, "dense peak in TFLOP/s; null: unknown"),
      number("hardware.peak_tflops.bfloat16", 0, 1e9, "dense peak in TFLOP/s; null: unknown"),
      number("hardware.peak_tflops.float16", 0, 1e9, "dense peak in TFLOP/s; null: unknown"),
      number("hardware.memory_bandwidth_gbs", 0, 1e9, "peak in GB/s (powers of 1000); null: unknown"),
      text("hardware.source", "null",
           "where the vendor states the peaks; null: there are none, or somebody set them", nullable),
      text("hardware.note", "null", "what a reader of the peaks must know; null: nothing", nullable),
  };
}

std::vector<schema_row> report_rows() {
  return {
      list("categories.kernels", "[]",
           "'category: pattern, pattern', the first that fits a kernel's name without its arguments decides"),
      list("categories.operators", "[]", "the same, tried on its operator's name where no kernel rule fits"),
      list("regions.include_kernels", "[]", "patterns of kernels that the regions report shows; none: all"),
      list("regions.exclude_kernels", "[]", "patterns of kernels that it leaves out, included or not"),
  };
}

}  // namespace

const std::vector<schema_row>& schema() {
  static const std::vector<schema_row> rows = [] {
    std::vector<schema_row> all;
    for (auto part : {runner_rows, gate_rows, workload_rows, input_rows, model_rows, shape_rows, vision_rows,
                      profiler_rows, hardware_rows, report_rows}) {
      for (schema_row& row : part()) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

}  // namespace profgate::config
