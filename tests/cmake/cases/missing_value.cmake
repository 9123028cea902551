# expect: profgate_add_workload(NAME mine): no value after TIMEOUT; write one or leave the keyword out
profgate_add_workload(NAME mine COMMAND true TIMEOUT CONFIGS smoke)
