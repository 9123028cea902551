# expect: STAGES is for the program of COMMAND
profgate_add_workload(NAME mine ENGINE llm MODEL llm/llama-tiny STAGES prefill CONFIGS smoke)
