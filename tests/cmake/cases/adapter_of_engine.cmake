# expect: ADAPTER is for the program of COMMAND
profgate_add_workload(NAME mine ENGINE llm MODEL llm/llama-tiny ADAPTER pytorch CONFIGS smoke)
