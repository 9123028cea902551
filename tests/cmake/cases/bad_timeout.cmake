# expect: TIMEOUT 30min is not a whole number of seconds above 0
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke TIMEOUT 30min)
