# expect: the pair mine.smoke is registered twice
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke smoke)
