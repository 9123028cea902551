# The model/config pairs that profgate ships. A new model is one YAML in conf/model/ and one line here.
profgate_add_workload(NAME llama-tiny ENGINE llm MODEL llm/llama-tiny CONFIGS smoke)
profgate_add_workload(NAME deepseek-moe-tiny ENGINE llm MODEL llm/deepseek-moe-tiny CONFIGS smoke)
profgate_add_workload(NAME qwen3-0.6b ENGINE llm MODEL llm/qwen3-0.6b CONFIGS cpu-short OVERRIDES model.dtype=float32)
profgate_add_workload(NAME qwen3-0.6b ENGINE llm MODEL llm/qwen3-0.6b CONFIGS decode-b1 prefill-2k)
profgate_add_workload(NAME llama-3.1-8b ENGINE llm MODEL llm/llama-3.1-8b CONFIGS decode-b1 decode-b16 prefill-2k)
profgate_add_workload(NAME qwen2.5-7b ENGINE llm MODEL llm/qwen2.5-7b CONFIGS decode-b1)
profgate_add_workload(NAME qwen3-30b-a3b ENGINE llm MODEL llm/qwen3-30b-a3b CONFIGS decode-b1)
profgate_add_workload(NAME deepseek-ocr-decoder ENGINE llm MODEL llm/deepseek-ocr-decoder CONFIGS decode-b1)
