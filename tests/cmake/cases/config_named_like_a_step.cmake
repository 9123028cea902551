# expect: config 'gate' is the name of a step of every pair; call it something else
profgate_add_workload(NAME mine COMMAND true CONFIGS gate)
