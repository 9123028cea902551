# expect: both COMMAND and ENGINE are given; keep COMMAND for a program of your own
profgate_add_workload(NAME mine ENGINE llm MODEL llm/llama-tiny COMMAND true CONFIGS smoke)
