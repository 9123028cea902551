# expect: the pair mine.smoke is registered twice; give one of them another NAME, or remove smoke from its CONFIGS
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke)
profgate_add_workload(NAME mine COMMAND false CONFIGS smoke)
