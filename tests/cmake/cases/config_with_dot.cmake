# expect: config 'smoke.fast' contains a dot, but a pair's name is split at its last dot; use '-' instead
profgate_add_workload(NAME mine COMMAND true CONFIGS smoke.fast)
