# expect: NAME is given 2 times; write it once
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke NAME yours)
