# expect: ENGINE llm needs MODEL llm/<choice>
profgate_add_workload(NAME mine ENGINE llm CONFIGS smoke)
