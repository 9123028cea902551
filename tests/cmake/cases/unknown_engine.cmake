# expect: unknown ENGINE vision; the engines are: llm
profgate_add_workload(NAME mine ENGINE vision MODEL llm/llama-tiny CONFIGS smoke)
