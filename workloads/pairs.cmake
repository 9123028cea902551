# The model/config pairs that profgate ships. A new model is one YAML in conf/model/ and one line here.
profgate_add_workload(NAME llama-tiny ENGINE llm MODEL llm/llama-tiny CONFIGS smoke)
profgate_add_workload(NAME qwen3-0.6b ENGINE llm MODEL llm/qwen3-0.6b CONFIGS cpu-short decode-b1)
profgate_add_workload(NAME llama-3.1-8b ENGINE llm MODEL llm/llama-3.1-8b CONFIGS decode-b1)
