# expect: MODEL llm/llama-3 does not exist. Looked for: <folder>/conf/model/llm/llama-3.yaml
# expect: <folder>/profgate-conf/model/llm/llama-3.yaml There are: llm/llama-tiny
profgate_add_workload(NAME mine ENGINE llm MODEL llm/llama-3 CONFIGS smoke)
